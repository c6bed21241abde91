"""One machine writes: others are refused, and one that was taken over stops."""

import socket
from contextlib import suppress
from typing import Any

import pytest

from machines import change_head, put
from property_examples import IS_FULL
from qdrant_server import QdrantServer
from rag.exceptions import LockedError, StoreConnectionError, UsageError
from rag.stores.server.catalog import Catalog, Head

POINTS = "/collections/obsidian_knowledge/points"
HERE = socket.gethostname()


def writes(server: QdrantServer, since: int = 0) -> list[str]:
    """Return the requests since that change points of the index."""
    reads = {f"POST {POINTS}{end}" for end in ("", "/count", "/scroll", "/query/batch")}
    return [path for path in server.paths()[since:] if POINTS in path and path not in reads]


# -- who may write ---------------------------------------------------------------------


def test_another_machine_is_refused_and_changes_nothing(desk, laptop, server):
    desk.write("a")
    head, since = desk.head(), len(server.requests)
    with pytest.raises(UsageError, match=f"{HERE} writes this index, since 20") as caught:
        laptop.write("b")
    assert "--take-over" in caught.value.hint
    assert writes(server, since) == [] and desk.head() == head
    assert laptop.notes() == {"a"}


def test_an_index_that_was_made_and_never_written_is_anybody_s(desk, laptop):
    with desk.store() as store:
        store.begin_writing()
    laptop.write("b")
    assert laptop.head().machine == laptop.id
    with pytest.raises(UsageError, match="writes this index"):
        desk.write("a")


# -- a run that was taken over ---------------------------------------------------------


def test_a_run_that_was_taken_over_stops_before_the_next_write(desk, server):
    with desk.store() as store:
        put(store, "a")
        change_head(desk.config, machine="m", name="laptop")
        since = len(server.requests)
        with pytest.raises(LockedError, match="laptop has taken over the index") as caught:
            put(store, "b")
    assert writes(server, since) == []
    assert "--take-over" in caught.value.hint


def test_a_run_that_was_taken_over_deletes_no_points_of_its_successor(desk, laptop, server):
    with desk.store() as store:
        put(store, "a")
        change_head(desk.config, machine=laptop.id, name="laptop")
        laptop.write("b", "c")
        since = len(server.requests)
        with pytest.raises(LockedError, match="laptop has taken over"):
            store.publish()
    assert writes(server, since) == []
    assert laptop.notes() == {"b", "c"}


# -- how a run ends --------------------------------------------------------------------


def test_the_catalog_says_whether_points_were_written_that_it_does_not_know(desk):
    desk.write("a")
    assert not desk.head().unfinished
    with desk.store() as store:
        put(store, "b")
    assert desk.head().unfinished
    desk.write("b")
    assert not desk.head().unfinished


# -- a run that is killed --------------------------------------------------------------


def test_wherever_a_run_loses_the_server_the_next_one_completes_it(desk, laptop, server):
    desk.write("a")
    number, is_broken = 0, True
    while is_broken:
        server.fail("hangup", after=number)
        try:
            desk.write("a", f"b {number}")
            is_broken = False
        except StoreConnectionError:
            pass
        server.fail("")
        with suppress(AssertionError):  # its points may be there before its manifest
            assert "a" in laptop.notes()
        desk.write("a", f"b {number}")
        assert desk.notes() == laptop.notes() == {"a", f"b {number}"}
        number += 1 if IS_FULL else 3
    assert number > 10


@pytest.mark.parametrize(
    "place", ["rag.index.snapshots.IndexDirectory.publish", "rag.stores.server.catalog.Head.write"]
)
def test_a_run_killed_between_the_catalog_and_the_snapshot_here_goes_on(
    place, desk, laptop, monkeypatch
):
    desk.write("a")

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(place, killed)
        with pytest.raises(KeyboardInterrupt):
            desk.write("a", "b")
    assert desk.known_head.version != desk.head().version
    assert laptop.notes() == {"a", "b"}
    assert desk.notes() == {"a", "b"}
    desk.write("a", "b", "c")
    assert desk.notes() == laptop.notes() == {"a", "b", "c"}


def test_of_two_that_make_the_head_at_once_one_is_refused(desk, laptop, monkeypatch):
    make = Catalog.create

    def overtaken(self: Catalog, head: Head) -> Head:
        monkeypatch.setattr(Catalog, "create", make)
        laptop.write("b")
        return make(self, head)

    monkeypatch.setattr(Catalog, "create", overtaken)
    with pytest.raises(UsageError, match="writes this index"):
        desk.write("a")
    assert laptop.notes() == {"b"}
