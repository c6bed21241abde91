"""The catalog on the server: published by one write, read whole or not at all, and swept."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import httpx
import pytest
from qdrant_client import models

from qdrant_server import QdrantServer
from rag.config import StoreConfig
from rag.exceptions import IndexUnavailableError, LockedError
from rag.stores.server.catalog import FILES, Catalog, Head
from rag.stores.server.rest import RestClient
from tables import rows

NAME = "notes.catalog"
Files = dict[str, bytes]

OLD: Files = dict(zip(FILES, (b"old names " * 1000, b"old counts"), strict=True))
NEW: Files = dict(zip(FILES, (b"new names " * 2000, b"new counts"), strict=True))
# Of bytes that cannot be compressed, so that they are sent in several parts.
LARGE: Files = {FILES[0]: random.Random(1).randbytes(200_000)}


@pytest.fixture
def open_catalog(server) -> Iterator[Callable[[], Catalog]]:
    """Open the catalog over a connection of its own, as another process does."""
    store = StoreConfig(url=server.url, collection="notes", timeout=10)
    with ExitStack() as opened:
        yield lambda: Catalog(opened.enter_context(closing(RestClient(store))))


@pytest.fixture
def catalog(open_catalog) -> Catalog:
    """One in which nothing was published yet."""
    catalog = open_catalog()
    catalog.create(Head(machine="m"))
    return catalog


@pytest.fixture
def publish(tmp_path) -> Callable[..., Head]:
    """Publish some files: `publish(catalog, NEW, points=2)`."""
    versions = count()

    def published(catalog: Catalog, files: Files, **facts: Any) -> Head:
        folder = Path(mkdtemp(dir=tmp_path))
        for name, content in files.items():
            (folder / name).write_bytes(content)
        head = catalog.head()
        assert head is not None
        files_sent = catalog.send(folder, f"version {next(versions)}")
        changed = catalog.change(head, **files_sent, **facts)
        catalog.sweep(changed)
        return changed

    return published


@pytest.fixture
def read(open_catalog, tmp_path) -> Callable[..., Files]:
    """Read the catalog, as it is or as it was when a head was read."""

    def files(head: Head | None = None) -> Files:
        catalog, folder = open_catalog(), Path(mkdtemp(dir=tmp_path))
        head = head or catalog.head()
        assert head is not None
        catalog.fetch(head, folder)
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    return files


@pytest.fixture
def small_parts(monkeypatch) -> None:
    """Files are sent in parts of some 30,000 bytes."""
    monkeypatch.setattr("rag.stores.server.catalog._PART", 30_000)


def stored(server: QdrantServer) -> set[Any]:
    """Return the ids of all points of the catalog."""
    return {point.id for point in server.engine.scroll(NAME, limit=1000)[0]}


@pytest.mark.usefixtures("small_parts")
def test_large_files_go_in_several_requests(catalog, publish, read, server):
    since = len(server.requests)
    head = publish(catalog, LARGE)
    sent = server.paths()[since:].count(f"PUT /collections/{NAME}/points")
    assert sent == head.parts > 3
    assert read() == LARGE


# -- a run that is killed --------------------------------------------------------------


def test_what_killed_runs_left_goes_with_the_next_catalog_and_points_of_others_stay(
    catalog, publish, read, server
):
    publish(catalog, OLD)
    server.fail("hangup", after=2)  # a part is there, and the head is not changed
    with pytest.raises(httpx.HTTPError):
        publish(catalog, NEW)
    server.fail("")
    server.engine.upsert(NAME, [models.PointStruct(id=5, vector={}, payload={"n": 5})])
    publish(catalog, NEW)
    assert read() == NEW
    assert len(stored(server)) == 1 + 2 + 1  # the head, its parts, and what is not rag's


# -- what goes wrong on the server -----------------------------------------------------


@pytest.mark.parametrize("text", [None, 5, "", "AAAA", "日記", "x" * 1000])
def test_a_damaged_part_is_said_to_be_one(text, catalog, publish, read, server):
    publish(catalog, OLD)
    for key in stored(server) - {0}:
        server.engine.set_payload(NAME, {"part": text}, [key])
    with pytest.raises(IndexUnavailableError, match=r"the catalog of .*is damaged") as caught:
        read()
    assert f"Delete the collection '{NAME}'" in caught.value.hint
    publish(catalog, NEW)
    assert read() == NEW


@rows(
    "payload",
    *({"version": 7}, {"parts": "abc"}, {"unfinished": "yes"}),
)
def test_a_head_of_another_kind_is_said_to_be_damaged(payload, catalog, server):
    server.engine.set_payload(NAME, payload, [0])
    with pytest.raises(IndexUnavailableError, match="is damaged"):
        catalog.head()


# -- two at once -----------------------------------------------------------------------


def test_a_head_that_another_machine_took_is_not_changed(
    catalog, publish, read, open_catalog, tmp_path
):
    publish(catalog, OLD)
    late, before = open_catalog(), catalog.head()
    assert before is not None
    taken = catalog.change(before, machine="the other")
    with pytest.raises(LockedError, match="has taken over"):
        late.change(before, **late.send(tmp_path, "late"))
    assert catalog.head() == taken
    assert read() == OLD
