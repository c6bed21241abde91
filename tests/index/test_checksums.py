"""What is known of the files of a folder, and which damage shows when."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.index import checksums
from rag.index.checksums import STAMPS, SUMS, Record, find_damage, sum_of
from rag.index.shard_files import CONFIG
from rag.support.sparse_files import checksum, copy_file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that is as its record says."""
    (tmp_path / "below").mkdir()
    (tmp_path / "one").write_bytes(b"one" * 1000)
    (tmp_path / "below/two").write_bytes(b"two" * 1000)
    record = Record(tmp_path, {name: sum_of(tmp_path / name) for name in ("one", "below/two")})
    record.write()
    record.stamp()
    return tmp_path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read to be summed up."""
    seen: list[str] = []
    read = checksums.sum_of
    monkeypatch.setattr(
        checksums, "sum_of", lambda file: (seen.append(Path(file).name), read(file))[1]
    )
    return seen


def flip(file: Path) -> None:
    """Change a bit of a file; its size and time stay."""
    facts, content = file.stat(), bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def cut(file: Path) -> None:
    os.truncate(file, 7)


def swap(file: Path) -> None:
    other = file.parent / "below/two"
    held = file.read_bytes()
    file.write_bytes(other.read_bytes())
    other.write_bytes(held)


@pytest.mark.parametrize("damage", [flip, cut, swap, Path.unlink])
def test_damage_shows_by_its_stamp(folder: Path, damage: Callable[[Path], None]) -> None:
    damage(folder / "one")
    assert "one" in (find_damage(folder) or [])


def test_damage_that_leaves_no_trace_shows_when_all_is_read(folder: Path) -> None:
    flip(folder / "one")
    record = Record.read(folder)
    assert record
    record.stamp()  # as a fault of the disk leaves it
    assert find_damage(folder) == []
    assert find_damage(folder, all_read=True) == ["one"]
    assert find_damage(folder) == ["one"], "nobody trusts the stamps any more"


def test_a_list_of_points_on_which_the_engine_would_spend_half_a_minute_is_always_read(
    tmp_path: Path,
) -> None:
    points = tmp_path / "mutable_id_tracker.mappings"
    points.write_bytes(b"points" * 100)
    record = Record(tmp_path, {points.name: sum_of(points)})
    record.write()
    flip(points)
    record.stamp()  # as a fault of the disk leaves it
    assert find_damage(tmp_path) == [points.name]


def test_what_looks_as_it_did_is_not_read(folder: Path, reads: list[str]) -> None:
    assert find_damage(folder) == []
    assert reads == []


def test_a_folder_that_was_copied_is_read_once(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, reads: list[str]
) -> None:
    copied = tmp_path_factory.mktemp("other") / "copy"
    shutil.copytree(folder, copied)
    assert find_damage(copied) == [] == find_damage(copied)
    assert sorted(reads) == ["one", "two"]


def test_only_what_is_wanted_is_looked_at(folder: Path) -> None:
    flip(folder / "one")
    assert find_damage(folder, "below/two") == []
    assert find_damage(folder, "one") == ["one"]


def test_a_file_with_two_names_is_read_once_for_both_records(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, reads: list[str]
) -> None:
    other = tmp_path_factory.mktemp("other")
    os.link(folder / "one", other / "same")
    Record(other, {"same": sum_of(other / "same")}).write()
    reads.clear()
    seen: checksums.Seen = set()
    assert find_damage(folder, all_read=True, seen=seen) == []
    assert find_damage(other, all_read=True, seen=seen) == []
    assert sorted(reads) == ["one", "two"]


def test_of_a_folder_without_a_record_nothing_is_known(tmp_path: Path) -> None:
    assert find_damage(tmp_path) is None


@pytest.mark.parametrize("damage", [flip, cut, lambda file: file.write_bytes(b"")])
def test_a_damaged_record_is_damage(folder: Path, damage: Callable[[Path], None]) -> None:
    damage(folder / SUMS)
    assert find_damage(folder) == [SUMS]


@pytest.mark.parametrize("stamps", [b"", b"[1, 2]", b'{"one": 3}', b'{"read at": null}', b"\xff"])
def test_where_stamps_are_damaged_all_is_read(
    folder: Path, reads: list[str], stamps: bytes
) -> None:
    (folder / STAMPS).write_bytes(stamps)
    assert find_damage(folder) == []
    assert sorted(reads) == ["one", "two"]


@pytest.mark.parametrize(("days", "is_due"), [(0, False), (0.9, False), (1.1, True), (-1, True)])
def test_all_is_due_to_be_read_once_a_day(folder: Path, days: float, is_due: bool) -> None:
    stamps = json.loads((folder / STAMPS).read_bytes())
    stamps["read at"] = str(float(stamps["read at"]) - days * 24 * 3600)
    (folder / STAMPS).write_text(json.dumps(stamps))
    record = Record.read(folder)
    assert record and record.is_due == is_due
    assert record.damaged(all_read=is_due) == []
    assert not record.is_due


def test_who_may_not_write_reads_and_says_so_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(30, "Read-only file system")

    (folder / STAMPS).unlink()
    monkeypatch.setattr(Path, "replace", refuse)
    assert find_damage(folder) == []
    (folder / "one").unlink()
    assert find_damage(folder) == ["one"]


def test_settings_are_known_by_what_they_say(tmp_path: Path) -> None:
    file = tmp_path / CONFIG
    file.write_text('{"a": 1, "b": {"c": null}}')
    before = sum_of(file)
    file.write_text('{"b":{"c":null},"a":1}')
    assert sum_of(file) == before
    file.write_text('{"b":{"c":null},"a":2}')
    assert sum_of(file) != before


PIECES = st.lists(
    st.tuples(st.integers(0, 3 << 16), st.binary(min_size=1, max_size=99)), max_size=5
)


@given(pieces=PIECES, size=st.integers(0, 4 << 16))
def test_the_same_bytes_have_the_same_checksum_wherever_the_holes_are(
    pieces: list[tuple[int, bytes]], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("sums")
    sparse, full = folder / "sparse", folder / "full"
    with sparse.open("wb") as file:
        for place, text in pieces:
            file.seek(place)
            file.write(text)
        file.truncate(max(size, file.tell()))
    full.write_bytes(sparse.read_bytes())
    assert checksum(sparse) == checksum(full) == copy_file(full, folder / "copy")
    assert checksum(folder / "copy") == checksum(full)
    shutil.rmtree(folder)


@given(content=st.binary(min_size=1, max_size=100_000), data=st.data())
def test_any_bit_counts(
    content: bytes, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("bits") / "file"
    file.write_bytes(content)
    before, changed = checksum(file), bytearray(content)
    changed[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    file.write_bytes(changed)
    assert checksum(file) != before
    shutil.rmtree(file.parent)
