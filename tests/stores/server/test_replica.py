"""A machine that has only the address: it fetches the catalog, keeps it, asks for a newer one."""

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import models

from machines import Machine
from qdrant_server import QdrantServer
from rag.exceptions import IndexUnavailableError, StoreConnectionError
from rag.index.snapshots import CURRENT, MANIFEST, IndexDirectory
from rag.stores import QdrantServerDocumentStore
from rag.stores.server.catalog import FORMAT, Catalog

NAME = "obsidian_knowledge.catalog"


def requests_of(server: QdrantServer, work: Callable[[], object]) -> list[str]:
    """Return the requests about the catalog that something makes."""
    before = len(server.requests)
    work()
    return [path for path in server.paths()[before:] if NAME in path]


def fetched(server: QdrantServer, work: Callable[[], object]) -> int:
    """Return how many requests for parts something makes; one asks for the head."""
    return len(requests_of(server, work)) - 1


# -- fetching --------------------------------------------------------------------------


def test_the_catalog_is_fetched_once_and_then_only_asked_for(desk, laptop, server):
    desk.write("a")
    assert fetched(server, laptop.directory) > 0
    assert requests_of(server, laptop.directory) == [f"POST /collections/{NAME}/points"]
    assert requests_of(server, desk.directory) == [f"POST /collections/{NAME}/points"]


def test_a_store_that_stays_open_asks_again_after_two_seconds(desk, laptop, monkeypatch):
    desk.write("a")
    with laptop.store() as store:
        first = store.manifest()
        desk.write("a", "b")
        assert store.manifest() is first
        monkeypatch.setattr("rag.stores.server.document_store._FRESH", 0.0)
        manifest = store.manifest()
        assert manifest is not None and manifest.totals() == (2, 2)


# -- parts that go, and others that fetch ---------------------------------------------


def test_a_reader_that_finds_a_part_gone_begins_again_with_the_new_catalog(
    desk, laptop, monkeypatch
):
    desk.write("a")
    old, fetch = desk.head(), Catalog.fetch

    def late(catalog: Catalog, head: Any, folder: Path) -> None:
        monkeypatch.setattr(Catalog, "fetch", fetch)
        desk.write("a", "b")  # the parts before stay
        desk.write("a", "b", "c")
        fetch(catalog, head, folder)

    monkeypatch.setattr(Catalog, "fetch", late)
    assert laptop.notes() == {"a", "b", "c"}
    assert laptop.known_head.version == desk.head().version != old.version


def test_a_catalog_that_lacks_a_part_is_not_read(desk, laptop, server):
    desk.write("a")
    points, _ = server.engine.scroll(NAME, limit=100)
    ids = [point.id for point in points if point.id != 0]
    server.engine.delete(NAME, models.PointIdsList(points=ids[:1]))
    with pytest.raises(IndexUnavailableError, match="lacks a part") as caught:
        laptop.notes()
    assert "Index again on" in caught.value.hint
    assert not (laptop.folder / CURRENT).exists()
    desk.write("a")  # as it says
    assert laptop.notes() == {"a"}


def test_processes_that_fetch_at_once_have_one_snapshot(desk, laptop):
    desk.write("a", "b")
    with ThreadPoolExecutor(6) as threads:
        notes = [*threads.map(Machine.notes, [laptop] * 6)]
    assert notes == [{"a", "b"}] * 6
    assert len([*laptop.home.glob("index-*")]) == 1
    assert len([*laptop.folder.glob("gen-*/manifest.sqlite3")]) == 1


def test_while_another_process_writes_here_the_snapshot_that_is_here_is_read(desk, laptop):
    desk.write("a")
    laptop.directory()
    before = laptop.known_head
    desk.write("b")
    with IndexDirectory.of(laptop.config).writing():
        assert laptop.directory().current() is not None
        assert laptop.known_head == before
    assert laptop.notes() == {"b"}


def test_a_search_does_not_wait_for_the_run_that_publishes_here(desk, monkeypatch):
    desk.write("a")
    seen = []

    def interrupted(*_: Any) -> None:
        seen.append(desk.directory().current())  # another process, while the catalog is newer
        raise KeyboardInterrupt

    monkeypatch.setattr("rag.index.snapshots.IndexDirectory.publish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        desk.write("a", "b")
    assert seen == ["gen-1"]


def test_wherever_fetching_loses_the_server_the_next_command_fetches_it(desk, laptop, server):
    desk.write("a")
    for number in range(4):
        shutil.rmtree(laptop.folder, ignore_errors=True)
        server.fail("hangup", after=number)
        with suppress(StoreConnectionError):
            laptop.directory()
        server.fail("")
        assert laptop.notes() == {"a"}
        assert not [*laptop.folder.glob(".gen-*")]


# -- what is damaged here --------------------------------------------------------------


def lose_current(folder: Path) -> None:
    (folder / CURRENT).unlink()


def lose_snapshot(folder: Path) -> None:
    shutil.rmtree(folder / (folder / CURRENT).read_text("ascii"))


def name_another(folder: Path) -> None:
    (folder / CURRENT).write_text("gen-99", "ascii")


def damage_manifest(folder: Path) -> None:
    file = folder / (folder / CURRENT).read_text("ascii") / MANIFEST
    file.write_bytes(b"x" * file.stat().st_size)


@pytest.mark.parametrize("damage", [lose_current, lose_snapshot, name_another, damage_manifest])
def test_what_is_damaged_here_is_fetched_again(damage, desk, laptop):
    desk.write("a")
    laptop.notes()
    damage(laptop.folder)
    assert laptop.notes() == {"a"}


# -- a server or a disk that fails -----------------------------------------------------


def test_without_the_server_the_catalog_here_is_read(desk, laptop, server):
    desk.write("a")
    laptop.notes()
    server.fail("hangup")
    with laptop_store(laptop) as store:
        manifest = store.manifest()
        assert manifest is not None and manifest.totals() == (1, 1)


def laptop_store(machine: Machine) -> QdrantServerDocumentStore:
    config = machine.config
    return QdrantServerDocumentStore(str(machine.folder), config.store, IndexDirectory.of(config))


def test_another_format_is_not_fetched(desk, laptop, server):
    desk.write("a")
    server.engine.set_payload(NAME, {"format": 1, "parts": {}}, [0])
    with pytest.raises(IndexUnavailableError, match="another version of rag"):
        laptop.notes()
    desk.write("b")  # the program that is newer takes it along
    assert laptop.notes() == {"b"}
    server.engine.set_payload(NAME, {"format": FORMAT + 1}, [0])
    with pytest.raises(IndexUnavailableError, match="another version of rag"):
        laptop.notes()
    with pytest.raises(IndexUnavailableError, match="another version of rag"):
        desk.write("b")
