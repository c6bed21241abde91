"""Routes: which vaults, mode and transforms are right for a query."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from index_fixtures import embedded, open_pipeline, paths
from ollama_server import Model, OllamaServer
from qa_pipelines import loaded
from rag.config import RAGConfig, RoutesConfig
from rag.exceptions import ConfigError
from rag.pipelines import SearchResponse, ask, create_qa_pipeline, create_search_pipeline, search
from rag.search.results import QueryFilters
from tables import rows

MODELS = [Model("bge-m3", 64), "llama3.2"]

RULES = {
    "ops": {
        "keywords": ["kubectl", "障害", "pod"],
        "examples": ["restart the pod", "kubectl rollout"],
        "vaults": ["engineer"],
        "mode": "lexical",
    },
    "food": {"keywords": ["recipe"], "examples": ["apple pie recipe"], "transforms": ["step-back"]},
}
VAULTS = {
    "engineer": {"Pods.md": "# Pods\n\nRestart the pod with kubectl rollout. 障害の記録。\n"},
    "home": {"Pie.md": "# Pie\n\nAn apple pie recipe. A pod of peas.\n"},
}


@pytest.fixture(scope="module")
def server() -> Iterator[OllamaServer]:
    with OllamaServer(MODELS) as running:
        yield running


@pytest.fixture(autouse=True)
def quiet(server) -> Iterator[None]:
    yield
    server.heal()
    server.api.queue.clear()


@pytest.fixture(scope="module")
def index(server, build_index) -> RAGConfig:
    return embedded(build_index(VAULTS), server, read_timeout=2.0, query_timeout=2.0)


@pytest.fixture
def find(index) -> Callable[..., SearchResponse]:
    """Search with routes: `find("words", classifier="keyword", rules=…)`."""

    def run(
        query: str,
        filters: QueryFilters | None = None,
        transforms: list[str] | None = None,
        keep_mode: bool = False,
        mode: str = "auto",
        config: RAGConfig = index,
        **routes: Any,
    ) -> SearchResponse:
        routes = {"classifier": "keyword", "rules": RULES, **routes}
        config = replace(config, routes=RoutesConfig(**routes))
        with open_pipeline(create_search_pipeline, config, transforms=transforms) as pipeline:
            return search(pipeline, query, filters, mode=mode, keep_mode=keep_mode)

    return run


@rows("query", "restart a POD", "ｋｕｂｅｃｔｌ pie", "障害 pie")
def test_a_keyword_takes_its_route(find, query):
    response = find(query)
    assert (response.route, response.mode, paths(response)) == ("ops", "lexical", ["Pods.md"])


def test_a_query_without_a_keyword_takes_none(find):
    response = find("apple")
    assert (response.route, response.mode) == ("", "hybrid")
    assert paths(response)[0] == "Pie.md"


def test_a_route_s_transforms_are_those_of_its_queries_only(find, server):
    server.say({"question": "What grows in a garden?"})
    assert [v.transform for v in find("a recipe").variants] == ["step-back"]
    assert find("apple").variants == []


def test_what_the_user_chose_wins(find, server):
    assert find("pod", keep_mode=True, mode="hybrid").mode == "hybrid"
    assert paths(find("pod", QueryFilters(vaults=["home"]))) == ["Pie.md"]
    assert paths(find("pod vault:home")) == ["Pie.md"]
    before = len(server.requests("/api/chat"))
    assert find("a recipe", transforms=[]).variants == []
    assert len(server.requests("/api/chat")) == before
    assert find("a recipe", transforms=[]).route == "food"
    server.say({"queries": ["peas"]})
    [variant] = find("a recipe", transforms=["multi-query"]).variants
    assert variant.transform == "multi-query"


def test_a_route_wins_over_the_configured_defaults(find, index, server):
    server.say({"question": "What grows in a garden?"})
    config = replace(index, search=replace(index.search, transforms=["multi-query"]))
    assert [v.transform for v in find("a recipe", config=config).variants] == ["step-back"]
    server.say({"queries": ["peas"]})
    assert [v.transform for v in find("apple", config=config).variants] == ["multi-query"]


def test_routes_hold_for_ask_too(index):
    config = replace(index, routes=RoutesConfig("keyword", rules=RULES))
    off = replace(config, ollama=replace(index.ollama, chat_model=""))
    with open_pipeline(create_qa_pipeline, off) as pipeline:
        answer = ask(pipeline, "How do I restart the pod?")
    assert answer.route == "ops"
    assert [source.vault for source in answer.sources] == ["engineer"]


# -- by meaning ------------------------------------------------------------------------------


def test_the_nearest_examples_take_the_query(find):
    assert find("restart pod", classifier="embedding").route == "ops"
    assert find("apple pie", classifier="embedding").route == "food"


def test_the_query_is_embedded_once_and_the_examples_once_for_all(find, server):
    find("apple pie", classifier="embedding", transforms=[])
    before = len(server.requests("/api/embed"))
    response = find("apple pies", classifier="embedding", transforms=[])
    assert response.mode == "hybrid"
    [request] = server.requests("/api/embed")[before:]
    assert request.inputs == ["apple pies"]


def test_too_far_from_all_examples_takes_the_default(find):
    assert find("xylophone", classifier="embedding", min_similarity=0.9).route == ""


def test_without_embeddings_it_says_so_once_and_takes_the_default(find, index, server):
    off = replace(index, ollama=replace(index.ollama, enabled=False))
    response = find("apple pie", classifier="embedding", default="food", config=off)
    assert response.route == "food" and paths(response)
    [notice] = [n for n in response.notices if "classified" in n]
    assert "ollama.enabled" in notice
    server.fail("/api/embed", times=None)
    response = find("apple pie", classifier="embedding", default="ops", transforms=[])
    assert response.route == "ops"
    assert sum("classified" in notice for notice in response.notices) == 1


# -- mistakes --------------------------------------------------------------------------------


@rows(
    "routes, named",
    ({"rules": {"a": {"keywords": ["x"], "vaults": ["enginer"]}}}, "enginer"),
    ({"rules": {"a": {"keywords": ["x"], "transforms": ["hide"]}}}, "hide"),
    ({"classifier": "keywrod"}, "keywrod"),
)
def test_what_a_route_names_and_is_not_there_is_an_error_of_the_settings(find, routes, named):
    with pytest.raises(ConfigError, match=named) as raised:
        find("words", **routes)
    assert "Did you mean" in raised.value.hint


def test_a_plug_in_classifies_and_may_fail(find, monkeypatch):
    class Plugin:
        def classify(self, query: Any) -> str:
            return {"a": "ops", "b": "no such"}[query.query_str]

    monkeypatch.setattr("rag.search.components.query_router.classifier_names", lambda: ["mine"])
    monkeypatch.setattr("rag.search.components.query_router.create_classifier", lambda *_: Plugin())
    assert [find(q, classifier="mine").route for q in "ab"] == ["ops", ""]
    response = find("c", classifier="mine")
    assert response.route == "" and any("KeyError" in notice for notice in response.notices)


@rows("classifier", "keyword", "embedding")
def test_a_routed_pipeline_serialises(index, classifier):
    config = replace(index, routes=RoutesConfig(classifier, rules=RULES))
    with (
        open_pipeline(create_search_pipeline, config) as pipeline,
        loaded(pipeline.dumps()) as again,
    ):
        assert search(again, "restart the pod") == search(pipeline, "restart the pod")
