"""Searching with variants of the query: what they find, what they may not lose, who found what."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_explaining import check

from index_fixtures import embedded, open_pipeline, paths
from ollama_server import Model, OllamaServer
from property_examples import examples
from qa_pipelines import loaded
from rag.config import OllamaConfig, RAGConfig
from rag.exceptions import ConfigError, UsageError
from rag.pipelines import SearchResponse, ask, create_qa_pipeline, create_search_pipeline, search
from rag.query.models import QueryBundle
from rag.search.components.query_embedder import QueryEmbedder
from rag.search.components.query_expander import QueryExpander
from rag.search.query import WEIGHTS, Query
from rag.search.results import QueryFilters, SearchedVariant
from rag.stores import get_document_store
from tables import rows

Variants = tuple[SearchedVariant, ...]

# The hard set: a question, a note that answers it in other words, and what a model might say.
HARD = {
    "how do we undo a release": ("Rollback.md", "rolling back a deploy"),
    "money spent abroad": ("Expenses.md", "reimbursement of travel costs"),
    "the site is slow": ("Latency.md", "high latency of requests"),
    "who fixes things at night": ("Rota.md", "on-call rota"),
    "部屋の予約": ("会議室.md", "会議室を押さえる"),
}
NOTES = {
    "Rollback.md": "---\ntags: [ops]\n---\n# Rolling back\n\nRolling back a deploy is quick.\n",
    "Expenses.md": "# Reimbursement\n\nTravel costs are paid within a month.\n",
    "Latency.md": "# Latency\n\nHigh latency of requests has three causes.\n",
    "Rota.md": "# On-call\n\nThe on-call rota changes each Monday.\n",
    "会議室.md": "# 会議室\n\n会議室は前日までに押さえる。\n",
    "Undo.md": "# Undo in the editor\n\nHow do we undo? Press the key.\n",
    "Site.md": "# The site\n\nThe site has a kitchen. Things are sold at night.\n",
    **{
        f"Release {n}.md": f"# Release {n}\n\nA release that was cut. Version {n}.\n" for n in "123"
    },
    **{f"extra/{n}.md": f"# Topic {n}\n\nRolling pasta {n} and latency.\n" for n in range(14)},
}

Search = Callable[..., SearchResponse]


def by_query(said: dict[str, list[str]]) -> Callable[[dict[str, Any]], Any]:
    """Answer what the request's schema asks for, out of what is said of its query."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        prompt = body["messages"][-1]["content"]
        texts = next((texts for query, texts in said.items() if query in prompt), [])
        [(name, schema)] = body["format"]["properties"].items()
        return {name: texts if schema.get("type") == "array" else "".join(texts[:1])}

    return answer


@pytest.fixture(scope="module")
def server() -> Iterator[OllamaServer]:
    with OllamaServer([Model("bge-m3", 64), "llama3.2"]) as running:
        yield running


@pytest.fixture(autouse=True)
def quiet(server) -> Iterator[None]:
    yield
    server.heal()
    server.api.answer = None
    server.api.queue.clear()


@pytest.fixture(scope="module")
def index(server, build_index) -> RAGConfig:
    soon = dict.fromkeys(("read_timeout", "query_timeout", "transform_timeout"), 2.0)
    return embedded(build_index({"v": NOTES}), server, **soon)


@pytest.fixture(scope="module")
def find(index) -> Search:
    """Search with transforms: `find("words", "multi-query")`; by words unless told otherwise."""

    def run(query: str, *names: str, config: RAGConfig = index, **options: Any) -> Any:
        with open_pipeline(create_search_pipeline, index, config, transforms=[*names]) as pipeline:
            return search(pipeline, query, **{"mode": "lexical", "top_k": 10, **options})

    return run


# -- what variants find --------------------------------------------------------------------


@rows("query", HARD)
def test_multi_query_finds_a_note_that_the_plain_query_misses(find, server, query):
    wanted, variation = HARD[query]
    server.api.answer = by_query({query: [variation]})
    assert wanted not in paths(find(query))
    response = find(query, "multi-query")
    assert wanted in paths(response)
    [found] = [result for result in response.results if result.file_path == wanted]
    assert found.found_by == ["multi-query"]


