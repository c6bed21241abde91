"""The manifest: what is written of a note is read again, and a run that died leaves a trace."""

import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.exceptions import INDEX_FROM_NOTES, IndexUnavailableError
from rag.index.manifest import ChunkKey, Manifest, NoteRow
from rag.index.shard_files import CONFIG
from rag.index.snapshots import MANIFEST, SHARD, IndexDirectory
from tables import rows


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "work/manifest.sqlite3"


@pytest.fixture
def manifest(file) -> Iterator[Manifest]:
    with Manifest.open_work(file) as manifest:
        yield manifest


def chunk(number: int) -> ChunkKey:
    return ChunkKey(str(uuid.UUID(int=number)), number.to_bytes(16, "big"))


def note(path: str, chunks: int = 1, vault: str = "work", **more: object) -> NoteRow:
    row = NoteRow(vault, path, path, 10, 20, False, b"hash", [chunk(n) for n in range(chunks)])
    return replace(row, **more)  # type: ignore[arg-type]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
INTEGERS = st.integers(0, 2**63 - 1)
ROWS = st.builds(
    NoteRow,
    vault=TEXT,
    path=TEXT,
    file=st.binary(max_size=20).map(lambda name: name.decode("utf-8", "surrogateescape")),
    size=INTEGERS,
    mtime_ns=st.integers(-(2**63), 2**63 - 1),
    racy=st.booleans(),
    hash=st.binary(max_size=16),
    chunks=st.lists(
        st.builds(ChunkKey, st.uuids().map(str), st.binary(min_size=16, max_size=16)), max_size=4
    ),
    failed=st.booleans(),
    id=TEXT,
    title=TEXT,
    aliases=st.lists(TEXT),
    tags=st.lists(TEXT),
    created=TEXT,
    modified=TEXT,
    links=st.dictionaries(TEXT, st.integers(1, 2**31)),
    lines=INTEGERS,
    problems=st.lists(TEXT),
    indexed_at=TEXT,
)


@given(row=ROWS)
def test_a_note_is_read_as_it_was_written(row):
    with Manifest.empty() as manifest:
        manifest.commit_write([row])
        assert manifest.note(row.vault, row.path) == row
        assert list(manifest.notes()) == [row]


def test_what_was_written_is_there_when_the_file_is_opened_again(manifest, file):
    manifest.set_vault("work", "/notes")
    manifest.commit_write([note("a.md")])
    manifest.close()
    with Manifest.open_work(file) as again:
        assert again.vaults() == {"work": "/notes"}
        assert [row.path for row in again.notes()] == ["a.md"]


def test_a_file_name_of_undecodable_bytes_still_opens_the_file(manifest, tmp_path):
    name = b"caf\xe9.md".decode("utf-8", "surrogateescape")
    (tmp_path / name).write_bytes(b"text")
    manifest.commit_write([note("caf\ufffd.md", file=name, size=4)])
    [found] = manifest.odd_files().values()
    assert os.path.getsize(tmp_path / found) == 4  # noqa: PTH202


# -- points and notes ------------------------------------------------------------------


def test_the_points_expected_are_all_chunks(manifest):
    assert manifest.totals()[1] == 0
    manifest.commit_write([note("a.md", chunks=2), note("b.md", chunks=3), note("c.md", chunks=0)])
    assert manifest.totals()[1] == 5
    manifest.forget("work", ["d.md", "a.md"])
    assert manifest.totals()[1] == 3


def test_a_forgotten_note_is_gone_and_its_namesake_in_another_vault_stays(manifest):
    manifest.commit_write([note("a.md"), note("a.md", vault="home")])
    manifest.forget("work", ["a.md", "never-there.md"])
    assert [row.vault for row in manifest.notes()] == ["home"]


@pytest.mark.parametrize("flag", ["racy", "failed"])
def test_a_young_or_failed_file_must_be_read_again(manifest, flag):
    manifest.commit_write([note("a.md"), note("b.md", **{flag: True})])
    assert manifest.stats("work") == {"a.md": (10, 20, False), "b.md": (10, 20, True)}


# -- notes by name ---------------------------------------------------------------------


def test_a_note_is_named_by_title_alias_and_file_name(manifest):
    row = note("ops/roll-back.md", title="Rolling back", aliases=["Undo", "巻き戻し"], id="1")
    manifest.commit_write([row, note("other.md", id="2")])
    for name in ("Rolling back", "Undo", "巻き戻し", "roll-back"):
        assert manifest.catalogue.named(name) == ["1"]


@rows(
    "name",
    *("rolling BACK", "  Rolling \t back\n", "Ｒｏｌｌｉｎｇ　ｂａｃｋ", "Roll\u200bing back"),
    *("ﾌﾟﾗｸﾞｲﾝ", "フ\u309aラク\u3099イン", "CAFE\u0301"),
)
def test_case_width_composition_and_white_space_of_a_name_do_not_matter(manifest, name):
    manifest.commit_write([note("café.md", title="Rolling  Back", aliases=["プラグイン"], id="1")])
    assert manifest.catalogue.named(name) == ["1"]


# -- facts -----------------------------------------------------------------------------


