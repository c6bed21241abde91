"""What a search needs beside the points, on the server: the catalog of an index, and who writes it.

It lies in a collection of its own, `<collection>.catalog`. Every point there but one is a block of
a file (`rag.stores.server.blocks`). That one, the head, says of which blocks the catalog is made;
it is changed by a single write, so that whoever reads sees the catalog before or the one after.

Blocks that no longer belong to it stay for ten minutes: who began to read the catalog before has
time to end. Who takes longer finds a block missing, and begins again with the new head.

Every change of the head asks for the token that was read, and leaves another: of two machines that
change it at once one is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from rag.config import StoreConfig
from rag.exceptions import IndexUnavailableError, UsageError
from rag.index.frequencies import FREQUENCIES
from rag.index.snapshots import MANIFEST
from rag.stores.server.api_key import server_key
from rag.stores.server.blocks import Listing, cut, pack, unpack
from rag.stores.server.errors import answering
from rag.stores.server.head import FORMAT, Head
from rag.stores.server.identity import new_id
from rag.stores.server.rest import RestClient

FILES = (MANIFEST, FREQUENCIES)
_HEAD = 0  # the id of its point
_KEPT = 600.0  # seconds that a block stays after it was replaced
_PAGE = 10_000
_REQUEST = 4_000_000  # characters of blocks that are sent at once
_WAITING = {"wait": "true"}
# Through one copy, the same for all who write, unless it is known to be gone. ("strong" would fail
# while its machine is away.)
_ORDERED = {**_WAITING, "ordering": "medium"}
_PAUSES = (0.2, 1.0)  # seconds before a change is sent again

Read = Callable[[Iterable[str]], Iterable[tuple[str, bytes]]]


class ChangedError(Exception):
    """The head was changed by somebody else; `head` is what it is now."""

    def __init__(self, head: Head | None) -> None:
        super().__init__("the catalog was changed by somebody else")
        self.head = head


class Catalog:
    """The catalog of a collection.

    Every call may fail as `RestClient.request` does.
    """

    def __init__(self, client: RestClient) -> None:
        self.settings = client.settings
        self._client = client
        self._name = f"{self.settings.collection}.catalog"
        self._path = f"/collections/{self._name}"

    # -- the head ----------------------------------------------------------------------

    def head(self) -> Head | None:
        """Return the head, `None` when there is none.

        :raises IndexUnavailableError: when it is damaged, or another version of the program wrote
            the catalog.
        """
        found = self._payload({"exclude": ["retired"]})
        if not found:
            return None
        if found.get("format", FORMAT) != FORMAT:
            raise IndexUnavailableError(
                f"the index at {self.settings.url} was written by another version of rag",
                hint="Use the same version on both machines.",
            )
        try:
            return Head.from_payload(found)
        except ValueError as error:
            raise self._damaged(error) from error

    def create(self, head: Head) -> Head:
        """Make the collection and its head; what is there stays.

        :returns: the head as it is then, perhaps somebody else's.
        :raises UsageError: when the collection is there, and holds what is no catalog.
        """
        settings = self.settings
        layout = {
            "vectors": {},
            "shard_number": 1,  # the order of changes is that of one shard
            "replication_factor": settings.replication_factor,
            "write_consistency_factor": settings.write_consistency_factor,
            "on_disk_payload": True,
        }
        try:
            self._client.request("PUT", self._path, layout)
        except httpx.HTTPStatusError:
            if not self._client.request("GET", f"{self._path}/exists")["exists"]:
                raise
            self._refuse_others()
        point = {"id": _HEAD, "vector": {}, "payload": {**vars(head), "token": new_id()}}
        self._change_head("PUT", "/points", {"points": [point], "update_mode": "insert_only"})
        made = self.head()
        if made is None:
            raise ValueError("the head of the catalog was not kept")
        return made

    def change(self, head: Head, **values: Any) -> Head:
        """Change a head as it was read.

        :raises ChangedError: when it is not so any more; it stays as it is.
        """
        token = new_id()
        is_same = {"key": "token", "match": {"value": head.token}}
        changed = {
            "payload": {**values, "token": token},
            "filter": {"must": [{"has_id": [_HEAD]}, is_same]},
        }
        self._change_head("POST", "/points/payload", changed)
        now = self.head()
        if now is None or now.token != token:
            raise ChangedError(now)
        return now

    def _change_head(self, method: str, path: str, body: Any) -> None:
        """Change the head's point, again where a machine through which it went has just died.

        A change that was made the first time does nothing the second: its token has gone.
        """
        for pause in (*_PAUSES, None):
            try:
                self._client.request(method, f"{self._path}{path}", body, **_ORDERED)
                return
            except httpx.HTTPStatusError as error:
                is_passing = error.response.status_code == httpx.codes.INTERNAL_SERVER_ERROR
                if pause is None or not is_passing:
                    raise
            time.sleep(pause)

    def _payload(self, which: Any) -> dict[str, Any]:
        asked = {"ids": [_HEAD], "with_payload": which, "with_vector": False}
        try:
            found = self._client.request("POST", f"{self._path}/points", asked)
        except httpx.HTTPStatusError as error:
            if error.response.status_code == 404:
                return {}
            raise
        return (found[0]["payload"] or {}) if found else {}

    def _refuse_others(self) -> None:
        """:raises UsageError: when there is a point that is neither a block nor the head."""
        no_block = {"is_empty": {"key": "block"}}
        where = {"must": [no_block], "must_not": [{"has_id": [_HEAD]}]}
        if self._count(filter=where):
            raise UsageError(
                f"the collection {self._name!r} at {self.settings.url} holds points that rag did"
                " not write",
                hint="Name another in store.collection, or delete that one first.",
            )

    def _damaged(self, why: object) -> IndexUnavailableError:
        return IndexUnavailableError(
            f"the catalog of the index at {self.settings.url} is damaged",
            str(why),
            hint=f"Delete the collection {self._name!r} there, then index again on the machine that"
            " writes the index.",
        )

    # -- the blocks --------------------------------------------------------------------

    def listing(self, head: Head) -> Listing:
        """Return of which blocks a catalog is made.

        :raises KeyError: when a block of the listing is not there any more.
        :raises IndexUnavailableError: when it is damaged.
        """
        found = self.fetch(head.listing)
        try:
            return Listing.from_bytes(b"".join(found[key] for key in head.listing) or b"{}", FILES)
        except ValueError as error:
            raise self._damaged(error) from error

    def fetch(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return blocks by key, those that are there.

        :raises IndexUnavailableError: when one is damaged.
        """
        if not keys:
            return {}
        asked = {"ids": [*keys], "with_payload": True, "with_vector": False}
        found = self._client.request("POST", f"{self._path}/points", asked)
        return {str(point["id"]): self._block(point) for point in found}

    def _block(self, point: Mapping[str, Any]) -> bytes:
        try:
            return unpack(str(point["id"]), str(point["payload"]["block"]))
        except (LookupError, TypeError, ValueError) as error:
            raise self._damaged(error) from error

    def is_whole(self, head: Head) -> bool:
        """Return whether there are as many blocks as there were when it was published."""
        return self._count() >= head.blocks + 1

    def publish(self, head: Head, folder: Path, **facts: Any) -> Head:
        """Make the files in a folder the catalog.

        Nothing is deleted before the head was changed: who is refused then may have no right to.

        :param facts: of the head, the version among them.
        :raises ChangedError: when somebody else changed it meanwhile; it stays as it is.
        """
        listing = Listing.of(folder, FILES)
        listed = dict(cut(listing.to_bytes()))
        before = self._known(head)
        now = listing.keys() | listed.keys()
        places = listing.places(folder)

        def read(keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
            return ((key, listed[key] if key in listed else places[key].read()) for key in keys)

        self._send(read(sorted(now - before)))
        retired, old = self._retired(before - now, now)
        kept = now.union(*(keys for _, keys in retired))
        if self._count() != len(kept | old) + 1:  # the server lost some, or killed runs left some
            there = set(self._ids())
            self._send(read(sorted(now - there)))
            old = there - kept
        changed = self.change(
            head, **facts, listing=[*listed], blocks=len(kept), retired=retired, format=FORMAT
        )
        with suppress(httpx.HTTPError):  # the next time will do
            self._remove(old)
        return changed

    def _known(self, head: Head) -> set[str]:
        """Return the blocks of the catalog before, as far as they are known."""
        try:
            return self.listing(head).keys() | {*head.listing}
        except (KeyError, IndexUnavailableError):  # it is damaged: all of it is sent again
            return set()

    def _retired(
        self, gone: set[str], now: set[str]
    ) -> tuple[list[tuple[float, list[str]]], set[str | int]]:
        """Return the blocks that stay a while, with the time at which each was replaced, and those
        that stayed long enough."""
        known = _times(self._payload(["retired"]).get("retired"))
        at = time.time()
        stays = [(then, keys) for then, keys in known if 0 <= at - then < _KEPT]
        retired = [
            (then, [key for key in keys if key not in now])
            for then, keys in [*stays, (at, sorted(gone))]
            if keys
        ]
        kept = now.union(*(keys for _, keys in retired))
        old: set[str | int] = {key for _, keys in known for key in keys if key not in kept}
        return retired, old

    def _ids(self) -> Iterator[str | int]:
        """Yield the id of every point but the head; that of a block is a text."""
        offset = None
        while True:
            asked = {"limit": _PAGE, "offset": offset, "with_payload": False}
            page = self._client.request("POST", f"{self._path}/points/scroll", asked)
            yield from (point["id"] for point in page["points"] if point["id"] != _HEAD)
            offset = page["next_page_offset"]
            if offset is None:
                return

    def _count(self, **which: Any) -> int:
        asked = {"exact": True, **which}
        found = self._client.request("POST", f"{self._path}/points/count", asked)
        return int(found["count"])

    def _send(self, blocks: Iterable[tuple[str, bytes]]) -> None:
        batch: list[dict[str, Any]] = []
        size = 0
        for key, block in blocks:
            text = pack(block)
            batch.append({"id": key, "vector": {}, "payload": {"block": text}})
            size += len(text)
            if size > _REQUEST:
                self._upsert(batch)
                batch, size = [], 0
        if batch:
            self._upsert(batch)

    def _upsert(self, points: list[dict[str, Any]]) -> None:
        self._client.request("PUT", f"{self._path}/points", {"points": points}, **_WAITING)

    def _remove(self, keys: Iterable[str | int]) -> None:
        gone = [*keys]
        for start in range(0, len(gone), _PAGE):
            some = {"points": gone[start : start + _PAGE]}
            self._client.request("POST", f"{self._path}/points/delete", some, **_WAITING)


@contextmanager
def open_catalog(settings: StoreConfig) -> Iterator[Catalog]:
    """Open the catalog of a collection; the server's failures are ours meanwhile."""
    with answering(settings, server_key(settings)), closing(RestClient(settings)) as client:
        yield Catalog(client)


def _times(known: Any) -> list[tuple[float, list[str]]]:
    """Return the retired blocks of a head; nothing of what is none."""
    try:
        return [(float(then), [*map(str, keys)]) for then, keys in known or ()]
    except (TypeError, ValueError, OverflowError):
        return []  # those blocks are found as what killed runs left
