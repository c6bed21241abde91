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


def test_a_note_of_any_of_the_vaults_is_found(found_by):
    assert found_by(vaults=["home", "日誌"]) == ["projects/home.md", "春/桜.md"]


def test_a_note_needs_all_the_tags(found_by):
    assert found_by(tags=["urgent"]) == ["first.md", "projects/deep/after.md"]
    assert found_by(tags=["urgent", "project/alpha"]) == ["first.md"]


def test_a_nested_tag_is_found_by_its_parent(found_by):
    assert found_by(tags=["project"]) == ["first.md", "projects/late.md"]


def test_a_parent_is_not_found_by_a_tag_below_it(found_by):
    assert found_by(tags=["project/alpha/one"]) == []


@rows("tag", "API", "api", "ＡＰＩ", "#api")
def test_tags_match_in_any_case_and_width(found_by, tag):
    assert found_by(tags=[tag]) == ["春/桜.md"]


def test_a_note_created_on_the_last_day_before_midnight_is_found(found_by):
    found = found_by(date_from=date(2025, 3, 31), date_to=date(2025, 3, 31))
    assert found == ["projects/late.md"]


def test_a_note_of_the_first_day_is_found_and_one_of_the_day_after_the_last_is_not(found_by):
    found = found_by(date_from=date(2025, 3, 1), date_to=date(2025, 3, 31))
    assert found == ["first.md", "projects/late.md", "春/桜.md"]


@rows(
    "glob, expected",
    ("projects/*.md", ["projects/home.md", "projects/late.md"]),
    ("projects/**", ["projects/deep/after.md", "projects/home.md", "projects/late.md"]),
    ("work/projects/**", ["projects/deep/after.md", "projects/late.md"]),
    ("late.md", ["projects/late.md"]),
    ("*.md", ALL),
    ("春/**", ["春/桜.md"]),
    ("nothing/**", []),
)
def test_path_globs_match_paths_with_and_without_the_vault(found_by, glob, expected):
    assert found_by(paths=[glob]) == expected


def test_a_glob_typed_in_another_unicode_form_matches(searching):
    filters = QueryFilters(paths=[normalize("NFD", "ガイド/*.md")])
    find = searching({"v": {normalize("NFC", "ガイド/入門.md"): "banana"}})
    assert find("banana", filters).total == 1


def test_a_glob_that_is_none_is_a_query_error(found_by):
    with pytest.raises(QueryError, match="not a path pattern"):
        found_by(paths=["notes\\"])


def test_globs_and_other_filters_must_both_hold(found_by):
    assert found_by(paths=["projects/**"], vaults=["home"]) == ["projects/home.md"]
    assert found_by(paths=["projects/**"], tags=["urgent"]) == ["projects/deep/after.md"]
