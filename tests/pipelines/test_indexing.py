"""Indexing through the functions of system 4."""

import os
from dataclasses import replace

import pytest
from haystack import Document as HaystackDocument
from haystack import Pipeline
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

from rag.config import IndexConfig, OllamaConfig, RAGConfig
from rag.exceptions import IndexingError, UsageError
from rag.pipelines import (
    Document,
    DocumentMeta,
    IndexingResult,
    chunk_document,
    chunk_documents,
    create_indexing_pipeline,
    create_qa_pipeline,
    create_search_pipeline,
    index_all_vaults,
    index_vault,
    parse_frontmatter,
    scan_vault,
)
from rag.stores import get_document_store
from tables import rows

TWO_SECTIONS = (
    "---\ncreated: 2025-01-01\n---\n# {title}\n\nintro\n\n## One\n\n{one}\n\n## Two\n\ntwo\n"
)


@pytest.fixture
def pipeline(config):
    with get_document_store(config) as store:
        yield create_indexing_pipeline(store)


@pytest.fixture
def index(pipeline, config):
    """Index a folder as the vault `v`."""

    def run(folder, **options) -> IndexingResult:
        return index_vault(pipeline, folder, "v", rag_config_override=config, **options)

    return run


class TestParseFrontmatter:
    def test_fields_and_body_are_parted(self):
        assert parse_frontmatter("---\ntitle: A\n---\nbody\n") == ({"title": "A"}, "body")

    def test_broken_front_matter_gives_an_empty_dict(self):
        fields, body = parse_frontmatter("---\ntitle: [unclosed\n---\nbody")
        assert (fields, body) == ({}, "body")


class TestScanVault:
    def test_a_missing_folder_raises(self, tmp_path):
        with pytest.raises(IndexingError, match="does not exist"):
            scan_vault(tmp_path / "nowhere", "v")

    def test_every_note_becomes_a_document(self, write_notes):
        folder = write_notes("v", {"a.md": "alpha", "sub/b.md": "# Title\n", "c.png": "no note"})
        found = scan_vault(folder, "v")
        assert [(d.file_path, d.title, d.vault_name) for d in found] == [
            (folder / "a.md", "a", "v"),
            (folder / "sub/b.md", "Title", "v"),
        ]

    def test_metadata_comes_from_the_front_matter(self, write_notes):
        text = "---\ntags: [A, b/c]\ncreated: 2025-02-03\nnormalized: true\n---\nbody\n"
        document = scan_vault(write_notes("v", {"a.md": text}), "v")[0]
        meta = document.metadata
        assert meta.tags == ["a", "b/c", "b"]
        assert (meta.created, meta.normalized) == ("2025-02-03", True)
        assert len(meta.file_id) == 36
        assert document.content == "body"

    def test_only_notes_with_the_wanted_fields_when_that_is_set(self, write_notes):
        folder = write_notes("v", {"a.md": "---\nnormalized: true\n---\nyes", "b.md": "no"})
        only = RAGConfig(index=IndexConfig(only={"normalized": True}))
        assert [d.title for d in scan_vault(folder, "v", only)] == ["a"]
        assert [d.title for d in scan_vault(folder, "v")] == ["a", "b"]


class TestChunkDocument:
    def make(self, content: str) -> Document:
        meta = DocumentMeta(tags=["t"], created="2025-01-01", file_id="f" * 32)
        return Document("a.md", "Title", content, meta, "v")

    def test_chunks_are_haystack_documents_with_the_meta_of_system_4(self):
        (chunk,) = chunk_document(self.make("some text"))
        assert isinstance(chunk, HaystackDocument)
        assert chunk.content == "some text"
        expected = {
            "file_path": "a.md",
            "title": "Title",
            "vault": "v",
            "tags": ["t"],
            "created": "2025-01-01",
            "file_id": "f" * 32,
            "position": 0,
        }
        assert {key: chunk.meta[key] for key in expected} == expected

    def test_positions_count_a_notes_chunks_from_0(self):
        content = "\n\n".join(f"Paragraph {n} says a few words." for n in range(30))
        chunks = chunk_document(self.make(content), chunk_size=40, overlap=0)
        assert len(chunks) > 3
        assert [chunk.meta["position"] for chunk in chunks] == list(range(len(chunks)))

    def test_what_is_indexed_is_what_chunk_documents_gives(self, write_notes, index, config):
        folder = write_notes("v", {"a.md": TWO_SECTIONS.format(title="A", one="x"), "b.md": "b"})
        index(folder)
        expected = {c.id: (c.content, c.meta) for c in chunk_documents(scan_vault(folder, "v"))}
        with get_document_store(config) as store:
            assert {d.id: (d.content, d.meta) for d in store.filter_documents()} == expected


