"""What a search needs beside the points, on the server: the catalog of an index, and who writes it.

It lies in a collection of its own, `<collection>.catalog`. One point there, the head, names the
version of the catalog and the machine that writes it; the others hold the manifest, compressed, in
parts. The head is changed by a single write: whoever reads sees the catalog before or the one
after, and begins again where parts went meanwhile.

A change of the head counts only where machine, version and whether a run goes on are still those
that were read: of two machines that change it at once one is refused. A machine that only reads
fetches the catalog whenever the head names another version than it has.
"""

from __future__ import annotations

import json
import socket
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4, uuid5

import httpx

from rag.config import StoreConfig
from rag.exceptions import IndexUnavailableError, LockedError, StoreConnectionError, UsageError
from rag.index.snapshots import MANIFEST, SERVER, IndexDirectory
from rag.stores.server.rest import RestClient
from rag.support.files import changing, claim_data_folder, read_file, replace_durably
from rag.text.messages import brief_reply

FORMAT = 6
_MACHINE = "machine.json"
_LONGEST_NAME = 100
TAKE_OVER = "To write it from here from now on: `rag index --take-over`"
_HEAD = 0  # the id of its point
_PARTS = UUID("5a3f6f0e-6d0b-4f0e-9d7e-2a4f3f1c8b52")
_PART = 8_000_000  # bytes of a part, before it is compressed; a server takes 32 MB a request
_LEVEL = 4  # of compression: half the time of zlib's default, 3 % more bytes
_WAITED = {"wait": "true"}
# Through one copy, the same for all who write, unless it is known to be gone. ("strong" would fail
# while its machine is away.)
_ORDERED = {**_WAITED, "ordering": "medium"}
_ASKING = 3.0  # seconds to find out whether there is a newer catalog


@dataclass(frozen=True)
class Head:
    """The head of a catalog. The file SERVER in the folder of an index holds that of the catalog
    which is the current snapshot there."""

    machine: str = ""  # the id of the one that writes
    name: str = ""  # of that machine
    since: str = ""  # when it began, as ISO text
    format: int = FORMAT
    version: str = ""  # of the catalog; "" before the first was published
    parts: int = 0  # of how many it is made
    unfinished: bool = False  # whether points were written that no catalog knows yet

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Head:
        """Read a head; a ValueError says that it is none."""
        if payload.get("format") != FORMAT:  # an older program counted parts otherwise
            payload = {**payload, "parts": 0}
        plain = asdict(cls())
        values = {name: payload.get(name, value) for name, value in plain.items()}
        if wrong := [name for name in plain if type(values[name]) is not type(plain[name])]:
            raise ValueError(f"wrong in its head: {', '.join(wrong)}")
        return cls(**values | {"name": brief_reply(values["name"])})

    @classmethod
    def read(cls, folder: Path) -> Head | None:
        """Return that of a folder, `None` where there is none; an empty one where it is damaged."""
        try:
            return cls.from_payload(json.loads(read_file(folder / SERVER)))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, AttributeError, RecursionError):
            return cls()

    def write(self, folder: Path) -> None:
        """Write it into a folder, all of it or nothing."""
        replace_durably(folder / SERVER, json.dumps(asdict(self)).encode())

    def is_same_catalog(self, other: Head | None) -> bool:
        """Return whether two name one version and one machine that writes it."""
        facts = self.version, self.machine
        return other is not None and facts == (other.version, other.machine)


def machine_id(directory: IndexDirectory) -> str:
    """Return the id of this machine, as the data folder of an index knows it; "" for none yet."""
    with suppress(OSError, ValueError, RecursionError, LookupError, TypeError):
        home = directory.home or directory.path
        return str(json.loads(read_file(home / _MACHINE))["id"])
    return ""


def claim(directory: IndexDirectory) -> dict[str, Any]:
    """Return what a head says of this machine when it begins to write: `machine`, `name`, `since`.
    The machine gets an id when it has none."""
    folder = directory.home or directory.path
    claim_data_folder(folder)
    with changing(folder):
        if not machine_id(directory):
            replace_durably(folder / _MACHINE, json.dumps({"id": uuid4().hex}).encode())
    name = socket.gethostname()[:_LONGEST_NAME] or "a machine without a name"
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    return {"machine": machine_id(directory), "name": name, "since": since}


