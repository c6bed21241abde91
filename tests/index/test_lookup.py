"""Finding a note by what people call it."""

from dataclasses import replace
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.exceptions import IndexUnavailableError, NotFoundError
from rag.index.lookup import find_note, open_manifest
from rag.index.manifest import ChunkKey, Manifest, NoteRow
from tables import rows

NOTES = {
    "work": {
        "runbooks/Rollback.md": "---\ntitle: Rolling back a deploy\naliases: [Undo, 戻す]\n---\n",
        "Glossary.md": "# Glossary\n",
        "同じ.md": "# Twin\n",
    },
    "home": {"Glossary.md": "# Words\n", "カフェ.md": "# Café\n", "twin.md": "# Other\n"},
}
ROLLBACK = ("work", "runbooks/Rollback.md")


@pytest.fixture(scope="module")
def manifest(build_index):
    with open_manifest(build_index(NOTES)) as manifest:
        yield manifest


@pytest.fixture
def find(manifest):
    def run(name: str, vaults: list[str] | None = None) -> tuple[str, str]:
        row = find_note(manifest, name, vaults).row
        return row.vault, row.path

    return run


@rows(
    "name",
    *("runbooks/Rollback.md", "runbooks/Rollback", "work/runbooks/Rollback.md"),
    *("work/runbooks/Rollback", "Rollback", "Rolling back a deploy", "Undo", "戻す"),
)
def test_a_note_answers_to(find, name):
    assert find(name) == ROLLBACK


@rows(
    "name",
    *("ROLLBACK", "rolling BACK a deploy", "ＵＮＤＯ", " undo ", "ＲＵＮＢＯＯＫＳ/rollback.md"),
)
def test_case_and_width_do_not_matter(find, name):
    assert find(name) == ROLLBACK


@rows("digits", 6, 8, 36)
def test_the_beginning_of_its_id_is_enough(find, manifest, digits):
    identity = manifest.note(*ROLLBACK).id
    assert find(identity[:digits]) == ROLLBACK
    assert find(f"#{identity[:digits]}".upper()) == ROLLBACK


def test_a_name_of_two_notes_is_ambiguous_and_lists_both(find):
    with pytest.raises(NotFoundError, match="2 notes") as raised:
        find("glossary")
    assert raised.value.suggestions == ["home/Glossary.md", "work/Glossary.md"]


def test_the_vault_decides_between_them(find):
    assert find("glossary", ["work"]) == ("work", "Glossary.md")
    assert find("home/glossary") == ("home", "Glossary.md")


def test_a_path_goes_before_a_title(find):
    assert find("twin.md") == ("home", "twin.md")


@rows("name", "Rolback", "rolling back", "undoo")
def test_a_near_miss_suggests_the_note(find, name):
    with pytest.raises(NotFoundError) as raised:
        find(name)
    assert "work/runbooks/Rollback.md" in raised.value.suggestions


def test_a_name_that_holds_what_was_typed_is_suggested_and_no_similar_one(find):
    with pytest.raises(NotFoundError) as raised:
        find("gloss")
    assert raised.value.suggestions == ["home/Glossary.md", "work/Glossary.md"]


def test_an_index_of_another_version_says_what_mends_it(config, refresh, write_notes, monkeypatch):
    import rag.index.manifest as module

    refresh(v=write_notes("v", {"a.md": "x"}))
    monkeypatch.setattr(module, "SCHEMA_VERSION", 999)
    with (
        pytest.raises(IndexUnavailableError, match="another version") as raised,
        open_manifest(config),
    ):
        pass
    assert "rag index" in raised.value.hint


class Unnarrowed(Manifest):
    """A manifest of which every name is compared."""

    def names(self, *called):
        return super().names()


PIECES = ("a", "A", "é", "e", "カ", "ｶ", " ", ".", ".md", ".base", "x/", "v.1", "ß", "#")
NAMES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join)


@given(st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=5), NAMES)
def test_what_is_compared_at_first_holds_every_note_that_may_be_meant(notes, name):
    def outcome(kind: type[Manifest]) -> str:
        with kind.empty() as manifest:
            manifest.set_vault("work", "/notes")
            for number, (path, title, alias) in enumerate(notes):
                file, chunk = f"{number % 3}/{path}.md", ChunkKey(str(uuid4()), bytes(16))
                row = NoteRow("work", file, file, 1, 1, False, b"", [chunk], id=f"{number}")
                manifest.commit_write([replace(row, title=title, aliases=[alias])])
            try:
                return find_note(manifest, name).row.path
            except NotFoundError as error:
                return f"{error} {error.suggestions}"

    assert outcome(Manifest) == outcome(Unnarrowed)
