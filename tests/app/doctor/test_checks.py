"""What `rag doctor` finds: each check, and what makes it warn or fail."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from haystack import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from haystack.document_stores.types import DuplicatePolicy

from ollama_faults import KINDS
from ollama_server import KNOWN, Model, OllamaServer, refused
from qdrant_server import QdrantServer
from rag.app import doctor as health
from rag.app.doctor import Check, run_checks
from rag.app.doctor.check import Examination, IndexView
from rag.app.doctor.chunks import check_chunks
from rag.app.doctor.environment import check_configuration, check_data_folder, check_disk
from rag.app.doctor.index import check_index
from rag.app.doctor.model_servers import check_models, check_servers
from rag.app.doctor.plugins import check_transforms
from rag.app.doctor.qdrant_server import check_server
from rag.app.doctor.vaults import check_vaults
from rag.app.doctor.vectors import check_vectors
from rag.app.schema.setup import check_to_json
from rag.cli.render.remedies import worded
from rag.config import (
    EmbeddingConfig,
    IndexConfig,
    OllamaConfig,
    RAGConfig,
    RoutesConfig,
    SearchConfig,
    StoreConfig,
)
from rag.exceptions import IndexUnavailableError
from rag.index.embedding_space import TEXT_VERSION, Embedded, Space
from rag.index.manifest import Manifest
from rag.index.searchable_text import embedded_text
from rag.index.snapshots import MANIFEST, IndexDirectory
from rag.index.vault_registry import Registry
from rag.stores import get_document_store

Checker = Callable[[Examination], Iterator[Check]]
EMBED, CHAT = "nomic-embed-text", "llama3.2"
MODELS = [EMBED, CHAT, "all-minilm"]
NOTES = {
    "Backups.md": "# Backups\n\nWe keep backups for ninety days.\n\n## Restore\n\nRun it.\n",
    "Rollback.md": "# Rolling back\n\nRolling back a deploy takes two minutes.\n",
    "証明書.md": "# 証明書の更新\n\n証明書は毎年三月に更新する。\n",
}
OFF = OllamaConfig(enabled=False)
OLLAMA = EmbeddingConfig("ollama")


@pytest.fixture
def config(tmp_path: Path) -> RAGConfig:
    """Settings with an index of the test's own, and without Ollama."""
    return RAGConfig(data_dir=tmp_path / "data", embedding=OLLAMA, ollama=OFF)


@pytest.fixture
def vault(write_notes: Callable[..., Path], age: Callable[[Path], None]) -> Path:
    folder = write_notes("work", NOTES)
    age(folder)
    return folder


@pytest.fixture
def indexed(config: RAGConfig, vault: Path, refresh: Callable[..., Any]) -> Path:
    """The notes, indexed."""
    refresh(work=vault)
    return vault


def run(check: Checker, config: RAGConfig, **found: Any) -> list[Check]:
    return list(check(Examination(config, **found)))


def statuses(checks: list[Check]) -> list[tuple[str, str]]:
    return [(check.name, check.status) for check in checks]


def rewrite(
    config: RAGConfig, change: Callable[[list[Document]], list[Document]], **facts: str
) -> None:
    """Publish the index again with other documents or other facts; those left out are deleted."""
    directory = IndexDirectory(config.index_dir)
    with directory.writing():
        with Manifest.open_work(directory.work / MANIFEST) as manifest:
            manifest.set(**facts)
            number = manifest.raise_revision()
        with get_document_store(config, directory) as store:
            documents = store.filter_documents()
            changed = change(documents)
            store.write_documents(changed, DuplicatePolicy.OVERWRITE)
            store.delete_documents(sorted({d.id for d in documents} - {d.id for d in changed}))
            store.publish(number)


