"""Search: what is found, in which order, and what goes wrong aloud."""

import pytest

from index_fixtures import open_pipeline, paths
from rag.config import RAGConfig
from rag.exceptions import IndexUnavailableError, QueryError
from rag.pipelines import create_search_pipeline, search
from rag.stores import get_document_store
from tables import rows

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
    with open_pipeline(create_search_pipeline, config) as pipeline:
        yield pipeline


class TestErrors:
    @rows("query", "", "  \n", "\u3000")
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

    def test_what_a_component_raises_becomes_a_query_error(self, config, monkeypatch):
        with get_document_store(config) as store:
            pipeline = create_search_pipeline(store)

            def fail(*_: object, **__: object) -> None:
                raise RuntimeError("the engine coughed")

            monkeypatch.setattr(store, "find_lists", fail)
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

    @rows(
        "query, path",
        ("内部リンクの作り方", "ja/リンク.md"),
        ("証明書はいつ更新する？", "ja/証明書.md"),
    )
    def test_japanese_queries_find_japanese_notes(self, pipeline, query, path):
        assert paths(search(pipeline, query))[0] == path

    @rows("query", "pdf", "PDF", "ＰＤＦ")
    def test_case_and_width_do_not_matter(self, pipeline, query):
        assert paths(search(pipeline, query)) == ["pdf.md"]

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
            with open_pipeline(create_search_pipeline, config) as again:
                assert paths(search(again, "zebra crossing")) == first
