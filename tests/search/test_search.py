"""Search: what is found, in which order, and what goes wrong aloud."""

from __future__ import annotations

import pytest
from haystack import Pipeline

from rag.config import RAGConfig, SearchConfig
from rag.exceptions import IndexUnavailableError, QueryError
from rag.pipelines import create_qa_pipeline, create_search_pipeline, search
from rag.stores import QdrantEdgeDocumentStore, get_document_store

NOTES = {
    "links.md": "---\ntitle: Internal links\n---\nHow notes are tied together.\n\n"
    "## Link to a heading\n\nType a hash after the name to link to a heading.\n\n"
    "## Link to a block\n\nType a caret to link to a block.\n",
    "backup.md": "# Backups\n\nThey run every night.\n\n## Restore\n\nRestore a backup by hand.\n",
    "pdf.md": "# PDF export\n\nA note becomes a PDF.\n",
    "ja/リンク.md": "# 内部リンク\n\nノートを結ぶ。\n\n## 内部リンクの作り方\n\n角括弧を重ねる。\n",
    "ja/証明書.md": "# 証明書の更新\n\n証明書は毎年三月に更新する。\n",
    "tie-a.md": "zebra crossing",
    "tie-b.md": "zebra crossing",
    "long.md": "# Long\n\n" + "\n\n".join(f"## Part {n}\n\nwalrus number {n}" for n in range(6)),
    "short.md": "# Walrus\n\nOne walrus.",
}


@pytest.fixture(scope="module")
def config(build_index) -> RAGConfig:
    return build_index({"v": NOTES})


@pytest.fixture(scope="module")
def pipeline(config):
    with get_document_store(config) as store:
        yield create_search_pipeline(store, config)


def paths(response) -> list[str]:
    return [result.file_path for result in response.results]


def store_of(pipeline: Pipeline) -> QdrantEdgeDocumentStore:
    """Return the one store that the components of a pipeline share."""
    retriever, loader = (pipeline.get_component(name) for name in ("retriever", "loader"))
    assert retriever.document_store is loader.document_store
    return retriever.document_store


def sorted_connections(pipeline: Pipeline) -> dict:
    """Return a pipeline's dictionary; Haystack writes connections in the order of components."""
    data = pipeline.to_dict()
    return {**data, "connections": sorted(data["connections"], key=repr)}


class TestErrors:
    @pytest.mark.parametrize("query", ["", "  \n", "\u3000"])
    def test_an_empty_query_is_an_error(self, pipeline, query):
        with pytest.raises(QueryError, match="empty"):
            search(pipeline, query)

    def test_a_top_k_below_1_is_an_error(self, pipeline):
        with pytest.raises(QueryError, match="top_k"):
            search(pipeline, "backup", top_k=0)

    def test_without_an_index_it_says_what_makes_one(self, tmp_path):
        store = get_document_store(RAGConfig(data_dir=tmp_path / "none"))
        with pytest.raises(IndexUnavailableError) as raised:
            search(create_search_pipeline(store), "backup")
        assert "rag index" in raised.value.hint

    def test_searching_without_an_index_makes_no_folder(self, tmp_path):
        store = get_document_store(RAGConfig(data_dir=tmp_path / "none"))
        with pytest.raises(IndexUnavailableError):
            search(create_search_pipeline(store), "backup")
        assert not (tmp_path / "none").exists()

    def test_what_a_component_raises_becomes_a_query_error(self, config, monkeypatch):
        with get_document_store(config) as store:
            pipeline = create_search_pipeline(store)

            def fail(*_: object, **__: object) -> None:
                raise RuntimeError("the engine coughed")

            monkeypatch.setattr(store, "find_candidates", fail)
            with pytest.raises(QueryError) as raised:
                search(pipeline, "backup")
        assert "the engine coughed" in raised.value.details