def test_facts_are_kept_by_name(manifest):
    assert manifest.get("fingerprint") == ""
    assert manifest.get("fingerprint", "none") == "none"
    manifest.set(fingerprint="1", indexed_at="today")
    manifest.set(fingerprint="2")
    assert (manifest.get("fingerprint"), manifest.get("indexed_at")) == ("2", "today")


def test_counts_names_and_tags_leave_out_notes_without_chunks(manifest):
    manifest.commit_write(
        [
            note("a.md", chunks=2, title="A", aliases=["甲"], tags=["x", "日記"], id="1"),
            note("b.md", chunks=1, title="B", tags=["x"], id="2"),
            note("unreadable.md", chunks=0, tags=["x"], failed=True),
            note("c.md", chunks=1, vault="home"),
        ]
    )
    assert manifest.counts() == {"home": (1, 1), "work": (2, 3)}
    assert manifest.catalogue.tags() == {"x": 2, "日記": 1}
    assert manifest.names()[1:] == [
        ("work", "a.md", "A", ["甲"], "1"),
        ("work", "b.md", "B", [], "2"),
    ]


def test_a_vault_follows_its_folder_and_can_be_dropped(manifest):
    manifest.set_vault("work", "/old")
    manifest.set_vault("work", "/new")
    manifest.set_vault("日記", "/diary")
    assert manifest.vaults() == {"work": "/new", "日記": "/diary"}
    manifest.drop_vault("work")
    assert manifest.vaults() == {"日記": "/diary"}


# -- a snapshot's manifest -----------------------------------------------------------


@pytest.fixture
def published(manifest, file) -> Path:
    """The closed manifest of a snapshot; its name has what a URI would take for its own."""
    manifest.commit_write(note(f"{n}.md", title="x" * 200, id=str(n)) for n in range(100))
    manifest.close()
    return file.parent.rename(file.parent.parent / "gen 1?#%20").joinpath(file.name)


def test_a_generation_s_manifest_is_read_without_a_file_beside_it(published):
    with Manifest.open_snapshot(published) as manifest:
        assert manifest.totals()[1] == 100
        assert os.listdir(published.parent) == [published.name]  # noqa: PTH208
    assert os.listdir(published.parent) == [published.name]  # noqa: PTH208


@pytest.fixture
def directory(tmp_path) -> Iterator[IndexDirectory]:
    """An index that was published, and its lock."""
    directory = IndexDirectory(tmp_path / "index")
    with directory.writing():
        with Manifest.open_writer(directory) as manifest:
            manifest.commit_write([note("old.md", id="1", title="Old")])
            manifest.set_vault("work", "/old")
        segments = directory.work / SHARD / "segments"
        segments.mkdir(parents=True)
        (segments.parent / CONFIG).write_text("{}")
        directory.publish(1)
        yield directory


CHANGES: list[Callable[[Manifest], object]] = [
    lambda manifest: manifest.commit_write([note("new.md")]),
    lambda manifest: manifest.forget("work", ["old.md"]),
    lambda manifest: manifest.set_vault("work", "/new"),
    lambda manifest: manifest.drop_vault("work"),
    lambda manifest: manifest.add_words(["word"]),
    lambda manifest: manifest.set(fact="new"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_no_change_reaches_what_was_published(directory, change):
    shared = directory.path / "gen-1" / MANIFEST
    before = shared.read_bytes()
    with Manifest.open_snapshot(shared) as reader:
        with Manifest.open_writer(directory) as manifest:
            change(manifest)
        assert [row.path for row in reader.notes()] == ["old.md"]
    assert shared.read_bytes() == before != (directory.work / MANIFEST).read_bytes()


def test_without_a_change_the_next_snapshot_is_not_begun(directory):
    with Manifest.open_writer(directory) as manifest:
        manifest.refresh([note("old.md", id="1", racy=True)], False)  # readers need not know
        manifest.add_words([])
        manifest.set(fact="")
        manifest.set_vault("work", "/old")
        assert manifest.note("work", "old.md")
    assert not directory.has_work


def test_what_is_being_read_can_be_changed_meanwhile(directory):
    with Manifest.open_writer(directory) as manifest:
        rows = manifest.notes()
        first = next(rows)
        manifest.commit_write([note("new.md")])
        assert [row.path for row in (first, *rows)] == ["old.md"]
        assert manifest.rows() == 2


DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda file: file.write_bytes(b""),
    "text": lambda file: file.write_text("these are no tables " * 500),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_manifest_says_how_to_mend_it(published, damage):
    DAMAGE[damage](published)
    with pytest.raises(IndexUnavailableError) as caught:
        Manifest.open_snapshot(published)
    assert caught.value.hint == INDEX_FROM_NOTES


def test_totals_that_were_kept_are_not_counted(manifest, monkeypatch):
    manifest.commit_write([note("a.md", 2)])
    assert manifest.kept_totals() == (1, 2)
    manifest.set(totals="1 2")
    monkeypatch.setattr(Manifest, "totals", lambda _: pytest.fail("all notes were read"))
    assert manifest.kept_totals() == (1, 2)
