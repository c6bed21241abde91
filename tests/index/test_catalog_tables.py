"""What notes bear: written with the note, gone with it, and found from either side."""

import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.index.manifest import ChunkKey, Manifest, NoteRow
from tables import rows


@pytest.fixture
def manifest(tmp_path) -> Iterator[Manifest]:
    with Manifest.open_work(tmp_path / "manifest.sqlite3") as manifest:
        yield manifest


def note(path: str, tags: str = "", **more: object) -> NoteRow:
    row = NoteRow("work", path, path, 10, 20, False, b"hash", id=path, title=path.upper())
    chunks = [ChunkKey(str(uuid.UUID(int=1)), bytes(16))]
    return replace(row, **{"tags": tags.split(), "chunks": chunks, **more})  # type: ignore[arg-type]


def test_tags_and_values_are_found(manifest):
    manifest.commit_write(
        [note("a", "ops k8s", fields={"status": ["Open"], "people": ["Ken", "Mika"]})]
    )
    found = manifest.catalogue
    assert found.tags() == {"k8s": 1, "ops": 1}
    assert found.has_tag("ops") and not found.has_tag("op")
    assert found.fields() == ["people", "status"]
    assert sorted(found.values("people", 10)) == ["Ken", "Mika"]
    assert found.bearing("status", "Open".__eq__) == ["a"]
    assert found.bearing("status", "Ken".__eq__) == []


def test_neighbours_are_the_tags_that_stand_beside_most_often(manifest):
    manifest.commit_write([note("a", "x one two"), note("b", "x two"), note("c", "three")])
    assert manifest.catalogue.neighbours("x", 5) == ["two", "one"]
    assert manifest.catalogue.neighbours("x", 1) == ["two"]
    assert manifest.catalogue.neighbours("none", 5) == []


def test_the_most_frequent_values_come_first(manifest):
    values = ["done", "open", "open"]
    manifest.commit_write(note(str(n), fields={"status": [v]}) for n, v in enumerate(values))
    assert manifest.catalogue.values("status", 5) == ["open", "done"]
    assert manifest.catalogue.values("tags", 5) == []


@rows(
    "first, last, found",
    ("2026-01-02", "2026-01-02", ["b"]),
    ("2026-01-02", "", ["b", "c"]),
    ("", "2026-01-02", ["a", "b"]),
    ("2026-02-01", "2026-02-28", []),
)
def test_both_ends_of_a_span_belong_to_it(manifest, first, last, found):
    days = {"a": "2026-01-01", "b": "2026-01-02T23:59:59", "c": "2026-01-03", "d": ""}
    manifest.commit_write(note(name, modified=day) for name, day in days.items())
    assert manifest.catalogue.modified(first, last) == found


def test_names_are_as_written_and_found_in_any_case(manifest):
    manifest.commit_write([note("dir/Daily.md", aliases=["デイリー"]), note("b.md")])
    assert set(manifest.catalogue.titles()) == {"Daily", "DIR/DAILY.MD", "デイリー", "b", "B.MD"}
    assert manifest.catalogue.titled("daily") == ["DIR/DAILY.MD"]


NAMES = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(st.tuples(NAMES, st.none() | st.sets(NAMES), st.sets(NAMES)), max_size=12)


@given(STEPS)
def test_after_any_changes_it_is_what_it_would_be_made_at_once(steps):
    """Both ways always agree, and counts with them."""
    final: dict[str, NoteRow] = {}
    with Manifest.empty() as changed, Manifest.empty() as fresh:
        for name, tags, values in steps:
            if tags is None:
                changed.forget("work", [name])
                final.pop(name, None)
                continue
            row = note(name, " ".join(sorted(tags)), fields={"f": sorted(values)})
            changed.commit_write([row])
            final[name] = row
        fresh.commit_write(final.values())
        assert told(changed) == told(fresh)


def told(manifest: Manifest) -> list[object]:
    found = manifest.catalogue
    names = ("a", "b", "c")
    return [
        found.tags(),
        found.fields(),
        sorted(found.values("f", 9)),
        [
            (found.bearing("f", n.__eq__), found.bearing("tags", n.__eq__), found.neighbours(n, 9))
            for n in names
        ],
    ]