class TestRanking:
    def test_the_right_note_comes_first(self, pipeline):
        assert paths(search(pipeline, "restore a backup"))[0] == "backup.md"

    def test_the_best_chunk_of_a_note_is_shown_with_its_lines_and_headings(self, pipeline):
        best = search(pipeline, "how do I link to a heading").results[0]
        assert (best.file_path, best.title) == ("links.md", "Internal links")
        assert best.heading == ["Link to a heading"]
        assert (best.line_start, best.line_end, best.position) == (6, 8, 1)

    @pytest.mark.parametrize(
        ("query", "path"),
        [("内部リンクの作り方", "ja/リンク.md"), ("証明書はいつ更新する？", "ja/証明書.md")],
    )
    def test_japanese_queries_find_japanese_notes(self, pipeline, query, path):
        assert paths(search(pipeline, query))[0] == path

    def test_a_japanese_chunk_has_its_lines_too(self, pipeline):
        best = search(pipeline, "角括弧を重ねる").results[0]
        assert (best.line_start, best.line_end) == (5, 7)

    @pytest.mark.parametrize("query", ["pdf", "PDF", "ＰＤＦ"])
    def test_case_and_width_do_not_matter(self, pipeline, query):
        assert paths(search(pipeline, query)) == ["pdf.md"]

    def test_lines_are_those_of_the_file(self, pipeline):
        for result in search(pipeline, "link heading backup 証明書 リンク", top_k=50).results:
            lines = NOTES[result.file_path].split("\n")[result.line_start - 1 : result.line_end]
            assert "\n".join(lines) == result.content

    def test_a_word_that_no_note_holds_finds_nothing(self, pipeline):
        assert search(pipeline, "xylophone").results == []

    def test_a_query_without_a_word_finds_nothing(self, pipeline):
        assert search(pipeline, "?!").results == []

    def test_a_note_appears_once(self, pipeline):
        found = paths(search(pipeline, "walrus"))
        assert sorted(found) == ["long.md", "short.md"]

    def test_chunks_of_one_note_may_appear_each(self, pipeline):
        found = search(pipeline, "walrus", top_k=20, chunks=True)
        assert paths(found).count("long.md") == 6

    def test_top_k_cuts_the_list_and_total_counts_it(self, pipeline):
        found = search(pipeline, "walrus", top_k=3, chunks=True)
        assert (len(found.results), found.total) == (3, 3)

    def test_scores_fall_and_lie_between_0_and_1(self, pipeline):
        scores = [r.score for r in search(pipeline, "link backup pdf", top_k=20).results]
        assert len(scores) > 2
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score < 1 for score in scores)

    def test_equal_notes_keep_their_order_from_run_to_run(self, pipeline, config):
        first = paths(search(pipeline, "zebra crossing"))
        assert sorted(first) == ["tie-a.md", "tie-b.md"]
        for _ in range(5):
            with get_document_store(config) as store:
                assert paths(search(create_search_pipeline(store), "zebra crossing")) == first

    def test_the_mode_is_told(self, pipeline):
        assert search(pipeline, "backup").mode == "lexical"


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("what is the tape server", "Tape and server in the lager."),
        ("was ist ein Tape Server", "Tape und Server auf dem Lager."),
    ],
)
def test_of_notes_that_score_the_same_one_in_the_language_of_the_query_goes_first(
    build_index, query, wanted
):
    texts = ["Tape and server in the lager.", "Tape und Server auf dem Lager."]
    for notes in (texts, texts[::-1]):
        config = build_index({"v": dict(zip(("a.md", "b.md"), notes, strict=True))})
        with get_document_store(config) as store:
            found = search(create_search_pipeline(store), query).results
        assert found[0].content == wanted


class TestSerialisation:
    def test_a_search_pipeline_loads_back_and_finds_the_same(self, pipeline):
        loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=["rag"])
        expected = search(pipeline, "restore a backup")
        assert expected.results
        assert search(loaded, "restore a backup") == expected
        store_of(loaded).close()

    def test_its_yaml_is_the_same_after_a_round_trip(self, config):
        pipeline = create_search_pipeline(
            get_document_store(config), RAGConfig(search=SearchConfig(top_k=3))
        )
        loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=["rag"])
        assert sorted_connections(loaded) == sorted_connections(pipeline)
        again = Pipeline.loads(loaded.dumps(), allowed_modules=["rag"])
        assert again.dumps() == loaded.dumps()

    def test_a_qa_pipeline_loads_back_and_answers_the_same(self, config):
        from rag.pipelines import ask

        with get_document_store(config) as store:
            pipeline = create_qa_pipeline(store)
            loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=["rag"])
            expected = ask(pipeline, "How do I restore a backup?")
            assert expected.found
            assert ask(loaded, "How do I restore a backup?") == expected
            store_of(loaded).close()

    def test_a_store_that_was_closed_serves_the_next_pipeline(self, pipeline):
        for _ in range(2):
            loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=["rag"])
            assert paths(search(loaded, "zebra crossing", top_k=1))
            store_of(loaded).close()

    def test_pipelines_of_two_indexes_have_each_their_own(self, pipeline, build_index):
        with get_document_store(build_index({"v": {"a.md": "quokka"}})) as store:
            other = create_search_pipeline(store)
            both = [
                Pipeline.loads(one.dumps(), allowed_modules=["rag"]) for one in (pipeline, other)
            ]
        assert [len(search(one, "quokka").results) for one in both] == [0, 1]
        for one in both:
            store_of(one).close()
