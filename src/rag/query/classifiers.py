"""Query classifiers: what kind of query is this, so that it can go its own way.

Each is a Haystack component too: `run(query)` gives the `label`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable

from haystack import component

from rag.query.models import QueryBundle, as_bundle
from rag.query.serialization import QueryComponent, check_callable
from rag.text.tokenizer import normalize


class _Classifier(QueryComponent):
    @abstractmethod
    def classify(self, query: QueryBundle) -> str:
        """Return the query's label."""

    @component.output_types(label=str)
    def run(self, query: QueryBundle | str) -> dict[str, str]:
        """Return the query's `label`."""
        return {"label": self.classify(as_bundle(query))}


@component
class KeywordClassifier(_Classifier):
    """Label a query by what it contains; the first rule with a keyword in it wins. A keyword may be
    part of a word, as it must in Japanese. Unless case counts, width does not count
    either.

    :param rules: keywords by label, in order.
    :raises ValueError: for an empty keyword; `TypeError`: for a text in the place of a list.
    """

    def __init__(
        self, rules: dict[str, list[str]], default: str, case_sensitive: bool = False
    ) -> None:
        if any(isinstance(keywords, str) for keywords in rules.values()):
            raise TypeError("the keywords of a rule must be a list, not one text")
        self.rules, self.default, self.case_sensitive = rules, default, case_sensitive
        self._wanted = {label: [*map(self._normalized, words)] for label, words in rules.items()}
        if any("" in keywords for keywords in self._wanted.values()):
            raise ValueError("a keyword is empty")

    def classify(self, query: QueryBundle) -> str:
        """Return the label of the first rule with a keyword in the query, else the default."""
        text = self._normalized(query.query_str)
        for label, keywords in self._wanted.items():
            if any(keyword in text for keyword in keywords):
                return label
        return self.default

    def _normalized(self, text: str) -> str:
        return text if self.case_sensitive else normalize(text)


@component
class CallbackClassifier(_Classifier):
    """Label a query by a function of your own, which is given the query."""

    _callables = ("classify_fn",)

    def __init__(self, classify_fn: Callable[[QueryBundle], str]) -> None:
        check_callable(classify_fn, "classify_fn")
        self._classify_fn = classify_fn

    def classify(self, query: QueryBundle) -> str:
        """Return the label from the callback."""
        return self._classify_fn(query)


def cosine_similarity(first: list[float], second: list[float]) -> float:
    """Return the cosine of the angle between two vectors; 0 when one of them is zero.

    :raises ValueError: when their lengths differ.
    """
    if len(first) != len(second):
        raise ValueError(f"vectors of {len(first)} and {len(second)} dimensions cannot be compared")
    product = sum(a * b for a, b in zip(first, second, strict=True))
    norms = math.hypot(*first) * math.hypot(*second)
    return product / norms if norms else 0.0


@component
class EmbeddingClassifier(_Classifier):
    """Label a query by the centroid (a vector by label) its embedding is nearest to.

    :param distance_fn: how near two vectors are, more being nearer; without it their cosine.
    :raises ValueError: when there are no centroids.
    """

    _callables = ("distance_fn",)

    def __init__(
        self,
        centroids: dict[str, list[float]],
        distance_fn: Callable[[list[float], list[float]], float] | None = None,
    ) -> None:
        if not centroids:
            raise ValueError("EmbeddingClassifier needs at least one centroid")
        self.centroids, self._distance_fn = centroids, distance_fn

    def classify(self, query: QueryBundle) -> str:
        """Return the label of the nearest centroid, of equal ones the first.

        :raises ValueError: when the query has no embedding, or one of another length.
        """
        if query.embedding is None:
            raise ValueError("EmbeddingClassifier needs a query with an embedding")
        vector, near = query.embedding, self._distance_fn or cosine_similarity
        return max(self.centroids, key=lambda label: near(vector, self.centroids[label]))