def is_written_here(directory: IndexDirectory) -> bool:
    """Return whether this machine writes an index, as far as that is known here."""
    head = Head.read(directory.path)
    return head is None or head.machine in ("", machine_id(directory))


# -- the catalog on the server -------------------------------------------------------------


class Catalog:
    """The catalog of a collection; calls fail as `RestClient.request` does."""

    def __init__(self, client: RestClient) -> None:
        self.settings = client.settings
        self._client = client
        self._name = f"{self.settings.collection}.catalog"
        self._path = f"/collections/{self._name}"

    # -- the head ----------------------------------------------------------------------

    def head(self, seconds: float | None = None) -> Head | None:
        """Return the head, `None` when there is none, within some seconds.

        :raises IndexUnavailableError: when it is damaged, or of a later version of the program.
        """
        payload = self._payload(_HEAD, seconds)
        if not payload:
            return None
        if payload.get("format") not in (*range(FORMAT + 1), None):
            raise self.other_version()
        try:
            return Head.from_payload(payload)
        except ValueError as error:
            raise self._damaged(error) from error

    def _payload(self, identity: int | str, seconds: float | None = None) -> dict[str, Any] | None:
        asked = {"ids": [identity], "with_payload": True, "with_vector": False}
        path = f"{self._path}/points"
        points = self._client.request("POST", path, asked, allowed=404, seconds=seconds)
        return points[0]["payload"] if points else None

    def create(self, head: Head) -> Head:
        """Make the collection and its head, and return that: what is there stays, perhaps somebody
        else's."""
        layout = {
            "vectors": {},
            "shard_number": 1,  # the order of changes is that of one shard
            "replication_factor": self.settings.replication_factor,
            "write_consistency_factor": self.settings.write_consistency_factor,
            "on_disk_payload": True,
        }
        if not self._client.request("GET", f"{self._path}/exists")["exists"]:
            self._client.request("PUT", self._path, layout, allowed=httpx.codes.CONFLICT)
        point = {"id": _HEAD, "vector": {}, "payload": asdict(head)}
        insert = {"points": [point], "update_mode": "insert_only"}
        self._client.request("PUT", f"{self._path}/points", insert, params=_ORDERED)
        return self.head() or head

    def change(self, head: Head, **values: Any) -> Head:
        """Change a head as it was read.

        :raises LockedError: when another machine, or version, took its place; that stays.
        """
        changed = replace(head, format=FORMAT, **values)
        facts = {name: getattr(head, name) for name in ("machine", "version", "unfinished")}
        same = [{"key": name, "match": {"value": value}} for name, value in facts.items()]
        body = {"payload": asdict(changed), "filter": {"must": [{"has_id": [_HEAD]}, *same]}}
        self._client.request("PUT", f"{self._path}/points/payload", body, params=_ORDERED)
        now = self.head()
        if now != changed:
            raise taken_over(now)
        return changed

    def other_version(self) -> IndexUnavailableError:
        """Return the error that says that this program cannot read the catalog."""
        return IndexUnavailableError(
            f"the index at {self.settings.url} was written by another version of rag",
            hint="Use the same version on both machines.",
        )

    def _damaged(self, why: object) -> IndexUnavailableError:
        return IndexUnavailableError(
            f"the catalog of the index at {self.settings.url} is damaged",
            str(why),
            hint=f"Delete the collection {self._name!r} there, then index again on the machine that"
            " writes the index.",
        )

    # -- its parts ---------------------------------------------------------------------

    def is_whole(self, head: Head) -> bool:
        """Return whether the server has all parts of a catalog."""
        ours = {"must": [{"key": "version", "match": {"value": head.version}}]}
        body = {"exact": True, "filter": ours}
        count = self._client.request("POST", f"{self._path}/points/count", body)["count"]
        return head.format == FORMAT and count == head.parts + 1  # and the head

    def send(self, folder: Path, version: str) -> dict[str, Any]:
        """Send the manifest in a folder; return what the head says once it is the catalog."""
        number = 0
        with (folder / MANIFEST).open("rb") as file:
            while content := file.read(_PART):
                part = b64encode(zlib.compress(content, _LEVEL)).decode("ascii")
                payload = {"version": version, "part": part}
                point = {"id": part_id(version, number), "vector": {}, "payload": payload}
                body = {"points": [point]}
                self._client.request("PUT", f"{self._path}/points", body, params=_WAITED)
                number += 1
        return {"version": version, "parts": number}

    def sweep(self, head: Head) -> None:
        """Delete all parts but those of a head, which is the catalog's; points of others stay."""
        kept = {"key": "version", "match": {"value": head.version}}
        no_part = {"is_empty": {"key": "part"}}
        body = {"filter": {"must_not": [{"has_id": [_HEAD]}, kept, no_part]}}
        with suppress(httpx.HTTPError):  # the next time will do
            self._client.request("POST", f"{self._path}/points/delete", body, params=_WAITED)

    def fetch(self, head: Head, folder: Path) -> None:
        """Write the manifest of a catalog into a folder; a KeyError tells of a part that the server
        lacks, an IndexUnavailableError of one that is damaged."""
        with (folder / MANIFEST).open("wb") as target:
            for number in range(head.parts):
                payload = self._payload(part_id(head.version, number))
                if payload is None:
                    raise KeyError(number)
                try:
                    part = b64decode(str(payload.get("part")), validate=True)
                    target.write(zlib.decompress(part))
                except (ValueError, zlib.error) as error:
                    raise self._damaged(error) from error


