"""Haystack's filters on either engine, against plain Python."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.stores import QdrantEdgeDocumentStore
from rag.stores.base.points import FILTERED
from store_documents import DOCUMENTS
from tables import rows

IDS = {document.id for document in DOCUMENTS}
# Enough to make the engine write a segment as it does for readers, where indexes are others.
_WIDE = SparseEmbedding([*range(40_000)], [1.0] * 40_000)
BALLAST = [Document(id=f"ballast {n}", sparse_embedding=_WIDE) for n in range(6)]


@pytest.fixture(scope="module", params=["embedded", "published", "server"])
def store(request, tmp_path_factory, open_store) -> Iterator[QdrantEdgeDocumentStore]:
    path = tmp_path_factory.mktemp("filters") / "index"
    if request.param == "published":
        with pytest.MonkeyPatch.context() as patch, open_store("embedded", path) as store:
            patch.setattr("rag.stores.edge.document_store.INDEXED_FROM", 1)
            store.write_documents(DOCUMENTS + BALLAST)
            store.publish()
        settings = "".join(file.read_text() for file in path.rglob("config.json"))
        assert '"immutable"' in settings and all(field in settings for field in FILTERED)
    with open_store(request.param.replace("published", "embedded"), path) as store:
        if request.param != "published":
            store.write_documents(DOCUMENTS)
        yield store


def comparison(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


def ids(store: QdrantEdgeDocumentStore, filters: dict[str, Any] | None) -> set[str]:
    found = {document.id for document in store.filter_documents(filters)}
    return {document for document in found if not document.startswith("ballast")}


# -- properties ------------------------------------------------------------------------

WORDS = st.sampled_from(["work", "home", "日記", "", "nowhere", "Ann", "first"])
NUMBERS = st.sampled_from([-3, 0, 1, 2, 2.0, 2.5, 3, 5, 1e9, 2**60])
# Two spellings of one moment are equal to Haystack and not here, so none of these is one.
MOMENTS = st.sampled_from(
    ["2025-03-14", "2025-03-15T09:30:00", "2024-12-31", "2026-01-01T00:00:01", "1999-01-01"]
)
SCALARS = {
    "meta.vault": WORDS,
    "vault": WORDS,
    "content": WORDS,
    "id": st.sampled_from(sorted(IDS)),
    "meta.person.name": WORDS,
    "meta.nowhere": WORDS,
    "meta.n": NUMBERS,
    "meta.created": MOMENTS,
}
ORDERED = ("meta.n", "meta.created", "meta.counts")


@st.composite
def comparisons(draw: st.DrawFn, fields: dict[str, st.SearchStrategy[Any]]) -> dict[str, Any]:
    field = draw(st.sampled_from(sorted(fields)))
    values = fields[field] | st.none()
    operators = ["==", "!=", "in", "not in"]
    operator = draw(st.sampled_from(operators + [">", ">=", "<", "<="] * (field in ORDERED)))
    if operator in ("in", "not in"):
        return comparison(field, operator, draw(st.lists(values, max_size=3)))
    return comparison(field, operator, draw(values))


def nested(leaves: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Filters of at most three levels of AND, OR and NOT."""
    filters = leaves
    for _ in range(3):
        groups = st.fixed_dictionaries(
            {
                "operator": st.sampled_from(["AND", "OR", "NOT"]),
                "conditions": st.lists(filters, max_size=3),
            }
        )
        filters = leaves | groups
    return filters


@settings(max_examples=examples(250))
@given(filters=nested(comparisons(SCALARS)))
def test_a_filter_over_single_values_selects_what_haystack_says(store, filters):
    documents = [d for d in DOCUMENTS if document_matches_filter(filters, d)]
    assert ids(store, filters) == {d.id for d in documents}


# -- each operator, by example ---------------------------------------------------------


