"""Searching by words and meaning together, on real vectors of a model that knows synonyms."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import date

import pytest
from test_explaining import check

from index_fixtures import embedded, open_pipeline, paths
from ollama_server import Model, OllamaServer
from qa_pipelines import loaded
from rag.config import RAGConfig
from rag.pipelines import (
    QueryFilters,
    SearchResponse,
    ask,
    create_qa_pipeline,
    create_search_pipeline,
    search,
)
from rag.search.query import Query
from rag.search.run import open_store
from tables import rows

NEAR = 1e-3
MEANS = {"car": "automobile", "fuel": "petrol", "doctor": "physician", "車": "automobile"}
NOTES = {
    "automobile.md": "---\ntags: [garage]\ncreated: 2025-01-01\n---\n"
    "# Automobile\n\nThe automobile needs petrol.\n\n## Winter\n\nTyres and an automobile club.\n",
    "tea.md": "---\ntags: [kitchen]\ncreated: 2025-06-01\n---\n# Tea\n\nSteep tea, then wait.\n",
    "steep.md": "# On steeping\n\nSteep tea leaves. Tea that steeps long is bitter tea.\n",
    "surgery.md": "---\ntags: [health]\n---\n# Appointments\n\nThe physician is in on Mondays.\n",
    "緑茶.md": "# 緑茶\n\n七十度の湯で淹れる。\n",
}
HOME = {"petrol.md": "# Spending\n\nMoney spent on petrol and tea.\n"}
QUERIES = ["car fuel", "tea", "steep tea", "doctor", "physician automobile", "緑茶", "車", "bitter"]


class Thesaurus(Model):
    """Takes words of the same meaning for the same word."""

    def vector(self, text: str) -> list[float]:
        for word, meaning in MEANS.items():
            text = text.replace(word, meaning)
        return super().vector(text)


Search = Callable[..., SearchResponse]


@pytest.fixture(scope="module")
def thesaurus() -> Iterator[OllamaServer]:
    with OllamaServer([Thesaurus("bge-m3", 256)]) as server:
        yield server


@pytest.fixture(scope="module")
def settings(thesaurus, build_index) -> RAGConfig:
    return embedded(build_index({"work": NOTES, "home": HOME}), thesaurus)


@pytest.fixture(scope="module")
def find(settings) -> Iterator[Search]:
    with open_pipeline(create_search_pipeline, settings) as pipeline:
        yield lambda query, *args, **options: search(pipeline, query, *args, **options)


def test_meaning_finds_what_words_do_not(find):
    assert paths(find("car fuel", mode="lexical")) == []
    found = find("car fuel")
    assert found.mode == "dense"  # no word of it is known
    assert paths(found)[0] == "automobile.md"
    assert paths(find("doctor"))[0] == "surgery.md"
    assert paths(find("車"))[0] == "automobile.md"


def test_words_find_what_they_found_before_and_better(find):
    for query in ("bitter", "Mondays", "緑茶", "winter tyres"):
        assert paths(find(query))[0] == paths(find(query, mode="lexical"))[0]


@rows(
    "filters, left",
    (QueryFilters(vaults=["home"]), {"petrol.md"}),
    (QueryFilters(tags=["health"]), {"surgery.md"}),
    (QueryFilters(date_from=date(2025, 5, 1), date_to=date(2025, 7, 1)), {"tea.md"}),
    (QueryFilters(paths=["s*.md"]), {"steep.md", "surgery.md"}),
)
def test_filters_hold_for_what_meaning_finds(find, filters, left):
    for mode in ("hybrid", "dense"):
        assert set(paths(find("car fuel", filters, mode=mode))) <= left
        assert set(paths(find("automobile -petrol", filters, mode=mode))) <= left - {"petrol.md"}


def test_what_is_near_has_its_words_counted_though_others_have_more_of_them(
    settings, find, monkeypatch
):
    query = "steep tea petrol"
    with open_pipeline(create_search_pipeline, settings) as pipeline:
        monkeypatch.setattr(Query, "chunk_limit", 2)
        outputs = pipeline.run({"query_analyzer": {"text": query, "mode": "hybrid"}})
        retrieval = outputs["reranker"]["retrieval"]
        every = open_store(pipeline).find_candidates(retrieval.query.lexical)
    by_words = {candidate.id: candidate.score for candidate in every}
    assert len(retrieval.candidates) > 2
    for candidate in retrieval.candidates:
        words = candidate.score - candidate.meaning - candidate.forms
        assert words == pytest.approx(by_words.get(candidate.id, 0.0), abs=NEAR)


def test_dense_ranks_by_nearness_alone(find):
    results = find("tea", mode="dense", top_k=10).results
    assert [r.scores["lexical"] for r in results] == [0.0] * len(results)
    cosines = [r.scores["cosine"] for r in find("tea", mode="dense", top_k=10, chunks=True).results]
    assert cosines == sorted(cosines, reverse=True)


@pytest.mark.parametrize("chunks", [False, True], ids=["notes", "chunks"])
@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_explanations_add_up(find, mode, chunks):
    for query in QUERIES:
        for result in find(query, mode=mode, chunks=chunks, explained=True).results:
            check(result)


def test_each_search_asks_for_one_vector_and_the_store_once(find, thesaurus, monkeypatch):
    from rag.stores.edge.document_store import QdrantEdgeDocumentStore as Store

    asked = []
    lists = Store.find_lists
    monkeypatch.setattr(Store, "find_lists", lambda *args: asked.append(1) or lists(*args))
    before = len(thesaurus.inputs())
    find("car fuel")
    assert thesaurus.inputs()[before:] == ["car fuel"]
    assert asked == [1]


@pytest.mark.parametrize("query", ["tag:garage", "vault:home"])
def test_a_query_that_only_filters_asks_for_no_vector(find, thesaurus, query):
    before = len(thesaurus.requests())
    assert find(query).mode == "lexical"
    assert len(thesaurus.requests()) == before


def test_the_pipeline_serialises_and_runs_asynchronously(settings, find):
    inputs = {"query_analyzer": {"text": "car fuel"}}
    with open_pipeline(create_search_pipeline, settings) as pipeline:
        dumped = pipeline.dumps()
    with loaded(dumped) as again:
        outputs = asyncio.run(again.run_async(inputs))
    titles = [document.meta["file_path"] for document in outputs["loader"]["documents"]]
    assert titles == paths(find("car fuel"))


def test_a_question_by_words_is_sent_nowhere(write_notes, embed, with_ollama, server):
    config = with_ollama(chat_model="")
    embed(config, work=write_notes("work", {"tea.md": "# Tea\n\nTea steeps for four minutes."}))
    before = len(server.inputs())
    with open_pipeline(create_qa_pipeline, config) as pipeline:
        assert ask(pipeline, "How long does tea steep?", mode="lexical").found
        assert len(server.inputs()) == before
        assert ask(pipeline, "How long does tea steep?").found
        assert len(server.inputs()) == before + 1
