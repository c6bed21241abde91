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
from rag.index.snapshots import MANIFEST
from rag.stores.server.catalog import Catalog, Head
from rag.stores.server.rest import RestClient
from tables import rows

NAME = "notes.catalog"

OLD, NEW = b"old names " * 1000, b"new names " * 2000
# Of bytes that cannot be compressed, so that they are sent in several parts.
LARGE = random.Random(1).randbytes(200_000)


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
    """Publish a manifest: `publish(catalog, NEW)`."""
    versions = count()

    def published(catalog: Catalog, content: bytes) -> Head:
        folder = Path(mkdtemp(dir=tmp_path))
        (folder / MANIFEST).write_bytes(content)
        head = catalog.head()
        assert head is not None
        sent = catalog.send(folder, f"version {next(versions)}")
        changed = catalog.change(head, **sent)
        catalog.sweep(changed)
        return changed

    return published


@pytest.fixture
def read(open_catalog, tmp_path) -> Callable[[], bytes]:
    """Read the catalog as it is."""

    def content() -> bytes:
        catalog, folder = open_catalog(), Path(mkdtemp(dir=tmp_path))
        head = catalog.head()
        assert head is not None
        catalog.fetch(head, folder)
        return (folder / MANIFEST).read_bytes()

    return content


@pytest.fixture
def small_parts(monkeypatch) -> None:
    """It is sent in parts of some 30,000 bytes."""
    monkeypatch.setattr("rag.stores.server.catalog._PART", 30_000)


def stored(server: QdrantServer) -> set[Any]:
    """Return the ids of all points of the catalog."""
    return {point.id for point in server.engine.scroll(NAME, limit=1000)[0]}


@pytest.mark.usefixtures("small_parts")
def test_a_large_catalog_goes_in_several_requests(catalog, publish, read, server):
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
    server.fail("hangup", after=1)  # a part is there, and the head is not changed
    with pytest.raises(httpx.HTTPError):
        publish(catalog, NEW)
    server.fail("")
    server.engine.upsert(NAME, [models.PointStruct(id=5, vector={}, payload={"n": 5})])
    publish(catalog, NEW)
    assert read() == NEW
    assert len(stored(server)) == 1 + 1 + 1  # the head, its part, and what is not rag's


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
    (tmp_path / MANIFEST).write_bytes(NEW)
    late, before = open_catalog(), catalog.head()
    assert before is not None
    taken = catalog.change(before, machine="the other")
    with pytest.raises(LockedError, match="has taken over"):
        late.change(before, **late.send(tmp_path, "late"))
    assert catalog.head() == taken
    assert read() == OLD