class TestAll:
    def test_a_healthy_index_passes_every_check(self, config: RAGConfig, indexed: Path) -> None:
        checks = list(run_checks(config))
        assert {check.status for check in checks} == {"pass"}
        assert [check.name for check in checks] == [
            *("configuration", "data folder", "disk", "vault", "index", "freshness"),
            *("files", "chunks", "ollama", "vectors", "agents"),
        ]

    def test_without_an_index_the_other_checks_go_on(self, config: RAGConfig) -> None:
        checks = list(run_checks(config))
        assert ("index", "fail") in statuses(checks)
        assert checks[-1].name == "ollama"
        assert "rag index FOLDER" in next(worded(c.hint) for c in checks if c.name == "index")

    def test_a_check_that_panics_fails_alone(
        self, config: RAGConfig, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class PanicException(BaseException): ...

        def broken(_: Examination) -> Iterator[Check]:
            yield Check("one", "pass", "well")
            raise PanicException("at line 3\nstack")

        checks = {"one": broken, "two": lambda _: iter([Check("two", "pass", "well")])}
        monkeypatch.setattr(health, "_CHECKS", checks)
        found = list(run_checks(config))
        assert statuses(found) == [("one", "pass"), ("one", "fail"), ("two", "pass")]
        assert found[1].message == "the check broke: PanicException: at line 3" and found[1].hint

    def test_ctrl_c_ends_it(self, config: RAGConfig, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(_: Examination) -> Iterator[Check]:
            raise KeyboardInterrupt
            yield

        monkeypatch.setattr(health, "_CHECKS", {"one": interrupted})
        with pytest.raises(KeyboardInterrupt):
            list(run_checks(config))

    def test_the_facts_of_a_check_stand_beside_its_words(self) -> None:
        check = Check("disk", "warn", "little", "Free some.", {"free_bytes": 3})
        assert check_to_json(check) == {
            "name": "disk",
            "status": "warn",
            "message": "little",
            "hint": "Free some.",
            "free_bytes": 3,
        }


class TestSurroundings:
    def test_it_names_the_files_that_set_something(self, config: RAGConfig) -> None:
        config = replace(config, origins={"data_dir": "/a/rag.toml", "search.top_k": "default"})
        [check] = run(check_configuration, config)
        assert check.status == "pass" and "/a/rag.toml (1)" in check.message

    def test_a_variable_that_is_no_setting_is_told(
        self, config: RAGConfig, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RAG_SERCH__TOP_K", "3")
        monkeypatch.setenv("RAG_CONFIG", "here.toml")
        _, check = run(check_configuration, config)
        assert check.status == "warn" and "RAG_SERCH__TOP_K" in check.message
        assert "RAG_SEARCH__TOP_K" in check.hint

    def test_names_of_the_settings_that_nothing_has_are_told(self, config: RAGConfig) -> None:
        wrong = replace(
            config,
            search=replace(config.search, transforms=["nope"]),
            ask=replace(config.ask, transforms=["hyde"]),
            routes=RoutesConfig("keyword", rules={"a": {"keywords": ["x"], "transforms": ["no"]}}),
        )
        search, routes, rest = run(check_transforms, wrong)
        assert (search.status, routes.status, rest.status) == ("fail", "fail", "pass")
        assert search.message.startswith("search.transforms: no transform is named 'nope'")
        assert routes.message.startswith("routes.rules.a: ") and search.hint
        assert rest.message == "ask.transforms: hyde"
        own = replace(config, ask=replace(config.ask, steps=["nope"]))
        [check] = run(check_transforms, own)
        assert check.status == "fail" and "nope" in check.message
        [check] = run(check_transforms, replace(config, routes=RoutesConfig("nope")))
        assert check.status == "fail" and "routes.classifier" in check.message

    def test_rules_without_a_classifier_are_told(self, config: RAGConfig) -> None:
        idle = replace(config, routes=RoutesConfig(rules={"a": {"keywords": ["x"]}}))
        [check] = run(check_transforms, idle)
        assert check.status == "warn" and "routes.classifier" in check.hint

    def test_settings_that_name_nothing_are_not_checked(self, config: RAGConfig) -> None:
        assert run(check_transforms, config) == []

    def test_a_data_folder_to_be_made_is_well(self, config: RAGConfig) -> None:
        assert statuses(run(check_data_folder, config)) == [("data folder", "pass")]
        assert not config.data_dir.exists()

    def test_a_data_folder_below_a_file_fails(self, config: RAGConfig, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        [check] = run(check_data_folder, replace(config, data_dir=tmp_path / "file" / "data"))
        assert check.status == "fail" and "is not a folder" in check.message
        assert "RAG_DATA_DIR" in check.hint

    @pytest.mark.parametrize(
        ("free", "status"), [(10 << 30, "pass"), (1 << 29, "warn"), (1 << 20, "fail")]
    )
    def test_a_disk_without_room_fails_as_publishing_would(
        self, config: RAGConfig, monkeypatch: pytest.MonkeyPatch, free: int, status: str
    ) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
        [check] = [check for check in run_checks(config) if check.name == "disk"]
        assert check.status == status
        assert status == "pass" or "RAG_DATA_DIR" in check.hint

    def test_a_large_index_needs_as_much_room_again(
        self, config: RAGConfig, indexed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        size = 3 << 30
        monkeypatch.setattr("rag.app.doctor.environment.copied_size", lambda _: size)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=size + (1 << 30)))
        assert statuses(run(check_disk, config)) == [("disk", "warn")]


class TestVaults:
    def test_no_vault_is_worth_a_word(self, config: RAGConfig) -> None:
        [check] = run(check_vaults, config)
        assert check.status == "warn" and "rag init" in worded(check.hint)

    def test_one_that_is_not_indexed_yet(self, config: RAGConfig, vault: Path) -> None:
        Registry.load(config).register(config, vault)
        [check] = run(check_vaults, config)
        assert (
            check.status == "warn"
            and "3 notes" in check.message
            and "rag index" in worded(check.hint)
        )

    def test_one_whose_folder_is_gone(self, config: RAGConfig, indexed: Path) -> None:
        indexed.rename(indexed.with_name("moved"))
        [check] = run(check_vaults, config)
        assert check.status == "warn" and "is not there" in check.message
        assert "`rag vault remove work`" in worded(check.hint) and "--prune" in worded(check.hint)

    def test_the_name_in_a_command_is_quoted(self, config: RAGConfig, vault: Path) -> None:
        Registry.load(config).register(config, vault, "my notes")
        vault.rename(vault.with_name("moved"))
        assert "rag vault remove 'my notes'" in worded(run(check_vaults, config)[0].hint)

    def test_one_within_another(self, config: RAGConfig, indexed: Path) -> None:
        (indexed / "inner").mkdir()
        Registry.load(config).register(config, indexed / "inner")
        *_, check = run(check_vaults, config)
        assert check.status == "warn" and check.message.startswith("inner lies in work")
        assert worded(check.hint) == "`rag vault remove inner`"

    def test_one_without_notes(self, config: RAGConfig, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        Registry.load(config).register(config, tmp_path / "empty")
        [check] = run(check_vaults, config)
        assert check.status == "warn" and "holds no .md files" in check.message

    def test_one_with_an_ignore_file_that_is_none(self, config: RAGConfig, indexed: Path) -> None:
        (indexed / ".gitignore").mkdir()
        [check] = run(check_vaults, config)
        assert check.status == "pass" and ".gitignore: ignore file" in check.message

    def test_one_that_cannot_be_listed(
        self, config: RAGConfig, indexed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("os.scandir", refuse)  # the tests may run as one who may do all
        [check] = run(check_vaults, config)
        assert check.status == "fail" and "Permission denied" in check.message and check.hint

    def test_one_that_takes_too_long(
        self, config: RAGConfig, indexed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("rag.app.doctor.vaults._SECONDS", -1.0)
        [check] = run(check_vaults, config)
        assert check.status == "warn" and "took too long" in check.message

    def test_settings_that_name_folders_that_are_not_there(
        self, config: RAGConfig, vault: Path
    ) -> None:
        away = replace(config, vaults_dir=vault.parent / "away")
        assert statuses(run(check_vaults, away))[0] == ("vault", "fail")
        wrong = replace(config, vaults_dir=vault.parent, target_vaults=["wrok"])
        first, *_ = run(check_vaults, wrong)
        assert first.status == "fail" and "wrok" in first.message

    def test_a_damaged_list_of_vaults_is_said(self, config: RAGConfig) -> None:
        config.data_dir.mkdir()
        (config.data_dir / "vaults.json").write_text("{")
        check = next(check for check in run_checks(config) if check.name == "vault")
        assert check.status == "warn" and "was damaged" in check.message


def test_a_data_folder_of_somebody_else_fails(config: RAGConfig) -> None:
    config.data_dir.mkdir()
    (config.data_dir / "thesis.md").touch()
    [check] = [check for check in run_checks(config) if check.name == "data folder"]
    assert check.status == "fail" and "thesis.md" in check.message and "RAG_DATA_DIR" in check.hint


class TestIndex:
    def test_it_says_what_the_index_holds(self, config: RAGConfig, indexed: Path) -> None:
        index, freshness = run(check_index, config)
        assert index.facts["notes"] == 3 and index.facts["chunks"] == 4
        assert (index.status, freshness.status) == ("pass", "pass")

    def test_other_settings_will_make_it_anew(self, config: RAGConfig, indexed: Path) -> None:
        other = replace(config, index=IndexConfig(chunk_size=100))
        check, _ = run(check_index, other)
        assert check.status == "warn" and "(chunk_size)" in check.message
        assert "rag index" in worded(check.hint)

    def test_another_schema_fails(self, config: RAGConfig, indexed: Path) -> None:
        rewrite(config, lambda documents: documents, fingerprint='{"schema": 1}')
        with pytest.raises(IndexUnavailableError, match="another version"):
            run(check_index, config)

    def test_an_empty_index_is_told(
        self, config: RAGConfig, tmp_path: Path, refresh: Callable[..., Any]
    ) -> None:
        (tmp_path / "empty").mkdir()
        refresh(empty=tmp_path / "empty")
        check, _ = run(check_index, config)
        assert (check.status, "holds nothing" in check.message) == ("warn", True)

    def test_notes_that_changed_are_counted(self, config: RAGConfig, indexed: Path) -> None:
        (indexed / "Rollback.md").write_text("# Rolling forward\n")
        (indexed / "New.md").write_text("# New\n")
        _, check = run(check_index, config)
        assert check.status == "warn" and "2 notes changed" in check.message
        assert worded(check.hint) == "`rag index`"

    def test_too_many_notes_to_look_at_are_no_fault(
        self, config: RAGConfig, indexed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("rag.app.doctor.index._SECONDS", -1.0)
        _, check = run(check_index, config)
        assert check.status == "pass" and "is not known here" in check.message

    def test_notes_with_problems_are_counted(
        self, config: RAGConfig, write_notes: Callable[..., Path], refresh: Callable[..., Any]
    ) -> None:
        refresh(work=write_notes("work", {"Broken.md": "---\ntags: [a\n---\n# Broken\n"}))
        *_, check = run(check_index, config)
        assert (check.name, check.status) == ("notes", "warn")
        assert "rag status --problems" in worded(check.hint)


def chunks(config: RAGConfig) -> list[Check]:
    return run(check_chunks, config, index=IndexView())


@pytest.fixture
def on_server(config: RAGConfig, vault: Path, refresh: Callable[..., Any]) -> Iterator[RAGConfig]:
    """The notes, indexed on a Qdrant server."""
    with QdrantServer() as server:
        remote = replace(config, store=StoreConfig(url=server.url))
        refresh(config=remote, work=vault)
        yield remote


class TestChunks:
    def test_more_points_on_a_server_are_no_harm(self, on_server: RAGConfig) -> None:
        with get_document_store(on_server) as store:
            store.write_documents([Document(id="more", content="a chunk of no note")])
        [check] = chunks(on_server)
        assert check.status == "pass" and check.message.startswith("4, as the manifest says")
        assert (check.facts["found"], check.facts["expected"]) == (5, 4)

    def test_fewer_points_on_a_server_are_written_by_rag_index(self, on_server: RAGConfig) -> None:
        with get_document_store(on_server) as store:
            store.delete_documents([store.all_documents()[0].id])
        [check] = chunks(on_server)
        assert check.status == "fail" and "holds 3 chunks" in check.message
        assert worded(check.hint) == "`rag index` writes what is missing."

    def test_an_unknown_index_is_passed_over(self, config: RAGConfig) -> None:
        assert run(check_chunks, config) == []

    def test_a_lost_chunk_fails(self, config: RAGConfig, indexed: Path) -> None:
        rewrite(config, lambda documents: documents[1:])
        [check] = chunks(config)
        assert check.status == "fail" and "holds 3 chunks, the manifest names 4" in check.message
        assert "--rebuild" in worded(check.hint)

    def test_a_chunk_in_the_place_of_another_fails(self, config: RAGConfig, indexed: Path) -> None:
        stranger = Document(id="0f9c0d7a-55d1-5c0b-9c0e-6c1f5b7b2d11", content="x")
        rewrite(config, lambda documents: [*documents[1:], stranger])
        [check] = chunks(config)
        assert check.status == "fail" and "1 lost, 0 with other words" in check.message

    @pytest.mark.parametrize("damage", ["weight", "word", "none"])
    def test_a_chunk_with_other_words_fails(
        self, config: RAGConfig, indexed: Path, damage: str
    ) -> None:
        def change(documents: list[Document]) -> list[Document]:
            first, *others = documents
            sparse = first.sparse_embedding
            assert sparse is not None
            other = {
                "weight": SparseEmbedding(sparse.indices, [v * 1.001 for v in sparse.values]),
                "word": SparseEmbedding([*sparse.indices[1:], 7], sparse.values),
                "none": None,
            }[damage]
            return [replace(first, sparse_embedding=other), *others]

        rewrite(config, change)
        [check] = chunks(config)
        assert check.status == "fail" and "0 lost, 1 with other words" in check.message

    def test_of_a_large_index_a_sample_from_everywhere_is_looked_at(
        self, config: RAGConfig, write_notes: Callable[..., Path], refresh: Callable[..., Any]
    ) -> None:
        notes = {f"{at:03}.md": f"# Note {at}\n\nword{at}\n" for at in range(100)}
        refresh(work=write_notes("work", notes))
        view = IndexView()
        [check] = run(check_chunks, config, index=view)
        assert check.facts["sample"] == 40
        names = sorted(document.meta["file_path"] for document in view.sample)
        assert len(names) == 40 and names[0] == "000.md" and names[-1] > "095.md"

    def test_a_store_that_cannot_be_opened_fails(self, config: RAGConfig, indexed: Path) -> None:
        current = IndexDirectory(config.index_dir).current()
        shutil.rmtree(config.index_dir / str(current) / "shard")
        found = {check.name: check for check in run_checks(config)}
        assert found["chunks"].status == "fail" and "`rag index`" in worded(found["chunks"].hint)


def embedded(documents: list[Document], model: Model) -> list[Document]:
    """Give documents the vectors that an index has of them."""
    texts = [f"search_document: {embedded_text(d.meta, d.content)}" for d in documents]
    pairs = zip(documents, texts, strict=True)
    return [replace(document, embedding=model.vector(text)) for document, text in pairs]


@dataclass
class Models:
    """Runs the checks of models against a server, for an index with or without vectors."""

    server: OllamaServer

    def ollama(self, **changes: Any) -> OllamaConfig:
        given = {"url": self.server.url, "embedding_model": EMBED, "query_timeout": 5.0}
        return OllamaConfig(**(given | {"connect_timeout": 2.0} | changes))

    def run(
        self, index: IndexView | None = None, mode: str = "auto", chosen: str = "", **changes: Any
    ) -> dict[str, Check]:
        search = SearchConfig(mode=mode)
        config = RAGConfig(embedding=OLLAMA, ollama=self.ollama(**changes), search=search)
        config = replace(config, origins={chosen: "rag.toml"})
        examination = Examination(config, index)
        checks = (check_servers, check_models, check_vectors)
        return {found.name: found for check in checks for found in check(examination)}

    def index(self, **facts: Any) -> IndexView:
        """An index of two chunks with the vectors of the server's model."""
        model = self.server.models[EMBED]
        meta = {"title": "Title", "heading": ["Title", "Part"]}
        documents = [Document(id=str(at), content=f"text {at}", meta=meta) for at in range(2)]
        made = {"model": EMBED, "digest": model.digest, "dimension": 768, "embedded": 2}
        made |= {"chunks": 2, "unreadable": 0, "failed": 0, "document_prefix": "search_document: "}
        made |= {"version": TEXT_VERSION, "provider": "ollama", **facts}
        space = Space(**{item.name: made.pop(item.name) for item in fields(Space)})
        return IndexView(Embedded(space, **made), 768, embedded(documents, model))


@pytest.fixture
def models(server: OllamaServer) -> Models:
    return Models(server)


class TestOllama:
    def test_with_its_models_all_is_well(self, models: Models) -> None:
        found = models.run(models.index(), chat_model=CHAT)
        assert {check.status for check in found.values()} == {"pass"}
        assert list(found) == [
            "ollama",
            "embedding model",
            "chat model",
            "vectors",
            "vector sample",
        ]
        assert found["ollama"].facts["version"] == "0.33.0"
        assert found["embedding model"].facts["context"] == 2048
        assert found["vector sample"].facts["compared"] == 2

    def test_switched_off_it_is_one_line(self, models: Models, server: OllamaServer) -> None:
        found = models.run(models.index(), enabled=False)
        assert statuses(list(found.values())) == [("ollama", "pass"), ("vectors", "pass")]
        assert server.requests() == []

    @pytest.mark.parametrize(
        ("mode", "status"), [("auto", "warn"), ("lexical", "warn"), ("hybrid", "fail")]
    )
    def test_a_server_that_is_down_is_a_failure_where_search_insists(
        self, models: Models, mode: str, status: str
    ) -> None:
        with refused() as url:
            found = models.run(models.index(), mode, url=url)
        assert found["ollama"].status == status and "ollama serve" in found["ollama"].hint
        assert set(found) == {"ollama", "vectors"}

    def test_every_server_has_its_line(self, models: Models, server: OllamaServer) -> None:
        with OllamaServer([EMBED, CHAT]) as other, refused() as down:
            ollama = models.ollama(urls=[server.url, other.url, down], generation_url=other.url)
            examination = Examination(RAGConfig(embedding=OLLAMA, ollama=ollama))
            asked = statuses([*check_servers(examination), *check_models(examination)])
        assert asked == [
            *(("ollama", "pass"), ("ollama", "pass"), ("ollama", "warn")),
            *(("embedding model", "pass"), ("embedding model", "pass"), ("chat model", "pass")),
        ]
        asked_of_first = {request.json["model"] for request in server.requests("/api/show")}
        assert asked_of_first == {EMBED}  # the other one writes the answers

    @pytest.mark.parametrize(("chosen", "status"), [("", "warn"), ("model", "fail")])
    def test_a_missing_model_is_a_failure_where_the_user_chose_it(
        self, models: Models, chosen: str, status: str
    ) -> None:
        setting = chosen and "ollama.embedding_model"
        check = models.run(embedding_model="bge-m3", chosen=setting)["embedding model"]
        assert (check.status, check.hint) == (status, "`ollama pull bge-m3`")
        setting = chosen and "ollama.chat_model"
        check = models.run(chat_model="qwen3", chosen=setting)["chat model"]
        assert (check.status, check.hint) == (status, "`ollama pull qwen3`")

    def test_without_a_fixed_chat_model_the_first_that_can_is_named(self, models: Models) -> None:
        check = models.run(chat_model="auto")["chat model"]
        assert check.status == "pass" and check.facts["model"] == f"{CHAT}:latest"
        assert check.facts["fixed"] is False

    def test_without_a_chat_model_none_is_looked_for(self, models: Models) -> None:
        assert "chat model" not in models.run(chat_model="")

    def test_a_model_that_only_ranks_is_no_chat_model(self) -> None:
        reranker = Model("my-reranker", capabilities=("embedding",))
        with OllamaServer([reranker, CHAT]) as server:
            check = Models(server).run()["chat model"]
        assert check.facts["model"] == f"{CHAT}:latest"

    def test_describing_models_takes_no_longer_than_a_query_may(
        self, models: Models, server: OllamaServer
    ) -> None:
        server.fail("/api/show", "slow", seconds=0.3, times=None)  # each of two gets half
        assert models.run(query_timeout=0.5)["embedding model"].status == "warn"

    def test_no_chat_model_at_all(self, models: Models, server: OllamaServer) -> None:
        del server.models[CHAT]
        check = models.run()["chat model"]
        assert check.status == "warn" and "ollama pull" in check.hint

    def test_models_of_the_wrong_kind_fail(self, models: Models) -> None:
        found = models.run(embedding_model=CHAT, chat_model="all-minilm")
        assert found["embedding model"].status == found["chat model"].status == "fail"
        assert "gives no vectors" in found["embedding model"].message
        assert "writes no answers" in found["chat model"].message

    def test_a_server_too_old_to_tell_capabilities_is_believed(
        self, models: Models, server: OllamaServer
    ) -> None:
        for name in (EMBED, CHAT):
            server.models[name] = replace(KNOWN[name], capabilities=())
        found = models.run()
        assert found["chat model"].facts["model"] == f"{CHAT}:latest"
        assert found["embedding model"].status == "pass"

    def test_chunks_longer_than_the_model_reads(self, models: Models) -> None:
        check = models.run(embedding_model="all-minilm")["embedding model"]
        assert check.status == "warn" and "reads 256 tokens" in check.message
        assert "index.chunk_size" in check.hint

    def test_a_model_of_another_dimension_than_the_index(self, models: Models) -> None:
        check = models.run(models.index(dimension=1024))["embedding model"]
        assert check.status == "fail" and "768 dimensions, the index has 1,024" in check.message
        assert "rag index --embed" in worded(check.hint)

    def test_a_model_that_was_pulled_anew(self, models: Models) -> None:
        check = models.run(models.index(digest="0" * 64))["embedding model"]
        assert check.status == "fail" and "rag index --embed" in worded(check.hint)


class TestVectors:
    def test_an_index_without_vectors_is_searched_by_words(self, models: Models) -> None:
        check = models.run(IndexView())["vectors"]
        assert check.status == "pass" and "search is by words" in check.message

    def test_unless_search_insists_on_vectors(self, models: Models) -> None:
        check = models.run(IndexView(), mode="dense")["vectors"]
        assert check.status == "fail" and "rag index --embed" in worded(check.hint)

    def test_those_of_another_model_fail(self, models: Models) -> None:
        check = models.run(models.index(model="bge-m3"))["vectors"]
        assert check.status == "fail" and "made by bge-m3" in check.message

    def test_those_made_with_another_prefix_fail(self, models: Models) -> None:
        check = models.run(models.index(), document_prefix="passage: ")["vectors"]
        assert check.status == "fail" and "another prefix" in check.message

    def test_a_store_of_another_dimension_than_its_manifest_fails(self, models: Models) -> None:
        check = models.run(replace(models.index(), dimension=4))["vectors"]
        assert check.status == "fail" and "4 dimensions" in check.message

    def test_a_store_that_waits_for_its_first_vector_lacks_them_all(self, models: Models) -> None:
        index = replace(models.index(embedded=0), dimension=None)
        check = models.run(index)["vectors"]
        assert check.status == "warn" and "0 of 2 chunks" in check.message

    def test_those_of_another_way_to_write_a_chunk_fail(self, models: Models) -> None:
        check = models.run(models.index(version=TEXT_VERSION - 1))["vectors"]
        assert check.status == "fail" and "another version" in check.message

    def test_missing_ones_are_counted(self, models: Models) -> None:
        check = models.run(models.index(chunks=9, unreadable=3))["vectors"]
        assert check.status == "warn" and "4 are missing" in check.message

    def test_what_the_model_cannot_read_is_not_missing(self, models: Models) -> None:
        check = models.run(models.index(chunks=5, unreadable=3))["vectors"]
        assert check.status == "pass" and "3 are in a script" in check.message

    def test_vectors_of_another_text_fail(self, models: Models) -> None:
        index = models.index()
        index.sample[1] = replace(index.sample[1], content="something else altogether")
        check = models.run(index)["vector sample"]
        assert check.status == "fail" and "1 of 2 vectors" in check.message
        assert "rag index --embed" in worded(check.hint)

    def test_of_many_only_some_are_made_again(self, models: Models, server: OllamaServer) -> None:
        index = models.index()
        index.sample *= 20
        assert models.run(index)["vector sample"].facts["compared"] == 8
        assert len(server.inputs()) == 8

    def test_chunks_without_a_vector_are_not_compared(self, models: Models) -> None:
        index = models.index()
        index.sample = [replace(document, embedding=None) for document in index.sample]
        assert "vector sample" not in models.run(index)

    def test_a_chunk_longer_than_the_model_reads_is_compared_in_parts(
        self, models: Models, server: OllamaServer
    ) -> None:
        server.models[EMBED] = Model(EMBED, 768, 64)
        index = models.index(digest=server.models[EMBED].digest)
        index.sample[0] = replace(index.sample[0], content="many words to be read " * 40)
        assert models.run(index)["vector sample"].facts["compared"] == 2
        assert len(server.inputs()) > 2
        assert {request.status for request in server.requests("/api/embed")} == {200}

    def test_a_slow_server_has_fewer_compared(self, models: Models, server: OllamaServer) -> None:
        server.fail("/api/embed", "slow", seconds=0.15, times=None)
        index = models.index()
        index.sample *= 20
        check = models.run(index, query_timeout=0.4)["vector sample"]
        assert check.status == "pass" and 0 < check.facts["compared"] < 8

    def test_a_failure_is_not_tried_again(self, models: Models, server: OllamaServer) -> None:
        server.fail("/api/embed", status=503, times=None)
        assert models.run(models.index(), retries=5)["vector sample"].status == "warn"
        assert len(server.requests("/api/embed")) == 1

    def test_they_are_read_from_the_index(
        self, config: RAGConfig, indexed: Path, models: Models
    ) -> None:
        view = models.index(chunks=4, embedded=4).embedding
        assert view is not None
        made = view.to_json()
        model = models.server.models[EMBED]
        rewrite(config, lambda documents: embedded(documents, model), embedding=json.dumps(made))
        found = {c.name: c for c in run_checks(replace(config, ollama=models.ollama()))}
        assert {check.status for check in found.values()} == {"pass"}
        assert found["vector sample"].facts["compared"] == 4


HARMLESS = {"slow", "slow_stream", "huge", "content_type", "counts"}
FOR_VECTORS = {"dimension", "nan", "inf", "null", "zero", "fewer", "none"}
LINES = {
    "/api/version": "ollama",
    "/api/tags": "ollama",
    "/api/show": "embedding model",
    "/api/embed": "vector sample",
}
FAULTS = [
    (path, kind)
    for path in LINES
    for kind in KINDS
    if (path == "/api/embed" or kind not in FOR_VECTORS)
    and kind not in ("error_line", "unfinished", "huge", "counts", "slow_stream")
]


@pytest.fixture(scope="module")
def shared_server() -> Iterator[OllamaServer]:
    with OllamaServer([EMBED, CHAT]) as running:
        yield running


@pytest.fixture
def faulty(shared_server: OllamaServer) -> Iterator[OllamaServer]:
    """A server for tests that only set faults."""
    yield shared_server
    shared_server.heal()


@pytest.mark.sampled
@pytest.mark.parametrize(("path", "kind"), FAULTS)
def test_every_fault_of_a_server_becomes_one_clear_line(
    faulty: OllamaServer, path: str, kind: str
) -> None:
    models = Models(faulty)
    faulty.fail(path, kind, times=None)
    index = models.index()
    found = models.run(index, query_timeout=0.3 if kind == "endless" else 5.0)
    check = found[LINES[path]]
    assert (check.status == "pass") is (kind in HARMLESS), check
    assert all(c.hint and "\n" not in c.message for c in found.values() if c.status != "pass")


@pytest.mark.parametrize("path", ["*", *LINES])
def test_a_server_that_says_nothing_is_given_up_soon(faulty: OllamaServer, path: str) -> None:
    models = Models(faulty)
    faulty.fail(path, "endless", times=None)
    started = time.monotonic()
    models.run(models.index(), query_timeout=0.4, read_timeout=60.0)
    assert time.monotonic() - started < 30  # not the minute of read_timeout


@contextmanager
def qdrant(answers: dict[str, tuple[int, str]], keys: list[str]) -> Iterator[str]:
    """A server that gives these answers, and notes the API keys it is sent."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            keys.append(self.headers.get("api-key", ""))
            status, body = answers.get(self.path, (404, ""))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{http.server_address[1]}"
        http.shutdown()
        thread.join()


READY = {"/readyz": (200, "all shards are ready"), "/": (200, '{"version": "1.15.0"}')}


def ask_qdrant(url: str, variable: str = "") -> list[Check]:
    return run(check_server, RAGConfig(store=StoreConfig(url=url, api_key_env=variable)))


class TestQdrant:
    def test_without_a_server_there_is_no_line(self, config: RAGConfig) -> None:
        assert run(check_server, config) == []
        assert ask_qdrant("") == []

    def test_a_server_that_is_ready(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("QDRANT_KEY", "secret")
        keys: list[str] = []
        with qdrant(READY, keys) as url:
            [check] = ask_qdrant(f"{url}/", "QDRANT_KEY")
        assert (check.status, check.facts["version"]) == ("pass", "1.15.0")
        assert {*keys} == {"secret"} and "secret" not in json.dumps(check_to_json(check))

    def test_a_key_with_a_newline_behind_it_is_sent_without(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("QDRANT_KEY", "secret\n")
        keys: list[str] = []
        with qdrant(READY, keys) as url:
            [check] = ask_qdrant(url, "QDRANT_KEY")
        assert (check.status, {*keys}) == ("pass", {"secret"})

    @pytest.mark.parametrize(
        ("url", "key", "message"),
        [
            ("http://qdrant.example:6333", "secret", "in the clear"),
            ("http://127.0.0.1:1", "sec\nret", "characters that no key has"),
        ],
    )
    def test_a_key_that_must_not_be_sent_is_not_and_is_not_repeated(
        self, config: RAGConfig, monkeypatch: pytest.MonkeyPatch, url: str, key: str, message: str
    ) -> None:
        monkeypatch.setenv("QDRANT_KEY", key)
        store = StoreConfig(url=url, api_key_env="QDRANT_KEY")
        [*_, check] = run_checks(replace(config, store=store))
        assert (check.name, check.status) == ("qdrant", "fail") and message in check.message
        assert "ret" not in json.dumps(check_to_json(check))

    def test_a_key_that_is_refused(self) -> None:
        with qdrant({"/readyz": (401, "")}, []) as url:
            [check] = ask_qdrant(url, "QDRANT_KEY")
        assert check.status == "fail" and "in QDRANT_KEY" in check.hint

    @pytest.mark.parametrize(
        "answers",
        [
            *({}, {"/readyz": (503, "")}, {**READY, "/": (200, "[]")}),
            *({**READY, "/": (200, "<html>")}, {**READY, "/": (200, "[" * 100_000)}),
        ],
        ids=["nothing", "not ready", "a list", "a page", "brackets"],
    )
    def test_a_server_that_is_not_well(self, answers: dict[str, tuple[int, str]]) -> None:
        with qdrant(answers, []) as url:
            [check] = ask_qdrant(url)
        assert check.status == "fail" and "store.url" in check.hint

    def test_a_server_that_is_down(self) -> None:
        with refused() as url:
            [check] = ask_qdrant(url)
        assert check.status == "fail" and "Start it" in check.hint