def test_each_result_names_what_found_it(find, server):
    server.api.answer = by_query({"undo a release": ["rolling back a deploy", "press the key"]})
    response = find("undo a release", "multi-query")
    by = {result.file_path: result.found_by for result in response.results}
    assert by["Rollback.md"] == ["multi-query 1"]
    assert by["Undo.md"] == ["original", "multi-query 2"]
    assert by["Release 1.md"] == ["original"]
    assert [(v.label, v.text, v.weight, v.sides) for v in response.variants] == [
        ("multi-query 1", "rolling back a deploy", WEIGHTS.variants / 2, ("words", "meaning")),
        ("multi-query 2", "press the key", WEIGHTS.variants / 2, ("words", "meaning")),
    ]


def test_transforms_are_applied_side_by_side_to_the_query_itself(find, server):
    server.say({"queries": ["rolling back"]}, {"question": "press the key"})
    response = find("undo a release", "multi-query", "step-back")
    assert [v.label for v in response.variants] == ["multi-query", "step-back"]
    asked = [request.json["messages"][-1]["content"] for request in server.requests("/api/chat")]
    assert "rolling back" not in asked[-1] and "undo a release" in asked[-1]


def test_a_variant_s_text_is_plain_words(find, server):
    server.say({"queries": ['rolling tag:nosuch -rolling vault:nowhere "no phrase"']})
    assert "Rollback.md" in paths(find("undo a release", "multi-query"))


def test_the_query_s_own_filters_hold_for_its_variants(find, server):
    server.api.answer = by_query({"undo a release": ["rolling back", "latency"]})
    assert paths(find("undo a release tag:ops", "multi-query")) == ["Rollback.md"]
    assert "Rollback.md" not in paths(find("undo a release -deploy", "multi-query"))
    filters = QueryFilters(tags=["ops"])
    assert paths(find("undo a release", "multi-query", filters=filters)) == ["Rollback.md"]


def test_a_query_of_filters_alone_has_no_variants(find, server):
    before = len(server.requests("/api/chat"))
    assert paths(find("tag:ops", "multi-query")) == ["Rollback.md"]
    assert len(server.requests("/api/chat")) == before


# -- what they may not lose ----------------------------------------------------------------


@settings(max_examples=examples(40))
@given(
    st.lists(st.text(max_size=40) | st.sampled_from([*(v for _, v in HARD.values()), "topic"])),
    st.sampled_from([*HARD, "rolling pasta", "topic latency", "Release 1"]),
)
def test_whatever_a_model_says_the_best_note_stays(find, server, said, query):
    [best, *_] = paths(find(query)) or [""]
    server.api.answer = by_query({query: said})
    found = paths(find(query, "multi-query", "decompose"))
    assert not best or best in found[:10]


# -- explanations ----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["lexical", "hybrid", "dense"])
@pytest.mark.parametrize("names", [("multi-query",), ("multi-query", "hyde", "decompose")])
def test_explanations_add_up(find, server, mode, names):
    server.api.answer = by_query({"undo a release": ["rolling back a deploy", "press the key"]})
    response = find("undo a release", *names, mode=mode, explained=True, top_k=20)
    assert any("variants" in result.explanation.fields for result in response.results)
    for result in response.results:
        check(result)
        gained = result.explanation.fields.get("variants", 0)
        assert gained == pytest.approx(result.scores.get("variants", 0))
        named = {label for chunk in result.explanation.chunks for label in chunk.variants}
        assert set(result.found_by) - {"original"} <= named
    assert sum(result.explanation.kept for result in response.results) == 1


# -- meaning ---------------------------------------------------------------------------------


def test_all_are_embedded_in_one_request(find, server):
    server.api.answer = by_query({"undo a release": ["rolling back", "press the key"]})
    before = len(server.requests("/api/embed"))
    find("undo a release", "multi-query", mode="hybrid")
    [request] = server.requests("/api/embed")[before:]
    assert request.inputs == ["undo a release", "rolling back", "press the key"]


def test_hyde_is_sought_by_meaning_only(find, server):
    server.api.answer = by_query({"zebra": ["Rolling back a deploy is quick."]})
    assert paths(find("zebra", "multi-query"))  # by words it would be found
    response = find("zebra", "hyde", mode="hybrid", top_k=20)
    assert [v.sides for v in response.variants] == [("meaning",)]
    gained = {r.file_path: r.scores.get("variants", 0.0) for r in response.results}
    assert max(gained, key=lambda path: gained[path]) == "Rollback.md"


