"""The catalog on the server: published by one write, read whole or not at all, and swept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import httpx
import pytest
from qdrant_client import models

from qdrant_server import QdrantServer
from rag.config import StoreConfig
from rag.exceptions import IndexUnavailableError, UsageError
from rag.stores.server.blocks import BLOCK, Place
from rag.stores.server.catalog import FILES, Catalog, ChangedError
from rag.stores.server.head import Head
from rag.stores.server.rest import RestClient

NAME = "notes.catalog"
Files = dict[str, bytes]


def blocks(*numbers: int) -> bytes:
    """Some blocks, each full of one byte."""
    return b"".join(bytes([number]) * BLOCK for number in numbers)


OLD: Files = dict(zip(FILES, (blocks(1, 2, 3), blocks(7)), strict=True))
NEW: Files = dict(zip(FILES, (blocks(1, 4, 3) + b"end", blocks(8)), strict=True))


@pytest.fixture
def open_catalog(server: QdrantServer) -> Iterator[Callable[[], Catalog]]:
    """Open the catalog over a connection of its own, as another process does."""
    opened = []

    def make() -> Catalog:
        client = RestClient(StoreConfig(url=server.url, collection="notes", timeout=10))
        opened.append(closing(client))
        return Catalog(client)

    yield make
    for client in opened:
        with client:
            pass


@pytest.fixture
def catalog(open_catalog: Callable[[], Catalog]) -> Catalog:
    """One in which nothing was published yet."""
    catalog = open_catalog()
    catalog.create(Head("the index", machine="m"))
    return catalog


@pytest.fixture
def publish(tmp_path: Path) -> Callable[..., Head]:
    """Publish some files: `publish(catalog, NEW, version="2")`."""

    def published(catalog: Catalog, files: Files, **facts: Any) -> Head:
        folder = Path(mkdtemp(dir=tmp_path))
        for name, content in files.items():
            (folder / name).write_bytes(content)
        head = catalog.head()
        assert head is not None
        return catalog.publish(head, folder, **{"version": "1", **facts})

    return published


@pytest.fixture
def read(open_catalog: Callable[[], Catalog], tmp_path: Path) -> Callable[[], Files]:
    """Read the catalog as a machine does that has nothing of it."""

    def files() -> Files:
        catalog, folder = open_catalog(), Path(mkdtemp(dir=tmp_path))
        head = catalog.head()
        assert head is not None
        known: dict[str, Place] = {}
        catalog.listing(head).write(folder, known, catalog.fetch)
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    return files


def stored(server: QdrantServer) -> set[Any]:
    """Return the ids of all points of the catalog."""
    return {point.id for point in server.engine.scroll(NAME, limit=1000)[0]}


def sent(server: QdrantServer, since: int) -> int:
    """Return how many requests that write points came since."""
    return server.paths()[since:].count(f"PUT /collections/{NAME}/points")


def lose(server: QdrantServer, number: int) -> None:
    """Delete blocks behind the back of everybody."""
    ids = sorted(stored(server) - {0})[:number]
    server.engine.delete(NAME, models.PointIdsList(points=ids))


def test_what_was_published_is_read(
    catalog: Catalog, publish: Callable[..., Head], read: Callable[[], Files]
) -> None:
    head = publish(catalog, OLD, version="1", points=12)
    assert read() == OLD
    assert (head.version, head.points, head.index, head.machine) == ("1", 12, "the index", "m")


def test_no_block_is_larger_than_a_megabyte_and_all_are_compressed(
    catalog: Catalog, publish: Callable[..., Head], server: QdrantServer
) -> None:
    publish(catalog, OLD)
    points, _ = server.engine.scroll(NAME, limit=1000)
    sizes = [len(point.payload["block"]) for point in points if point.id != 0]
    assert len(sizes) == 5 and max(sizes) < 2000


def test_of_a_small_change_only_what_changed_is_sent(
    catalog: Catalog, publish: Callable[..., Head], server: QdrantServer
) -> None:
    publish(catalog, OLD)
    before = stored(server)
    publish(catalog, {**OLD, FILES[0]: blocks(1, 2, 4)})
    assert len(stored(server) - before) == 2  # the block, and the listing


def test_to_publish_the_same_again_sends_no_block(
    catalog: Catalog, publish: Callable[..., Head], server: QdrantServer
) -> None:
    publish(catalog, OLD)
    since = len(server.requests)
    publish(catalog, OLD, version="2")
    assert sent(server, since) == 0


def test_many_blocks_go_in_several_requests(
    catalog: Catalog,
    publish: Callable[..., Head],
    read: Callable[[], Files],
    server: QdrantServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rag.stores.server.catalog._REQUEST", 1000)
    files = {FILES[0]: blocks(*range(20))}
    since = len(server.requests)
    publish(catalog, files)
    assert sent(server, since) > 5
    assert read() == files


# -- a run that is killed --------------------------------------------------------------


def test_wherever_a_run_is_killed_readers_see_the_catalog_before_or_the_new_one(
    catalog: Catalog,
    publish: Callable[..., Head],
    read: Callable[[], Files],
    server: QdrantServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rag.stores.server.catalog._REQUEST", 0)  # a request for each block
    seen = []
    for number in count():
        publish(catalog, OLD)
        server.fail("hangup", after=number)
        is_killed = True
        with suppress(httpx.HTTPError):
            publish(catalog, NEW, version="2")
            is_killed = False
        server.fail("")
        seen.append(read())
        publish(catalog, NEW, version="3")
        assert read() == NEW
        if not is_killed:
            break
    assert seen == [OLD] * 9 + [NEW] * 2


def test_a_request_whose_answer_is_lost_does_no_harm(
    catalog: Catalog,
    publish: Callable[..., Head],
    read: Callable[[], Files],
    server: QdrantServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rag.stores.server.catalog._REQUEST", 0)
    answer, left = server.answer, 0

    def answered(*request: Any) -> Any:
        nonlocal left
        result = answer(*request)
        left -= 1
        if left < 0:
            raise ValueError("it was done, but nobody hears of it")
        return result

    seen = []
    for number in range(10):
        publish(catalog, OLD)
        left = number
        monkeypatch.setattr(server, "answer", answered)
        with pytest.raises(httpx.HTTPError):
            publish(catalog, NEW, version="2")
        monkeypatch.setattr(server, "answer", answer)
        seen.append(read())
        publish(catalog, NEW, version="3")
        assert read() == NEW
    assert seen == [OLD] * 8 + [NEW] * 2


def test_what_killed_runs_left_goes_with_the_next_catalog(
    catalog: Catalog, publish: Callable[..., Head], read: Callable[[], Files], server: QdrantServer
) -> None:
    publish(catalog, OLD)
    server.fail("hangup", after=4)  # its blocks are there, and the head is not changed
    with pytest.raises(httpx.HTTPError):
        publish(catalog, NEW)
    server.fail("")
    left = stored(server)
    third = {**OLD, FILES[1]: blocks(9)}
    publish(catalog, third)
    assert read() == third
    assert len(left - stored(server)) == 4  # the blocks 4, "end" and 8, and the listing


# -- what was replaced -----------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Set the clock: `clock(600)` is ten minutes after the beginning."""

    def at(seconds: float) -> None:
        monkeypatch.setattr("rag.stores.server.catalog.time.time", lambda: 1e9 + seconds)

    at(0)
    return at


