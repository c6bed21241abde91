"""Documents that tests of both stores filter."""

from haystack.dataclasses import Document

# Field by field, every kind of value. A field that is left out is missing.
DOCUMENTS = [
    Document(
        id="full",
        content="first",
        meta={
            "vault": "work",
            "n": 1,
            "b": True,
            "created": "2025-03-14",
            "tags": ["a", "b"],
            "counts": [1, 5],
            "person": {"name": "Ann", "active": False},
            "date created": "2025-01-01",
        },
    ),
    Document(
        id="other",
        content="second",
        meta={
            "vault": "home",
            "n": 2,
            "b": False,
            "created": "2025-03-15T09:30:00",
            "tags": ["b"],
            "counts": [3],
            "person": {"name": "Bo", "active": True},
        },
    ),
    Document(
        id="decimal",
        content="第三",
        meta={
            "vault": "日記",
            "n": 2.5,
            "created": "2024-12-31",
            "tags": ["c", "a"],
            "b": True,
            "big": 2**53 + 1,
        },
    ),
    Document(
        id="negative", content="", meta={"vault": "", "n": -3, "created": "2026-01-01T00:00:01"}
    ),
    Document(id="nulls", meta=dict.fromkeys(("vault", "n", "b", "created", "tags", "counts"))),
    Document(id="empty-lists", content="first", meta={"vault": "work", "tags": [], "counts": []}),
    Document(id="missing", content="last"),
]
