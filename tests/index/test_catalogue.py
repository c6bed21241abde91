"""The catalogue of an index says the same as one that is given everything."""

import pytest

from rag.config import RAGConfig
from rag.index.lookup import open_manifest
from rag.query.planner.names import Catalogue, StaticCatalogue

NOTES = {
    "a.md": "---\ntags: [Kubernetes, ops/backup]\naliases: [K8s]\nstatus: Open\n---\n# Clusters\n",
    "b.md": "---\ntags: kubernetes\nstatus: Open\nauthor: [Ken, Mika]\n---\n# Pods\n",
    "日記.md": "---\nstatus: done\n---\n# 今日のこと\n\n#日記 を書く。\n",
}


@pytest.fixture(scope="module")
def known(build_index) -> RAGConfig:
    return build_index({"work": NOTES, "home": {"c.md": "Bread"}})


@pytest.fixture
def catalogue(known):
    with open_manifest(known) as manifest:
        yield manifest.catalogue


@pytest.fixture
def given() -> StaticCatalogue:
    notes = [["kubernetes", "ops/backup", "ops"], ["kubernetes"], ["日記"]]
    return StaticCatalogue(
        vaults=["home", "work"],
        titles=["Clusters", "Pods", "今日のこと", "c"],
        aliases={"a": "Clusters", "b": "Pods", "日記": "今日のこと", "K8s": "Clusters"},
        fields={"author": ["Ken", "Mika"], "status": ["Open", "done"]},
        notes=notes,
    )


def test_it_is_a_catalogue(catalogue):
    assert isinstance(catalogue, Catalogue)


@pytest.mark.parametrize("what", ["vaults", "tags", "titles", "fields"])
def test_it_lists_what_there_is(catalogue, given, what):
    assert sorted(getattr(catalogue, what)()) == sorted(getattr(given, what)())


@pytest.mark.parametrize("tag", ["kubernetes", "ops", "ops/backup", "日記", "Kubernetes", "none"])
def test_it_knows_tags_and_their_neighbours(catalogue, given, tag):
    assert catalogue.has_tag(tag) == given.has_tag(tag)
    assert catalogue.neighbours(tag) == given.neighbours(tag)


@pytest.mark.parametrize("name", ["clusters", "k8s", "A", "ｐｏｄｓ", "日記", "nothing"])
def test_it_finds_titles_by_any_name(catalogue, given, name):
    assert catalogue.titled(name) == given.titled(name)


@pytest.mark.parametrize("field", ["author", "status", "tags", "none"])
def test_it_knows_what_fields_hold(catalogue, given, field):
    assert sorted(catalogue.values(field)) == sorted(given.values(field))
    assert catalogue.values("status")[0] == "Open"  # the most frequent


def test_its_digest_changes_with_the_index_and_only_then(config, refresh, write_notes):
    def digest() -> str:
        with open_manifest(config) as manifest:
            return manifest.catalogue.digest()

    folder = write_notes("work", {"a.md": "One #tag"})
    refresh(work=folder)
    before = digest()
    assert digest() == before
    (folder / "b.md").write_text("Another #tag")
    refresh(work=folder)
    assert digest() != before