SELECTED = [
    ("meta.vault", "==", "work", "full empty-lists"),
    ("meta.vault", "==", "日記", "decimal"),
    ("meta.vault", "==", "", "negative"),
    ("meta.vault", "==", "wor", ""),
    ("meta.n", "==", 2, "other"),
    ("meta.n", "==", 2.0, "other"),
    ("meta.n", "==", 2.5, "decimal"),
    ("meta.big", "==", 2**53 + 1, "decimal"),
    ("meta.big", "==", 2**53, ""),
    ("meta.created", "==", "2025-03-14", "full"),
    ("meta.tags", "==", "a", "full decimal"),
    ("meta.tags", "==", None, "nulls empty-lists missing negative"),
    ("meta.n", "!=", 2, "full decimal negative nulls empty-lists missing"),
    ("meta.vault", "!=", None, "full other decimal negative empty-lists"),
    ("meta.n", ">", 2, "decimal"),
    ("meta.n", ">=", 2, "other decimal"),
    ("meta.n", "<", 1, "negative"),
    ("meta.n", "<=", 1.0, "full negative"),
    ("meta.n", ">", None, ""),
    ("meta.created", ">", "2025-03-14", "other negative"),
    ("meta.created", ">=", "2025-03-14", "full other negative"),
    ("meta.created", "<", "2025-03-15T09:30:00", "full decimal"),
    ("meta.created", "<=", datetime(2025, 3, 15, 9, 30), "full other decimal"),
    ("meta.created", ">=", "20250314", "full other negative"),
    ("meta.created", "<=", None, ""),
    ("meta.counts", ">", 4, "full"),
    ("meta.vault", "in", ["work", "home"], "full other empty-lists"),
    ("meta.vault", "in", ["home", None], "other nulls missing"),
    ("meta.n", "in", [1, 2.5, "work"], "full decimal"),
    ("meta.tags", "in", ["c", "b"], "full other decimal"),
    ("meta.vault", "in", [], ""),
    ("meta.vault", "not in", ["work", "home", ""], "decimal nulls missing"),
    ("meta.vault", "not in", [], "full other decimal negative nulls empty-lists missing"),
    ("vault", "==", "home", "other"),
    ("content", "==", "first", "full empty-lists"),
    ("id", "in", ["full", "missing"], "full missing"),
    ("meta.date created", "==", "2025-01-01", "full"),
    ("meta.date created", ">", "2024-01-01", "full"),
    ("meta.tags[0]", "==", "a", "full"),
]


def test_an_operator_selects(store, subtests):
    for field, operator, value, expected in SELECTED:
        with subtests.test(field=field, operator=operator, value=value):
            assert ids(store, comparison(field, operator, value)) == set(expected.split())
    assert ids(store, None) == ids(store, {}) == IDS


@rows(
    "filters, here, haystack",
    # A list field matches by its members, as in Qdrant.
    (comparison("meta.tags", "==", "b"), "full other", ""),
    (comparison("meta.tags", "in", ["c"]), "decimal", ""),
    # An empty list is nothing, and nothing is an empty list.
    (
        comparison("meta.tags", "==", None),
        "negative nulls empty-lists missing",
        "negative nulls missing",
    ),
    # Equality of dates is of their text; ranges compare moments.
    (comparison("meta.created", "==", "2025-03-14T00:00:00"), "", "full"),
    # A date without a zone is in UTC; Haystack takes the other one's zone.
    (comparison("meta.created", "<=", "2025-03-14T00:00:00+09:00"), "decimal", "decimal full"),
)
def test_where_it_differs_from_haystack_on_purpose(store, filters, here, haystack):
    assert ids(store, filters) == set(here.split())
    documents = [d for d in DOCUMENTS if document_matches_filter(filters, d)]
    assert {d.id for d in documents} == set(haystack.split())


def deep(levels: int) -> dict[str, Any]:
    filters = comparison("meta.n", "==", 1)
    for _ in range(levels):
        filters = {"operator": "NOT", "conditions": [filters]}
    return filters


TOO_DEEP = deep(5000)


MALFORMED: list[Any] = [
    "a filter",
    ["a"],
    {"a": 1},
    {"operator": "AND"},
    {"operator": "AND", "conditions": {}},
    {"operator": "AND", "conditions": ["meta.n"]},
    {"operator": "XOR", "conditions": []},
    {"operator": ["AND"], "conditions": []},
    {"conditions": []},
    {"field": "meta.n", "operator": "=="},
    {"field": "meta.n", "value": 1},
    {"operator": "AND", "conditions": [{"field": "meta.n", "value": 1}]},
    comparison("meta.n", "=", 1),
    comparison("meta.n", "AND", 1),
    comparison("meta.n", None, 1),
    comparison("meta.n", ["=="], 1),
    comparison(5, "==", 1),  # type: ignore[arg-type]
    comparison("", "==", 1),
    comparison("meta.", "==", 1),
    comparison("meta.a..b", "==", 1),
    comparison('meta."', "==", 1),
    comparison("meta.\ud800", "==", 1),
    comparison("meta.n", "==", {"a": 1}),
    comparison("meta.n", "==", {1}),
    comparison("meta.tags", "==", ["a"]),
    comparison("meta.n", ">", float("inf")),
    comparison("meta.n", "==", "\ud800"),
    comparison("meta.n", "==", 2**64),
    comparison("meta.n", ">", "tomorrow"),
    comparison("meta.n", ">", ""),
    comparison("meta.n", ">", [1]),
    comparison("meta.n", ">", True),
    comparison("meta.b", "==", True),
    comparison("meta.b", "in", [False]),
    comparison("meta.n", ">", {}),
    comparison("meta.n", ">", 10**400),
    comparison("meta.n", "in", "a"),
    comparison("meta.n", "in", 1),
    comparison("meta.n", "in", None),
    comparison("meta.n", "not in", ("a",)),
    comparison("meta.n", "in", [{}]),
    TOO_DEEP,
]


def test_a_malformed_filter_is_a_filter_error(store, subtests):
    for number, malformed in enumerate(MALFORMED):
        with subtests.test(number=number), pytest.raises(FilterError):
            store.filter_documents(malformed)