def part_id(version: str, number: int) -> str:
    """Return the id of the point that holds a part of a catalog."""
    return str(uuid5(_PARTS, f"{version}/{number}"))


@contextmanager
def open_catalog(settings: StoreConfig) -> Iterator[Catalog]:
    """Open the catalog of a collection; the server's failures are ours meanwhile."""
    with closing(RestClient(settings)) as client, client.answering():
        yield Catalog(client)


# -- who may write -------------------------------------------------------------------------


def check_writer(head: Head | None, machine: str) -> None:
    """Raise a UsageError where another machine writes an index, by the head of its catalog; one of
    which nothing was written yet is anybody's."""
    if head and head.machine != machine and (head.version or head.unfinished):
        since = f", since {head.since[:16].replace('T', ' ')}" if head.since else ""
        raise UsageError(f"{head.name} writes this index{since}", hint=f"Index there. {TAKE_OVER}")


def taken_over(head: Head | None) -> LockedError:
    """Return the error that says who has taken over an index."""
    return LockedError(
        f"{head.name if head else 'somebody'} has taken over the index meanwhile",
        "nothing more is written from here, and nothing of it was published",
        hint=TAKE_OVER,
    )


# -- the catalog as the snapshot here ------------------------------------------------------


def refresh(settings: StoreConfig, directory: IndexDirectory, is_needed: bool = False) -> None:
    """Make the catalog on the server the current snapshot here, unless it is already, or a run
    writes here, or nothing can be written.

    :raises StoreConnectionError: when it does not answer, and that `is_needed` or nothing is here.
    """
    try:
        with open_catalog(settings) as catalog:
            head = catalog.head(min(settings.timeout, _ASKING))
            if head is None or not head.version or _is_current(head, directory):
                return
            try:
                with directory.writing(brief=True):  # other processes that fetch it wait
                    _fetch(catalog, head, directory)
            except (LockedError, UsageError, OSError):
                if directory.current() is None:
                    raise
    except StoreConnectionError:
        if is_needed or directory.current() is None:
            raise


def _is_current(head: Head, directory: IndexDirectory) -> bool:
    """Return whether a catalog is the current snapshot here, and nothing of it is gone."""
    is_same = directory.current() and head.is_same_catalog(Head.read(directory.path))
    return bool(is_same) and not directory.damage()


def _fetch(catalog: Catalog, head: Head, directory: IndexDirectory) -> None:
    """Make a catalog, or a newer one, the current snapshot; the lock is held."""
    if _is_current(head, directory):
        return
    if head.format != FORMAT:
        raise catalog.other_version()
    try:
        with directory.disk_in_view():
            directory.clear_work()
            catalog.fetch(head, directory.work)
        directory.publish(directory.newest() + 1)
    except KeyError:
        newer = catalog.head()
        if newer is None or newer.version == head.version:
            raise IndexUnavailableError(
                "the catalog of the index on the server lacks a part",
                hint=f"Index again on {head.name}: that writes what is missing.",
            ) from None
        _fetch(catalog, newer, directory)  # it was published meanwhile
    else:
        head.write(directory.path)
