"""A journal begun anew: what was written before and after it is there, whoever is killed when."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import qdrant_edge as qe

from rag.index.shard_files import JOURNAL
from rag.stores.base.points import SPARSE
from rag.stores.edge.layout import journal
from rag.stores.edge.layout.journal import restart
from rag.stores.edge.shard import load_work
from rag.support.sparse_files import copy_tree

POINT = "00000000-0000-4000-8000-{:012}"


def put(shard: qe.EdgeShard, number: int, value: str) -> None:
    vectors: Any = {SPARSE: qe.SparseVector([1], [1.0])}
    point = qe.Point(POINT.format(number), vectors, {"value": value})
    shard.update(qe.UpdateOperation.upsert_points([point]))


def values(shard: qe.EdgeShard) -> dict[int, str]:
    points, _ = shard.scroll(qe.ScrollRequest(limit=1000))
    return {int(str(point.id)[-12:]): point.payload["value"] for point in points}


def written(path: Path) -> int:
    """Return how many bytes the journal holds but for zeros, roughly."""
    return sum(len(part.read_bytes().strip(b"\0")) for part in (path / JOURNAL).iterdir())


def close(shard: qe.EdgeShard) -> None:
    shard.flush()
    shard.close()


@pytest.fixture
def path(tmp_path: Path, empty_shard: Path) -> Path:
    """A shard of 30 points, closed."""
    copy_tree(empty_shard, tmp_path / "shard")
    shard = load_work(tmp_path / "shard")
    for number in range(30):
        put(shard, number, "old")
    close(shard)
    return tmp_path / "shard"


def test_it_holds_no_operation_any_more_and_the_shard_all_points(path: Path) -> None:
    before = written(path)
    restart(path)
    assert written(path) < 50 < before
    shard = load_work(path)
    assert values(shard) == dict.fromkeys(range(30), "old")
    shard.close()


def test_what_is_changed_after_it_is_changed_each_time(path: Path) -> None:
    for turn in ("one", "two", "three"):
        restart(path)
        shard = load_work(path)
        put(shard, 3, turn)
        shard.update(qe.UpdateOperation.delete_points([POINT.format(len(turn))]))
        close(shard)
        shard = load_work(path)
        assert values(shard)[3] == turn if len(turn) != 3 else 3 not in values(shard)
        shard.close()


def test_what_was_written_after_it_outlives_a_kill(path: Path) -> None:
    restart(path)
    if not (child := os.fork()):
        shard = load_work(path)
        put(shard, 3, "new")
        put(shard, 77, "new")
        os._exit(0)  # as `kill -9`: nothing is flushed
    os.waitpid(child, 0)
    shard = load_work(path)
    found = values(shard)
    assert (found[3], found[77], found[4]) == ("new", "new", "old")
    shard.close()


def test_a_journal_without_operations_stays(path: Path) -> None:
    restart(path)
    before = sorted((file.name, file.stat().st_ino) for file in (path / JOURNAL).iterdir())
    restart(path)
    assert sorted((file.name, file.stat().st_ino) for file in (path / JOURNAL).iterdir()) == before


@pytest.mark.parametrize("step", range(4))
def test_who_is_killed_on_the_way_loses_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """At the first, second and third renaming, and when the old one is removed."""
    left = step

    def count(do: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            if not left:
                raise KeyboardInterrupt
            left -= 1
            return do(*arguments, **options)

        return counted

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", count(Path.rename))
        patch.setattr(journal, "_remove", count(journal._remove))
        with pytest.raises(KeyboardInterrupt):
            restart(path)
    shard = load_work(path)
    put(shard, 3, "new")
    close(shard)
    shard = load_work(path)
    assert values(shard) == {**dict.fromkeys(range(30), "old"), 3: "new"}
    shard.close()
    assert not [*path.glob("*.tmp")]
