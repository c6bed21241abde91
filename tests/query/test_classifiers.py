"""The classifiers, row by row of their reference."""

import copy
import math
from typing import Any

import pytest
from haystack import Pipeline

from event_loop import in_a_loop
from rag.query import CallbackClassifier, EmbeddingClassifier, KeywordClassifier, QueryBundle
from tables import rows

RULES = {"code": ["def", "Class"], "ops": ["deploy", "class"], "ja": ["証明書", "ＴＬＳ"]}
CENTROIDS = {"left": [1.0, 0.0], "up": [0.0, 1.0]}


def by_length(query: QueryBundle) -> str:
    return "long" if len(query.query_str) > 10 else "short"


def nearness(first: list[float], second: list[float]) -> float:
    return -math.dist(first, second)


def ask(text: str, vector: list[float] | None = None) -> QueryBundle:
    return QueryBundle(query_str=text, embedding=vector)


class TestKeywords:
    @rows(
        "query, label",
        ("how to DEPLOY it", "ops"),
        ("a classical def", "code"),  # a keyword may be part of a word
        ("class", "code"),  # the first rule wins, in the order of insertion
        ("deploy a class", "code"),  # … of the rules, not of the words in the query
        ("証明書の更新", "ja"),
        ("tls", "ja"),  # width does not count either
        ("nothing of it", "other"),
        ("", "other"),
    )
    def test_the_first_rule_with_a_keyword_in_the_query_wins(self, query, label):
        assert KeywordClassifier(RULES, default="other").classify(ask(query)) == label

    @rows("query, label", ("Class", "code"), ("class", "ops"), ("CLASS", "other"))
    def test_case_counts_if_wished(self, query, label):
        classifier = KeywordClassifier(RULES, "other", case_sensitive=True)
        assert classifier.classify(ask(query)) == label


class TestCallback:
    def test_the_label_is_the_callbacks(self):
        assert CallbackClassifier(by_length).classify(ask("x")) == "short"

    def test_what_is_no_function_is_refused(self):
        with pytest.raises(TypeError, match="classify_fn must be callable"):
            CallbackClassifier("short")  # type: ignore[arg-type]


class TestEmbedding:
    def test_the_nearest_centroid_is_found_by_the_cosine(self):
        classifier = EmbeddingClassifier(CENTROIDS)
        assert classifier.classify(ask("x", [0.9, 0.1])) == "left"
        assert classifier.classify(ask("x", [30.0, 31.0])) == "up"

    def test_a_function_of_ones_own_says_what_is_near_and_more_is_nearer(self):
        centroids = {"near": [1.0, 1.0], "far": [9.0, 9.0]}
        query = ask("x", [8.0, 7.0])
        assert EmbeddingClassifier(centroids, distance_fn=nearness).classify(query) == "far"

    def test_a_query_without_an_embedding_is_a_value_error(self):
        with pytest.raises(ValueError, match="embedding"):
            EmbeddingClassifier(CENTROIDS).classify(ask("x"))

    def test_an_embedding_of_another_model_is_a_value_error(self):
        with pytest.raises(ValueError, match="3 and 2 dimensions"):
            EmbeddingClassifier(CENTROIDS).classify(ask("x", [1.0, 2.0, 3.0]))

    def test_no_centroid_is_a_value_error(self):
        with pytest.raises(ValueError, match="at least one centroid"):
            EmbeddingClassifier({})


ALL: dict[str, tuple[Any, QueryBundle]] = {
    "keyword": (KeywordClassifier(RULES, "other", case_sensitive=True), ask("Class")),
    "callback": (CallbackClassifier(by_length), ask("long enough for it")),
    "embedding": (EmbeddingClassifier(CENTROIDS), ask("x", [0.0, 2.0])),
    "distance": (EmbeddingClassifier(CENTROIDS, distance_fn=nearness), ask("x", [0.0, 2.0])),
}


@pytest.mark.parametrize(("classifier", "query"), ALL.values(), ids=ALL)
class TestComponents:
    def test_run_gives_the_label(self, classifier, query):
        label = classifier.classify(query)
        assert classifier.run(query) == {"label": label}
        assert in_a_loop(classifier, query=query) == {"label": label}

    def test_in_a_pipeline_and_in_its_yaml(self, classifier, query):
        pipeline = Pipeline()
        pipeline.add_component("kind", copy.copy(classifier))
        again = Pipeline.loads(pipeline.dumps(), allowed_modules=["rag", __name__])
        assert again.to_dict() == pipeline.to_dict()
        made = again.run({"kind": {"query": query}})
        assert made["kind"]["label"] == classifier.classify(query)