def test_hyde_without_embeddings_says_so_once_and_asks_no_model(find, server):
    before = len(server.requests("/api/chat"))
    response = find("undo a release", "hyde")
    assert response.notices == ["hyde has no effect: the search is by words"]
    assert len(server.requests("/api/chat")) == before
    assert paths(response) == paths(find("undo a release"))


@pytest.mark.parametrize("known", [True, False])
def test_when_variants_cannot_be_embedded_the_query_keeps_its_meaning(index, server, known):
    made = (SearchedVariant("v", "x", "rolling", 0.25), SearchedVariant("w", "x", "pasta", 0.25))
    with get_document_store(index) as store, closing(QueryEmbedder(store, index.ollama)) as one:
        vector = one.run(Query("topic", "topic"))["query"].embedding
        server.fail("/api/embed", status=500, times=None if known else 1)
        given = vector if known else None
        asked = Query("topic", "topic", mode="hybrid", variants=made, embedding=given)
        query = one.run(asked)["query"]
    assert (query.mode, query.embedding) == ("hybrid", vector)
    assert [v.text for v in query.variants] == ["rolling", "pasta"]
    assert not any(v.is_embedded for v in query.variants)
    assert query.notices[0].startswith("variants without an embedding: 2 of 2")


# -- without a model -------------------------------------------------------------------------


def test_without_ollama_it_says_so_once_and_searches(find, index):
    off = replace(index, ollama=replace(index.ollama, enabled=False))
    response = find("undo a release", "multi-query", "step-back", "decompose", config=off)
    [notice] = response.notices
    assert notice.startswith("searched without multi-query, step-back, decompose: ")
    assert "switched off" in notice
    assert paths(response) == paths(find("undo a release"))


@pytest.mark.parametrize("kind", ["status", "hangup", "garbage", "unfinished", "slow"])
def test_a_model_that_fails_is_stood_in_for_and_that_is_said(find, index, server, kind):
    server.fail("/api/chat", kind, times=None, **({"seconds": 9} if kind == "slow" else {}))
    short = replace(index, ollama=replace(index.ollama, transform_timeout=1.0))
    response = find("how do we undo a bad release?", "multi-query", config=short)
    [notice] = response.notices
    assert notice.startswith("multi-query: ")
    assert all(v.fallback for v in response.variants)
    assert paths(response)


def test_an_unknown_transform_is_a_usage_error_with_the_nearest_names(find):
    with pytest.raises(UsageError, match="multi-qury") as raised:
        find("words", "multi-qury")
    assert "multi-query" in raised.value.hint


def test_a_plug_in_may_fail_and_may_make_too_many(monkeypatch):
    class Plugin:
        def __init__(self, count: int) -> None:
            self.count = count

        def transform(self, query: Any) -> list[Any]:
            if not self.count:
                raise ZeroDivisionError("oh")
            return [query.model_copy(update={"query_str": f"n{n}"}) for n in range(self.count)]

    made = {"bad": Plugin(0), "many": Plugin(1000)}
    monkeypatch.setattr(
        "rag.search.components.query_expander.create_transformer", lambda name, _, **__: made[name]
    )
    maker = QueryExpander(None, config=OllamaConfig(enabled=False))
    variants, notices = maker.make("words", ["bad", "many"])
    assert [v.text for v in variants] == [f"n{n}" for n in range(16)]
    assert notices == ["searched without bad: it failed (ZeroDivisionError('oh'))"]


class Mine:
    """A plug-in whose `transform` is given."""

    def __init__(self, transform: Callable[[Any], Any]) -> None:
        self.transform = transform


@pytest.fixture
def plug_in(monkeypatch) -> Callable[..., tuple[Variants, list[str]]]:
    """Make the variants that a plug-in named mine gives: `plug_in(lambda query: …)`."""

    def make(transform: Callable[[Any], Any], **changes: Any) -> tuple[Variants, list[str]]:
        monkeypatch.setattr(
            "rag.search.components.query_expander.create_transformer",
            lambda *_, **__: Mine(transform),
        )
        return QueryExpander(None, config=OllamaConfig(**{"enabled": False, **changes})).make(
            "words", ["mine"]
        )

    return make


