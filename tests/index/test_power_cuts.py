"""Publishing when the power fails at any moment, on a disk that keeps only what was synced."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from test_snapshots import fill_work, publish, snapshots

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from faults.power_model import LUCK, Disk
from rag.exceptions import IndexUnavailableError
from rag.index import sync_mark as module
from rag.index.snapshots import MANIFEST, SHARD, IndexDirectory
from rag.index.staging_files import Copied, copy_folder
from rag.stores.edge.layout.snapshot_copy import copy_for_readers
from rag.support.owned_folders import is_marked

VECTORS = f"{SHARD}/segments/one/vectors.dat"


@pytest.fixture
def index(tmp_path: Path) -> IndexDirectory:
    return IndexDirectory(tmp_path / "index")


def publish_whole(index: IndexDirectory, number: int, content: str) -> None:
    """Publish a snapshot with a manifest, of which nobody reads more than that it is there."""
    with index.writing():
        index.working.mark.begin()
        fill_work(index, content)
        (index.work / MANIFEST).unlink(missing_ok=True)  # a snapshot may have the file too
        (index.work / MANIFEST).write_text(content)
        index.publish(number, points=number, copy=copy_for_readers)


@contextmanager
def cutting(folder: Path, room: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """Let the power fail before everything that is synced, renamed or made; give what is left."""
    room.mkdir()
    disk, left = Disk(folder, room), []
    real = {name: getattr(os, name) for name in ("fsync", "rename", "replace", "mkdir")}

    def cut() -> None:
        with monkeypatch.context() as undone:
            for name, function in real.items():
                undone.setattr(os, name, function)
            for luck in LUCK:
                left.append(folder.with_name(f"left {len(left)}"))
                disk.cut(left[-1], random.Random(len(left)), luck)

    def sync(descriptor: int) -> None:
        disk.sync(descriptor)
        cut()

    def watched(name: str) -> Callable[..., None]:
        def function(*arguments: object, **named: object) -> None:
            cut()
            real[name](*arguments, **named)

        return function

    with monkeypatch.context() as patch:
        # One thread at a time: the model looks at the whole folder.
        patch.setattr("rag.support.durable_files._THREADS", 1)
        patch.setattr(os, "fsync", sync)
        for name in ("rename", "replace", "mkdir"):
            patch.setattr(os, name, watched(name))
        yield left
        cut()


def test_after_a_power_cut_at_any_moment_the_former_generation_is_read_or_the_new_one(
    index: IndexDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_whole(index, 1, "former")
    with cutting(index.path, tmp_path / "room", monkeypatch) as left:
        publish_whole(index, 2, "new")
    found = set()
    for folder in left:
        with IndexDirectory(folder).open_current() as snapshot:
            found.add((snapshot.points, (snapshot.path / VECTORS).read_text()))
    assert found == {(1, "former"), (2, "new")}
    assert len(left) > 60


def test_what_was_published_stays_published(
    index: IndexDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.path.mkdir()
    with cutting(index.path, tmp_path / "room", monkeypatch) as left:
        publish_whole(index, 1, "first")
    for folder in left[-len(LUCK) :]:
        with IndexDirectory(folder).open_current() as snapshot:
            assert (snapshot.path / VECTORS).read_text() == "first"


def test_a_working_copy_that_is_neither_old_nor_new_is_not_trusted(
    index: IndexDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_whole(index, 1, "former")
    with cutting(index.path, tmp_path / "room", monkeypatch) as left:
        publish_whole(index, 2, "new")
    monkeypatch.setattr(module, "boot", lambda: "started again")
    trusted = []
    for folder in left:
        directory = IndexDirectory(folder)
        assert directory.working.mark.is_of_another_run
        if not directory.working.differences():
            trusted.append((directory.work / VECTORS).read_text())
            assert (directory.work / MANIFEST).read_text() == trusted[-1]
            # What was announced is never older: nothing that a run took out comes back.
            assert trusted[-1] == "new" or directory.announced() == "gen-1"
    assert trusted


def test_a_run_that_was_killed_was_not_cut_off(index: IndexDirectory) -> None:
    with index.writing():
        index.working.mark.begin()
    assert not IndexDirectory(index.path).working.mark.is_of_another_run


def test_what_is_in_the_working_copy_besides_is_not_trusted(index: IndexDirectory) -> None:
    publish_whole(index, 1, "first")
    assert index.working.differences() == []
    (index.work / SHARD / "segments/other").mkdir()
    (index.work / SHARD / "segments/other/vectors.dat").write_text("of a run that was cut off")
    assert index.working.differences() == [f"{SHARD}/segments/other/vectors.dat"]


def test_what_cannot_be_read_is_not_announced(index: IndexDirectory) -> None:
    publish(index, 1)

    def copy(work: Path, target: Path, *others: Any) -> Copied:
        copy_folder(work, target, *others)
        assert (target / SHARD).is_dir()
        raise IndexUnavailableError("it cannot be read")

    with index.writing(), pytest.raises(IndexUnavailableError):
        index.publish(2, points=2, copy=copy)
    assert index.current() == "gen-1" and snapshots(index) == ["gen-1"]


@pytest.mark.parametrize("pointer", ["", "\0\0\0\0\0", "gen-9", "../gen-1", "gen-2"])
def test_where_the_pointer_or_what_it_names_is_lost_the_newest_whole_generation_is_read(
    index: IndexDirectory, pointer: str
) -> None:
    with ExitStack() as stack:
        for number in (1, 2, 3):
            publish_whole(index, number, f"number {number}")
            stack.enter_context(index.open_current())  # so that it stays
    (index.path / "gen-2" / MANIFEST).write_text("")
    (index.path / f"gen-3/{SHARD}/edge_config.json").unlink()
    (index.path / "CURRENT").write_text(pointer)
    assert index.current() == "gen-1"
    with index.open_current() as snapshot:
        assert snapshot.name == "gen-1"


@pytest.mark.parametrize("name", ["gen-9.lock", ".gen-9.tmp", "gen-9", "CURRENT"])
def test_no_number_is_given_twice(index: IndexDirectory, name: str) -> None:
    publish(index, 1)
    (index.path / name).write_text("gen-9")
    assert index.newest() == 9


def test_the_generations_that_go_bear_the_mark(index: IndexDirectory) -> None:
    publish(index, 1)
    assert is_marked(index.path / "gen-1")
    foreign = index.path / "gen-0/photo.jpg"
    foreign.parent.mkdir()
    foreign.touch()
    publish(index, 2)
    assert foreign.exists() and snapshots(index) == ["gen-0", "gen-2"]


def test_every_folder_of_a_generation_is_for_its_owner_alone(index: IndexDirectory) -> None:
    index.path.mkdir(0o755)
    publish(index, 1)
    folders = [path for path in (index.path / "gen-1").rglob("*") if path.is_dir()]
    modes = {path.stat().st_mode & 0o777 for path in (index.path, index.work, *folders)}
    assert modes == {0o700}


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_mark_that_is_no_file_is_one_of_another_run(
    index: IndexDirectory, make: Callable[[Path], None]
) -> None:
    publish_whole(index, 1, "first")
    (index.path / "UNSYNCED").unlink()
    make(index.path / "UNSYNCED")
    other = IndexDirectory(index.path)
    assert other.working.mark.is_of_another_run
    other.working.mark.begin()
    assert not other.working.mark.is_of_another_run
