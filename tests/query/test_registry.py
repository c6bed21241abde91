"""Transformers and classifiers by name."""

import json
from collections.abc import Callable

import pytest
from haystack.components.generators.chat import MockChatGenerator

from rag.exceptions import RAGError, UsageError
from rag.query import QueryBundle, QueryClassifier, QueryTransformer
from rag.query.registry import (
    classifier_names,
    create_classifier,
    create_transformer,
    transformer_name,
    transformer_names,
)
from tables import rows

Install = Callable[..., None]
BUILT_IN = ["decompose", "hyde", "multi-query", "step-back"]
MINE = """
class Mine:
    def __init__(self, generator):
        self.generator = generator
    def transform(self, query):
        return [query]
    def classify(self, query):
        return "mine"
"""


@rows(
    "written, name",
    *((name, name) for name in BUILT_IN),
    ("multi_query", "multi-query"),
    ("multiquery", "multi-query"),
    ("decomposition", "decompose"),
    ("stepback", "step-back"),
    ("step_back", "step-back"),
    ("HyDE", "hyde"),
)
def test_names_are_taken_in_any_spelling(written, name):
    assert transformer_name(written) == name
    made = create_transformer(written, MockChatGenerator('{"queries": ["x"]}'))
    assert type(made) is type(create_transformer(name, MockChatGenerator()))


@rows(
    "name, reply, queries",
    ("hyde", {"document": "Pods are small."}, ["Pods are small."]),
    ("multi-query", {"queries": ["pod", "unit"]}, ["What is a Pod?", "pod", "unit"]),
    ("decompose", {"questions": ["one", "two"]}, ["one", "two"]),
    ("step-back", {"question": "Kubernetes"}, ["What is a Pod?", "Kubernetes"]),
)
def test_a_built_in_one_asks_the_generator(name, reply, queries):
    made = create_transformer(name, MockChatGenerator(json.dumps(reply)))
    assert isinstance(made, QueryTransformer)
    found = made.transform(QueryBundle(query_str="What is a Pod?"))
    assert [query.query_str for query in found] == queries


def test_an_unknown_name_is_a_usage_error_with_the_nearest_names():
    with pytest.raises(UsageError, match="no transform is named 'multy'") as caught:
        create_transformer("multy", None)
    assert caught.value.hint.startswith("Did you mean multi-query?")
    with pytest.raises(UsageError) as caught:
        create_transformer("zzz", None)
    assert caught.value.hint == f"There are {', '.join(BUILT_IN)}."


class TestPlugIns:
    def test_a_transformer_is_given_the_generator_or_none(self, install):
        install("fancy", {"rag.transformers": {"mine": "mine:Mine"}}, mine=MINE)
        generator = MockChatGenerator()
        assert create_transformer("Mine", generator).generator is generator  # type: ignore[attr-defined]
        assert create_transformer("mine").generator is None  # type: ignore[attr-defined]

    def test_none_can_take_a_built_in_name(self, install):
        taken = dict.fromkeys(("hyde", "Multi_Query", "stepback"), "mine:Mine")
        install("fancy", {"rag.transformers": taken}, mine=MINE)
        assert transformer_names() == BUILT_IN
        assert type(create_transformer("hyde", MockChatGenerator())).__name__ == "HyDETransformer"

    def test_a_classifier(self, install):
        install("fancy", {"rag.classifiers": {"mine": "mine:Mine"}}, mine=MINE)
        assert classifier_names() == ["mine"]
        made = create_classifier("MINE")
        assert isinstance(made, QueryClassifier)
        assert made.classify(QueryBundle(query_str="x")) == "mine"

    def test_what_is_no_classifier_is_refused(self, install):
        install("fancy", {"rag.classifiers": {"mine": "mine:make"}}, mine="make = str")
        with pytest.raises(RAGError, match=r"made a str, which has no classify\(query\)"):
            create_classifier("mine")
        with pytest.raises(UsageError, match="no classifier is named 'mime'") as caught:
            create_classifier("mime")
        assert caught.value.hint.startswith("Did you mean mine?")