def test_replaced_blocks_stay_for_ten_minutes(
    catalog: Catalog,
    publish: Callable[..., Head],
    server: QdrantServer,
    clock: Callable[[float], None],
) -> None:
    publish(catalog, OLD)
    before = stored(server)
    publish(catalog, NEW)
    clock(599)
    publish(catalog, {**NEW, FILES[1]: blocks(9)})
    assert stored(server) >= before
    clock(601)
    publish(catalog, {**NEW, FILES[1]: blocks(10)})
    assert len(before - stored(server)) == 3  # the blocks 2 and 7, and the listing


def test_a_reader_that_began_before_can_end(
    catalog: Catalog, publish: Callable[..., Head], open_catalog: Callable[[], Catalog]
) -> None:
    before = publish(catalog, OLD)
    publish(catalog, NEW)
    reader = open_catalog()
    listing = reader.listing(before)
    assert {*reader.fetch(sorted(listing.keys()))} == listing.keys()


def test_a_block_that_is_used_again_stays(
    catalog: Catalog,
    publish: Callable[..., Head],
    read: Callable[[], Files],
    clock: Callable[[float], None],
) -> None:
    publish(catalog, OLD)
    publish(catalog, NEW)
    publish(catalog, OLD)
    clock(700)
    publish(catalog, OLD, version="2")
    assert read() == OLD


def test_after_the_clock_was_set_back_nothing_stays_for_ever(
    catalog: Catalog,
    publish: Callable[..., Head],
    server: QdrantServer,
    clock: Callable[[float], None],
) -> None:
    publish(catalog, OLD)
    publish(catalog, NEW)
    clock(-100_000)
    publish(catalog, NEW, version="2")
    assert len(stored(server)) == 1 + 5 + 1  # the head, the blocks, the listing


# -- what goes wrong on the server -----------------------------------------------------


@pytest.mark.parametrize("lost", [1, 3, 5])
def test_blocks_that_the_server_lost_are_sent_again(
    lost: int,
    catalog: Catalog,
    publish: Callable[..., Head],
    read: Callable[[], Files],
    server: QdrantServer,
) -> None:
    head = publish(catalog, OLD)
    assert catalog.is_whole(head)
    lose(server, lost)
    assert not catalog.is_whole(head)
    head = publish(catalog, OLD)
    assert read() == OLD and catalog.is_whole(head)


