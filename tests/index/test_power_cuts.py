"""Publishing when the power fails at any moment, on a disk that keeps only what was synced."""

import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_snapshots import publish, snapshots

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from faults.power_model import LUCK, Disk
from rag.index.snapshots import SHARD, IndexDirectory
from rag.support.files import is_marked

VECTORS = f"{SHARD}/segments/one/vectors.dat"


@pytest.fixture
def index(tmp_path) -> IndexDirectory:
    return IndexDirectory(tmp_path / "index")


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
        patch.setattr("rag.support.files._THREADS", 1)
        patch.setattr(os, "fsync", sync)
        for name in ("rename", "replace", "mkdir"):
            patch.setattr(os, name, watched(name))
        yield left
        cut()


def test_after_a_power_cut_at_any_moment_the_former_generation_is_read_or_the_new_one(
    index, tmp_path, monkeypatch
):
    publish(index, 1, "former")
    with cutting(index.path, tmp_path / "room", monkeypatch) as left:
        publish(index, 2, "new")
    found = set()
    for folder in left:
        with IndexDirectory(folder).open_current() as snapshot:
            found.add((snapshot.path.name, (snapshot.path / VECTORS).read_text()))
    assert found == {("gen-1", "former"), ("gen-2", "new")}
    assert len(left) > 60


def test_what_was_published_stays_published(index, tmp_path, monkeypatch):
    index.path.mkdir()
    with cutting(index.path, tmp_path / "room", monkeypatch) as left:
        publish(index, 1, "first")
    for folder in left[-len(LUCK) :]:
        with IndexDirectory(folder).open_current() as snapshot:
            assert (snapshot.path / VECTORS).read_text() == "first"


@pytest.mark.parametrize("luck", LUCK)
def test_what_the_engine_replaces_and_syncs_when_a_shard_is_opened_is_on_the_disk(
    index, tmp_path, luck
):
    publish(index, 1, "first")
    (tmp_path / "room").mkdir()
    disk = Disk(index.path, tmp_path / "room")
    config = index.path / f"gen-1/{SHARD}/edge_config.json"
    replacement = config.with_name("replacement")
    replacement.write_text('{"opened": true}')
    replacement.replace(config)
    disk.cut(tmp_path / "left", random.Random(1), luck)
    assert (tmp_path / f"left/gen-1/{SHARD}/edge_config.json").read_text() == '{"opened": true}'


@pytest.mark.parametrize("name", ["gen-9", "CURRENT"])
def test_no_number_is_given_twice(index, name):
    publish(index, 1)
    (index.path / name).write_text("gen-9")
    assert index.newest() == 9


def test_the_generations_that_go_bear_the_mark(index):
    publish(index, 1)
    assert is_marked(index.path / "gen-1")
    foreign = index.path / "gen-0/photo.jpg"
    foreign.parent.mkdir()
    foreign.touch()
    publish(index, 2)
    assert foreign.exists() and snapshots(index) == ["gen-0", "gen-2"]