class TestIndexVault:
    def test_all_notes_are_indexed_the_first_time(self, write_notes, index):
        result = index(write_notes("v", {"a.md": "alpha", "b.md": "# B\n\nx\n\n## C\n\ny"}))
        assert result == IndexingResult(total_docs=2, indexed_docs=2, total_chunks=3)

    def test_unchanged_notes_are_not_written_again(self, write_notes, index):
        folder = write_notes("v", {"a.md": "alpha", "b.md": "beta"})
        index(folder)
        assert index(folder) == IndexingResult(2, 0, 0)

    def test_a_young_file_edited_within_its_mtime_and_size_is_noticed(
        self, write_notes, index, points, config
    ):
        folder = write_notes("v", {"a.md": "one"})
        stat = (folder / "a.md").stat()
        index(folder)
        (folder / "a.md").write_text("two")
        os.utime(folder / "a.md", ns=(stat.st_atime_ns, stat.st_mtime_ns))
        assert index(folder).indexed_docs == 1
        assert [text for text, _ in points(config).values()] == ["two"]

    def test_notes_without_the_wanted_fields_stay_out_and_leave(
        self, write_notes, pipeline, config, titles
    ):
        wanted = dict.fromkeys(("a.md", "b.md"), "---\nkind: x\n---\nyes")
        folder = write_notes("v", {**wanted, "c.md": "no"})
        only = replace(config, index=IndexConfig(only={"kind": "x"}))
        index_vault(pipeline, folder, "v", rag_config_override=only)
        assert titles(config) == {"a", "b"}
        write_notes("v", {"b.md": "---\nkind: y\n---\n"})
        index_vault(pipeline, folder, "v", rag_config_override=only)
        assert titles(config) == {"a"}

    def test_what_the_pipeline_raises_lands_in_errors(
        self, write_notes, index, pipeline, monkeypatch
    ):
        def fail(*_: object, **__: object) -> None:
            raise RuntimeError("the disk is on fire")

        monkeypatch.setattr(pipeline.get_component("writer"), "run", fail)
        result = index(write_notes("v", {"a.md": "alpha"}))
        assert len(result.errors) == 1
        assert "the disk is on fire" in result.errors[0]

    def test_after_an_error_readers_still_see_the_whole_index_from_before(
        self, write_notes, index, pipeline, monkeypatch, points, config
    ):
        folder = write_notes("v", {"a.md": "alpha"})
        index(folder)
        before = points(config)

        def fail(*_: object, **__: object) -> None:
            raise RuntimeError("no")

        monkeypatch.setattr(pipeline.get_component("writer"), "run", fail)
        write_notes("v", {"a.md": "other", "b.md": "beta"})
        assert index(folder).errors
        assert points(config) == before


class TestDryRun:
    def files(self, config):
        found = config.data_dir.rglob("*")
        # Whoever reads a snapshot holds its lock file; that is no change.
        return {p: p.stat().st_mtime_ns for p in found if p.is_file() and p.suffix != ".lock"}

    def test_it_writes_nothing_where_nothing_was(self, write_notes, index, config):
        index(write_notes("v", {"a.md": "alpha"}), dry_run=True)
        assert not config.data_dir.exists()


class TestVectors:
    @pytest.fixture
    def ollama(self, server) -> OllamaConfig:
        return OllamaConfig(url=server.url, retries=0)

    def test_it_embeds_what_it_is_run_with_by_itself(self, write_notes, config, ollama):
        chunks = chunk_documents(scan_vault(write_notes("v", {"a.md": "alpha"}), "v"))
        with get_document_store(config) as store:
            store.begin_writing()
            pipeline = create_indexing_pipeline(store, ollama)
            again = Pipeline.loads(pipeline.dumps(), allowed_modules=["rag"])
            assert again.to_dict() == pipeline.to_dict()
            output = pipeline.run({"embedder": {"documents": chunks}})
            assert output["sentence_embedder"] == {"embedded": 1}
            assert store.embeddings_of([chunks[0].id])

    def test_notes_are_found_by_words_where_no_server_makes_vectors(
        self, write_notes, config, titles
    ):
        off = OllamaConfig(url="http://127.0.0.1:9", retries=0)
        folder = write_notes("v", {"a.md": "alpha"})
        with get_document_store(config) as store:
            pipeline = create_indexing_pipeline(store, off)
            [error] = index_vault(pipeline, folder, "v", rag_config_override=config).errors
        assert "127.0.0.1:9" in error
        assert titles(config) == {"a"}


@rows("make", create_indexing_pipeline, create_search_pipeline, create_qa_pipeline)
def test_a_store_of_another_package_is_refused_with_the_function_that_makes_ours(make):
    with pytest.raises(UsageError, match="QdrantDocumentStore") as raised:
        make(QdrantDocumentStore(":memory:"))
    assert "get_document_store" in (raised.value.hint or "")


class TestIndexAllVaults:
    @pytest.fixture
    def pipeline(self, monkeypatch, config):
        monkeypatch.setenv("RAG_DATA_DIR", str(config.data_dir))
        with get_document_store(config) as store:
            yield create_indexing_pipeline(store)

    def test_every_folder_is_a_vault(self, write_notes, pipeline):
        write_notes("a", {"1.md": "x"})
        parent = write_notes("b", {"1.md": "x", "2.md": "y"}).parent
        (parent / ".hidden").mkdir()
        found = index_all_vaults(pipeline, parent)
        assert {name: result.indexed_docs for name, result in found.items()} == {"a": 1, "b": 2}

    def test_only_the_named_ones(self, write_notes, pipeline, titles, config):
        write_notes("a", {"1.md": "x"})
        parent = write_notes("b", {"2.md": "y"}).parent
        assert list(index_all_vaults(pipeline, parent, ["b"])) == ["b"]
        assert titles(config) == {"2"}

    def test_a_name_without_a_folder_is_an_error_of_that_vault(self, write_notes, pipeline):
        parent = write_notes("a", {"1.md": "x"}).parent
        found = index_all_vaults(pipeline, parent, ["a", "zzz"])
        assert found["a"].errors == []
        assert found["zzz"].errors == ["no vault named 'zzz'"]

    def test_without_a_folder_it_indexes_what_is_configured(
        self, write_notes, pipeline, monkeypatch
    ):
        parent = write_notes("a", {"1.md": "x"}).parent
        monkeypatch.setenv("RAG_VAULTS_DIR", str(parent))
        assert list(index_all_vaults(pipeline)) == ["a"]
