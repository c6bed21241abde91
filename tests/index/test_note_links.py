"""Links between notes: which note each leads to, and which lead to a note."""

from collections.abc import Iterator
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disk_files import write
from rag.config import RAGConfig
from rag.index.catalog import NamedNote, link_key, matching_notes
from rag.index.lookup import open_manifest
from rag.index.manifest import ChunkKey, Manifest, NoteRow
from tables import rows

CHUNK = [ChunkKey("00000000-0000-0000-0000-000000000001", bytes(16))]
LAST = 23  # the line of every link below


@pytest.fixture
def manifest() -> Iterator[Manifest]:
    with Manifest.empty() as manifest:
        yield manifest


def row(path: str, *targets: str, vault: str = "v", title: str = "", aliases: str = "") -> NoteRow:
    return NoteRow(
        vault,
        path,
        path,
        1,
        1,
        False,
        b"",
        CHUNK,
        id=f"{vault}/{path}",
        title=title or path.rpartition("/")[2].partition(".")[0],
        aliases=aliases.split(),
        links=dict.fromkeys(targets, LAST),
    )


def resolve(manifest: Manifest, target: str, vault: str = "v", path: str = "from/x.md"):
    return [note.id for note in manifest.catalogue.resolve(target, vault, path)]


def into(manifest: Manifest, note: NoteRow) -> list[tuple[str, str, int]]:
    named = NamedNote(note.id, note.vault, note.path, note.title, tuple(note.aliases))
    return [(x.source.id, x.target, x.line) for x in manifest.catalogue.links_to(named)]


@rows(
    "target",
    *("a/b/Café plan.md", "a/b/Café plan", "b/Café plan", "Café plan", "CAFÉ  PLAN.MD"),
    *(normalize("NFD", "Café plan"), "/a/b/Café plan", "v/a/b/Café plan", "Ｃａｆé plan"),
    *("The title", "alias", "../a/b/Café plan.md"),
)
def test_a_link_may_be_a_path_a_part_of_one_a_file_name_a_title_or_an_alias(manifest, target):
    manifest.commit_write([row("a/b/Café plan.md", title="The title", aliases="alias other")])
    assert resolve(manifest, target) == ["v/a/b/Café plan.md"]


@rows("target", "plan", "Cafe plan", "b/c/Café plan", "../Café plan", "the")
def test_a_link_that_no_note_answers_to_is_unresolved(manifest, target):
    manifest.commit_write([row("a/b/Café plan.md")])
    assert resolve(manifest, target) == []


def test_notes_of_its_own_vault_go_before_others(manifest):
    manifest.commit_write([row("Plan.md"), row("x.md", vault="w", title="Plan")])
    assert resolve(manifest, "Plan") == ["v/Plan.md"]
    assert resolve(manifest, "Plan", vault="w", path="y.md") == ["w/x.md"]
    assert resolve(manifest, "Plan", vault="u", path="y.md") == ["v/Plan.md"]


def test_the_note_beside_the_one_with_the_link_goes_first_then_that_at_the_top(manifest):
    manifest.commit_write([row("Plan.md"), row("a/Plan.md"), row("b/Plan.md")])
    assert resolve(manifest, "Plan", path="b/x.md") == ["v/b/Plan.md"]
    assert resolve(manifest, "Plan", path="c/x.md") == ["v/Plan.md"]


def test_a_file_name_goes_before_a_title_and_a_title_before_an_alias(manifest):
    manifest.commit_write([row("a.md", aliases="Plan")])
    assert resolve(manifest, "Plan") == ["v/a.md"]
    manifest.commit_write([row("b.md", title="Plan")])
    assert resolve(manifest, "Plan") == ["v/b.md"]
    manifest.commit_write([row("Plan.md", title="c")])
    assert resolve(manifest, "Plan") == ["v/Plan.md"]


def test_without_a_suffix_the_note_in_markdown_is_meant(manifest):
    manifest.commit_write([row("Board.canvas"), row("Board.md")])
    assert resolve(manifest, "Board") == ["v/Board.md"]
    assert resolve(manifest, "Board.canvas") == ["v/Board.canvas"]


def test_the_links_to_a_note_come_with_their_lines(manifest):
    plan = row("a/Plan.md", "Plan", title="A/B plan", aliases="計画")
    other = row("o.md", "a/Plan", "Other")
    manifest.commit_write([plan, other, row("p.md", "計画", "A/B plan"), row("q.md", "b/Plan")])
    assert into(manifest, plan) == [
        ("v/o.md", "a/Plan", LAST),
        ("v/p.md", "計画", LAST),
        ("v/p.md", "A/B plan", LAST),
    ]


def test_broken_and_ambiguous_links_are_listed(manifest):
    links = ("Plan", "nowhere", "picture.png", "x", "b/Plan.md")
    manifest.commit_write([row("a/Plan.md"), row("b/Plan.md"), row("x.md", *links)])
    wrong = [(x.source.path, x.target, len(x.notes)) for x in manifest.catalogue.wrong_links()]
    assert wrong == [("x.md", "Plan", 2), ("x.md", "nowhere", 0)]


NAMES = st.text("aB é/.か\u3099x", min_size=1, max_size=8)


@given(target=NAMES, title=NAMES, alias=NAMES, stem=NAMES)
def test_whatever_answers_to_a_link_has_its_key(target, title, alias, stem):
    """Else the table of links would not find the notes with it."""
    note = NamedNote("1", "v", f"{normalize('NFC', stem.strip('/'))}.md", title, (alias,))
    if matching_notes(target, "v", "", [note]):
        names = (note.path.removesuffix(".md"), title, alias)
        assert link_key(target) in {link_key(name) for name in names}


class TestOfAnIndex:
    """A link is resolved when somebody asks, against what is indexed then."""

    @pytest.fixture
    def vault(self, write_notes) -> Path:
        log = "---\na: b\n---\n\nSee [[Plan]].\n"
        return write_notes("notes", {"Plan.md": "# Plan\n\nWhat we do.\n", "Log.md": log})

    def backlinks(self, config: RAGConfig, path: str) -> list[tuple[str, int]]:
        with open_manifest(config) as manifest:
            [note] = manifest.catalogue.resolve(path, "v", "")
            return [(x.source.path, x.line) for x in manifest.catalogue.links_to(note)]

    def test_a_link_follows_notes_that_are_renamed_deleted_or_added(self, vault, config, refresh):
        refresh(v=vault)
        (vault / "Plan.md").rename(vault / "Old plan.md")
        refresh(v=vault)
        assert self.backlinks(config, "Old plan.md") == [("Log.md", 5)]  # its title is still Plan
        (vault / "Old plan.md").unlink()
        refresh(v=vault)
        with open_manifest(config) as manifest:
            assert [x.target for x in manifest.catalogue.wrong_links()] == ["Plan"]
        write(vault / "later/plan.md", "New.\n")
        refresh(v=vault)
        assert self.backlinks(config, "later/plan.md") == [("Log.md", 5)]
