"""Filters: what `QueryFilters` become, and what they let through in a real index."""

from datetime import date
from unicodedata import normalize

import pytest

from rag.exceptions import QueryError
from rag.pipelines import QueryFilters, build_qdrant_filters
from tables import rows


class TestBuildQdrantFilters:
    def test_the_last_day_counts_to_its_end(self):
        found = build_qdrant_filters(QueryFilters(date_to=date(2025, 3, 1)))
        assert (found["operator"], found["value"]) == ("<=", "2025-03-01T23:59:59.999999")


@pytest.fixture(scope="module")
def found_by(searching):
    """Search for the word that every note holds; return the notes' paths, sorted."""

    def note(created: str, tags: str = "") -> str:
        return f"---\ncreated: {created}\ntags: [{tags}]\n---\nbanana\n"

    find = searching(
        {
            "work": {
                "first.md": note("2025-03-01", "project/alpha, urgent"),
                "projects/late.md": note("2025-03-31T23:59:30", "project/beta"),
                "projects/deep/after.md": note("2025-04-01", "Urgent"),
            },
            "home": {"projects/home.md": note("2024-12-31", "レシピ")},
            "日誌": {"春/桜.md": note("2025-03-15", "花見, API")},
        },
        top_k=20,
    )
    return lambda **filters: sorted(
        result.file_path for result in find("banana", QueryFilters(**filters)).results
    )


ALL = ["first.md", "projects/deep/after.md", "projects/home.md", "projects/late.md", "春/桜.md"]


LATE = ["projects/late.md"]


@rows(
    "filters, expected",
    ({"vaults": ["home", "日誌"]}, ["projects/home.md", "春/桜.md"]),
    ({"tags": ["urgent"]}, ["first.md", "projects/deep/after.md"]),
    ({"tags": ["urgent", "project/alpha"]}, ["first.md"]),
    ({"tags": ["project"]}, ["first.md", *LATE]),  # the parent of both
    ({"tags": ["project/alpha/one"]}, []),  # no parent is found by what is below it
    *(({"tags": [tag]}, ["春/桜.md"]) for tag in ("API", "api", "ＡＰＩ", "#api")),
    ({"date_from": date(2025, 3, 31), "date_to": date(2025, 3, 31)}, LATE),  # before midnight
    (
        {"date_from": date(2025, 3, 1), "date_to": date(2025, 3, 31)},
        ["first.md", *LATE, "春/桜.md"],
    ),
    ({"paths": ["projects/*.md"]}, ["projects/home.md", *LATE]),
    ({"paths": ["projects/**"]}, ["projects/deep/after.md", "projects/home.md", *LATE]),
    ({"paths": ["work/projects/**"]}, ["projects/deep/after.md", *LATE]),
    ({"paths": ["late.md"]}, LATE),
    ({"paths": ["*.md"]}, ALL),
    ({"paths": ["春/**"]}, ["春/桜.md"]),
    ({"paths": ["nothing/**"]}, []),
    ({"paths": ["projects/**"], "vaults": ["home"]}, ["projects/home.md"]),
    ({"paths": ["projects/**"], "tags": ["urgent"]}, ["projects/deep/after.md"]),
)
def test_a_note_that_meets_every_filter_is_found(found_by, filters, expected):
    assert found_by(**filters) == expected


def test_a_glob_typed_in_another_unicode_form_matches(searching):
    filters = QueryFilters(paths=[normalize("NFD", "ガイド/*.md")])
    find = searching({"v": {normalize("NFC", "ガイド/入門.md"): "banana"}})
    assert find("banana", filters).total == 1


def test_a_glob_that_is_none_is_a_query_error(found_by):
    with pytest.raises(QueryError, match="not a path pattern"):
        found_by(paths=["notes\\"])