@pytest.mark.parametrize("text", [None, 5, "", "AAAA", "日記", "x" * 1000])
def test_a_damaged_block_is_said_to_be_one(
    text: Any,
    catalog: Catalog,
    publish: Callable[..., Head],
    read: Callable[[], Files],
    server: QdrantServer,
) -> None:
    publish(catalog, OLD)
    for key in stored(server) - {0}:
        server.engine.set_payload(NAME, {"block": text}, [key])
    with pytest.raises(
        IndexUnavailableError, match=r"the catalog of the index .*is damaged"
    ) as caught:
        read()
    assert f"Delete the collection '{NAME}'" in caught.value.hint
    publish(catalog, NEW)  # the listing cannot be read: nothing of it is relied on
    head = catalog.head()
    assert head is not None and catalog.listing(head).files.keys() == NEW.keys()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("index", 5),
        ("version", 7),
        ("listing", "abc"),
        ("listing", ["no key"]),
        ("listing", [7]),
        ("blocks", "7"),
        ("seconds", []),
        ("unfinished", "yes"),
    ],
)
def test_a_head_of_another_kind_is_said_to_be_damaged(
    field: str, value: object, catalog: Catalog, server: QdrantServer
) -> None:
    server.engine.set_payload(NAME, {field: value}, [0])
    with pytest.raises(IndexUnavailableError, match="is damaged") as caught:
        catalog.head()
    assert field in caught.value.details


def test_the_name_of_a_machine_is_one_line_without_control_characters(
    catalog: Catalog, server: QdrantServer
) -> None:
    server.engine.set_payload(NAME, {"name": "des\x1b[31mk\n" + "x" * 1000}, [0])
    head = catalog.head()
    assert head is not None and len(head.name) <= 200
    assert "\x1b" not in head.name and "\n" not in head.name


def test_a_head_of_somebody_else_is_said_to_be_damaged(
    catalog: Catalog, server: QdrantServer
) -> None:
    server.engine.overwrite_payload(NAME, {"title": "a point of others"}, [0])
    with pytest.raises(IndexUnavailableError, match="is damaged"):
        catalog.head()


def test_another_format_is_not_read(catalog: Catalog, server: QdrantServer) -> None:
    server.engine.set_payload(NAME, {"format": 2, "index": {"of": "another kind"}}, [0])
    with pytest.raises(IndexUnavailableError, match="another version of rag"):
        catalog.head()


@pytest.mark.parametrize("retired", ["soon", 7, [1], [[1]], [["x", []]], [[1.0, 5]]])
def test_garbage_in_the_list_of_what_was_replaced_is_no_hindrance(
    retired: Any, catalog: Catalog, publish: Callable[..., Head], server: QdrantServer
) -> None:
    publish(catalog, OLD)
    publish(catalog, NEW)
    server.engine.set_payload(NAME, {"retired": retired}, [0])
    publish(catalog, NEW, version="2")
    assert len(stored(server)) == 1 + 5 + 1


def test_points_of_others_are_no_hindrance(
    catalog: Catalog, publish: Callable[..., Head], read: Callable[[], Files], server: QdrantServer
) -> None:
    publish(catalog, OLD)
    foreign = [models.PointStruct(id=n, vector={}, payload={"n": n}) for n in (5, 6)]
    server.engine.upsert(NAME, foreign)
    publish(catalog, NEW)
    assert read() == NEW and not stored(server) & {5, 6}


def test_a_collection_of_others_is_not_made_a_catalog(
    server: QdrantServer, open_catalog: Callable[[], Catalog]
) -> None:
    server.engine.create_collection(NAME, {})
    server.engine.upsert(NAME, [models.PointStruct(id=5, vector={}, payload={"n": 1})])
    with pytest.raises(UsageError, match=r"'notes\.catalog' .* that rag did not write") as caught:
        open_catalog().create(Head("the index"))
    assert "store.collection" in caught.value.hint
    assert stored(server) == {5}


# -- two at once -----------------------------------------------------------------------


def test_a_head_that_somebody_else_changed_is_not_changed(
    catalog: Catalog, open_catalog: Callable[[], Catalog]
) -> None:
    head, other = catalog.head(), open_catalog()
    assert head is not None
    other.change(head, name="the other")
    with pytest.raises(ChangedError) as caught:
        catalog.change(head, name="this one")
    now = other.head()
    assert now is not None and now == caught.value.head
    assert now.name == "the other"


def test_who_comes_second_finds_the_head_of_the_first(
    open_catalog: Callable[[], Catalog],
) -> None:
    first, second = open_catalog(), open_catalog()
    made = first.create(Head("the index", machine="first"))
    assert second.create(Head("another", machine="second")) == made


def test_who_publishes_too_late_takes_nothing_away(
    catalog: Catalog,
    publish: Callable[..., Head],
    read: Callable[[], Files],
    open_catalog: Callable[[], Catalog],
    tmp_path: Path,
) -> None:
    publish(catalog, OLD)
    late, before = open_catalog(), catalog.head()
    assert before is not None
    # The other one has sent its blocks, which to this one look like what a killed run left.
    change, folder = catalog.change, tmp_path / "late"
    folder.mkdir()
    (folder / FILES[0]).write_bytes(blocks(20))

    def overtaken(head: Head, **values: Any) -> Head:
        with pytest.raises(ChangedError):
            late.publish(replace(before, token="another"), folder, version="late")
        return change(head, **values)

    catalog.change = overtaken  # type: ignore[method-assign]
    publish(catalog, NEW, version="2")
    assert read() == NEW
