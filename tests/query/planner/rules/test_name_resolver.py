"""From words to the names of an index."""

from __future__ import annotations

import pytest

from rag.query.planner import fuzzy_match as matching
from rag.query.planner.catalog import StaticCatalogue
from rag.query.planner.rules.name_resolver import Resolver

INDEX = StaticCatalogue(
    vaults=["Work", "home lab", "仕事"],
    tags=[
        *("kubernetes", "machine-learning", "category", "database/postgres", "database/sqlite"),
        *("web/sqlite", "news", "bus", "boss", "python", "pythons-love", "会議録", "障害対応"),
        *("recipe", "recipes", "internationalization", "c++", "deployment", "deployments/blue"),
    ],
    titles=["Deploy checklist", "Postgres"],
    aliases={"Release checklist": "Deploy checklist"},
    fields={"status": ["In Progress", "done"], "Due Date": ["2026-12-01"]},
)
RESOLVER = Resolver(INDEX, {"会社": "仕事", "K8": "kubernetes", "boat": "Ship"})


@pytest.mark.parametrize(
    ("words", "name", "how"),
    [
        ("#Kubernetes", "kubernetes", "exact"),
        ("ＫＵＢＥＲＮＥＴＥＳ", "kubernetes", "exact"),
        ("recipes", "recipes", "exact"),
        ("Machine Learning", "machine-learning", "spelling"),
        ("machinelearning", "machine-learning", "spelling"),
        ("categories", "category", "spelling"),
        ("pythons", "python", "spelling"),
        ("k8", "kubernetes", "alias"),
        ("k8s", "kubernetes", "number"),
        ("i18n", "internationalization", "number"),
        ("postgres", "database/postgres", "nested"),
        ("kuberntes", "kubernetes", "alike"),
        ("会議録画", "会議録", "alike"),
    ],
)
def test_a_tag_is_found_by_what_people_write_for_it(words: str, name: str, how: str) -> None:
    assert RESOLVER.tag(words) == (name, how)


@pytest.mark.parametrize(
    "words", ["", "#", "/", "sqlite", "bu", "kube", "k9s", "boat", "cooking", "会社", "\ud800"]
)
def test_words_that_leave_a_doubt_name_no_tag(words: str) -> None:
    assert RESOLVER.tag(words) is None


def test_of_two_names_that_are_nearly_as_like_none_is_meant() -> None:
    resolver = Resolver(StaticCatalogue(tags=["observable", "observably"]))
    assert resolver.tag("observabll") is None


def test_a_slip_is_forgiven_only_where_one_may_be() -> None:
    assert RESOLVER.tag("kuberntes", alike=False) is None
    assert RESOLVER.vault("home leb", alike=False) is None
    assert RESOLVER.value("status", "in progres", alike=False) is None
    assert RESOLVER.title("Deploy cheklist") is None


@pytest.mark.parametrize(
    ("words", "name", "how"),
    [
        ("work", "Work", "exact"),
        ("会社", "仕事", "alias"),
        ("Home-Lab", "home lab", "spelling"),
        ("home leb", "home lab", "alike"),
    ],
)
def test_a_vault_is_found_too(words: str, name: str, how: str) -> None:
    assert RESOLVER.vault(words) == (name, how)


def test_of_two_vaults_that_differ_in_case_the_one_as_written_is_meant() -> None:
    resolver = Resolver(StaticCatalogue(vaults=["Work", "work"]))
    assert [resolver.vault(words) for words in ("Work", "work", "WORK")] == [
        ("Work", "exact"),
        ("work", "exact"),
        ("Work", "exact"),
    ]


@pytest.mark.parametrize("words", ["release checklist", "DEPLOY checklist", "Deploy cheklist"])
def test_a_note_is_found_by_title_alias_and_with_a_slip(words: str) -> None:
    found = RESOLVER.title(words, alike=True)
    assert found is not None
    assert found.name == "Deploy checklist"


@pytest.mark.parametrize("words", ["in progress", "IN-PROGRESS", "in progres"])
def test_a_value_is_found_as_the_index_writes_it(words: str) -> None:
    found = RESOLVER.value("status", words)
    assert found is not None
    assert found.name == "In Progress"


def test_a_field_is_found_by_its_letters() -> None:
    assert RESOLVER.field("due-date") == ("Due Date", "exact")
    assert RESOLVER.field("owner") is None


def test_names_in_normal_form_need_not_be_worked_out_again() -> None:
    names = ["alpha", "beta", "alphas"]
    plain = matching.best_matches("alpha", names, 2)
    assert matching.best_matches("alpha", names, 2, keyed=True) == plain
    assert plain[0] == ("alpha", 100.0)