@rows("odd", None, 7, ["text"], [SimpleNamespace(query_str="no metadata")], "text")
def test_whatever_a_plug_in_gives_that_is_no_query_is_told(plug_in, odd):
    variants, [notice] = plug_in(lambda query: odd)
    assert not variants and notice.startswith("searched without mine: it failed (")


def test_a_plug_in_that_would_end_the_program_is_told(plug_in):
    def leave(query: Any) -> Any:
        raise SystemExit(9)

    assert plug_in(leave)[1] == ["searched without mine: it failed (SystemExit(9))"]


def test_a_plug_in_that_hangs_is_given_up(plug_in, monkeypatch):
    monkeypatch.setattr("rag.search.components.query_expander._GRACE", 0.0)
    over = threading.Event()
    variants, notices = plug_in(lambda query: list([over.wait(60)][:0]), transform_timeout=0.2)
    over.set()
    [notice] = notices
    assert not variants and notice.startswith("searched without mine: it took longer than 0.")


def test_a_plug_in_that_never_ends_yielding_is_cut(plug_in):
    variants, _ = plug_in(lambda query: (QueryBundle(query_str=f"n{n}") for n in count()))
    assert len(variants) == 16


def test_transforms_share_the_time_and_what_it_is_too_short_for_is_told(index, server):
    server.fail("/api/chat", "slow", times=None, seconds=9)
    maker = QueryExpander(None, config=replace(index.ollama, transform_timeout=0.3))
    variants, notices = maker.make("how is it done", ["multi-query", "step-back", "hyde"])
    assert notices[0].startswith("multi-query: ") and not variants
    late = "no time was left (ollama.transform_timeout)"
    assert notices[1:] == [f"searched without {name}: {late}" for name in ("step-back", "hyde")]


@rows("names, takes", (["hyde"], "it takes"), (["hyde", "x"], "they take"))
def test_without_a_model_the_next_command_is_named(names, takes):
    names = [name.replace("x", "step-back") for name in names]
    _, [notice] = QueryExpander(None, config=OllamaConfig(enabled=False)).make("words", names)
    assert notice == (
        f"searched without {', '.join(names)}: {takes} a chat model, and Ollama is switched off"
        " (ollama.enabled). See `rag doctor`."
    )


# -- pipelines -------------------------------------------------------------------------------


def test_the_pipeline_serialises(index, server):
    server.api.answer = by_query({"undo a release": ["rolling back a deploy"]})
    opened = open_pipeline(create_search_pipeline, index, transforms=["multi-query"])
    with opened as pipeline, loaded(pipeline.dumps()) as again:
        assert search(again, "undo a release") == search(pipeline, "undo a release")


def test_configured_transforms_are_those_of_the_command(index):
    search_with = replace(index.search, transforms=["hyde"])
    ask_with = replace(index.ask, transforms=["decompose"])
    config = replace(index, search=search_with, ask=ask_with)
    with get_document_store(index) as store:
        for made, wanted in (
            (create_search_pipeline(store, config), ["hyde"]),
            (create_qa_pipeline(store, config), ["decompose"]),
        ):
            with closing(made):
                assert made.get_component("expander").transforms == wanted
        with closing(create_search_pipeline(store, config, transforms=[])) as plain:
            assert "expander" not in plain.graph


def test_a_wrong_name_in_the_settings_is_an_error_that_names_the_setting(index):
    wrong = replace(
        index,
        search=replace(index.search, transforms=["hide"]),
        ask=replace(index.ask, transforms=["stepbak"]),
    )
    with get_document_store(index) as store:
        with pytest.raises(ConfigError, match=r"^search.transforms: no transform is named 'hide'"):
            create_search_pipeline(store, wrong)
        with pytest.raises(ConfigError, match=r"^ask.transforms: no transform is named 'stepbak'"):
            create_qa_pipeline(store, wrong)
        with closing(create_qa_pipeline(store, wrong, transforms=[])) as pipeline:
            assert "expander" not in pipeline.graph


def test_a_question_of_filters_alone_is_not_transformed(index, server):
    before = len(server.requests("/api/chat"))
    with open_pipeline(create_qa_pipeline, index, transforms=["multi-query"]) as pipeline:
        for name in ("prompt_builder", "chat_generator", "answer_checker"):
            pipeline.remove_component(name)
        answer = ask(pipeline, "tag:ops")
    assert answer.variants == [] and not any("multi-query" in n for n in answer.notices)
    assert len(server.requests("/api/chat")) == before
