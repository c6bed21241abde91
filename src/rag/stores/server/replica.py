"""The snapshot of an index that is written elsewhere: fetched from the server when it is newer."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rag.config import StoreConfig
from rag.config.servers import folder_name, note_folder
from rag.exceptions import IndexUnavailableError, LockedError, UsageError
from rag.index.index_snapshot import POINTS
from rag.index.snapshots import MANIFEST, IndexDirectory
from rag.stores.server.api_key import server_key
from rag.stores.server.blocks import Listing, Place
from rag.stores.server.catalog import FILES, Catalog
from rag.stores.server.errors import answering
from rag.stores.server.head import Head
from rag.stores.server.identity import ServerMark
from rag.stores.server.rest import RestClient
from rag.support.owned_folders import claim_data_folder

_ASKING = 3.0  # seconds to find out whether there is a newer catalog
_WAITING = 10.0  # seconds for another process that fetches it
_TRIES = 5


class Replica:
    """What is here of an index on a server.

    :param directory: its folder, as the settings name it.
    """

    def __init__(self, settings: StoreConfig, directory: IndexDirectory) -> None:
        self.settings, self.directory = settings, directory

    def refresh(self) -> Head | None:
        """Make the catalog on the server the current snapshot here, unless it is already.

        `directory` is the folder of the index then.

        :returns: the head of the catalog, `None` when the server has none.
        :raises StoreConnectionError: when the server does not answer.
        :raises IndexUnavailableError: when another version of the program wrote it.
        """
        quick = replace(self.settings, timeout=min(self.settings.timeout, _ASKING))
        asking, client = RestClient(quick), RestClient(self.settings)
        try:
            with answering(self.settings, server_key(self.settings)):
                head = Catalog(asking).head()
                if head is None or not head.version:
                    return head
                self._find_folder(head)
                if not self._has(head):
                    head = self._fetch(Catalog(client), head)
                self._note_writer(head)
                return head
        finally:
            asking.close()
            client.close()

    def _find_folder(self, head: Head) -> None:
        """Choose the folder of the index, whatever the address at which it was found."""
        directory, home = self.directory, self.directory.home
        mark = ServerMark.read(directory.path)
        is_new = mark is None and directory.current() is None
        if (mark and mark.index == head.index) or home is None:
            return
        marks = {path: ServerMark.read(path) for path in sorted(home.glob("index-*"))}
        same = [path for path, found in marks.items() if found and found.index == head.index]
        if not same and is_new:
            return
        folder = same[0] if same else home / folder_name(head.index)
        claim_data_folder(home)
        note_folder(home, self.settings.addresses, self.settings.collection, folder.name)
        self.directory = IndexDirectory(folder, home)

    def _note_writer(self, head: Head) -> None:
        folder = self.directory.path
        if (head.machine, head.name, head.since) == _writer(ServerMark.read(folder)):
            return
        with suppress(LockedError, UsageError, OSError), self.directory.writing():
            mark = ServerMark.read(folder)
            if mark and mark.version == head.version:
                named = replace(mark, machine=head.machine, name=head.name, since=head.since)
                named.write(folder)

    def _has(self, head: Head) -> bool:
        """Return whether the catalog is the current snapshot here, and nothing of it is gone."""
        mark, name = ServerMark.read(self.directory.path), self.directory.current()
        if not (mark and mark.version == head.version and name):
            return False
        is_there = (self.directory.path / name / POINTS).exists()
        return name == self.directory.announced() and is_there and not self.directory.damage()

    def _fetch(self, catalog: Catalog, head: Head) -> Head:
        """Fetch a catalog; while another process of this machine writes, wait a while for it."""
        until = time.monotonic() + _WAITING
        while True:
            try:
                with self.directory.writing():
                    return self._fetch_newest(catalog, head)
            except (UsageError, OSError):  # nothing can be written here
                if self.directory.current():
                    return head
                raise
            except LockedError:
                mark = ServerMark.read(self.directory.path)
                is_ours = mark is not None and head.version in mark.known()
                is_waited = time.monotonic() >= until
                if self.directory.current() and (is_ours or is_waited):
                    return head
                if is_waited:
                    raise
                time.sleep(0.05)

    def _fetch_newest(self, catalog: Catalog, head: Head) -> Head:
        for _ in range(_TRIES):  # each turn means that a newer one was published meanwhile
            if self._has(head):
                return head
            try:
                listing = catalog.listing(head)
                self._import(catalog, head, listing)
                return head
            except KeyError as error:
                now = catalog.head()
                if now is None or now.version == head.version:
                    raise _incomplete(head) from error
                head = now
        raise _incomplete(head)

    def _import(self, catalog: Catalog, head: Head, listing: Listing) -> None:
        directory = self.directory
        known: dict[str, Place] = {}
        for folder in (directory.path / (directory.current() or "work"), directory.work):
            known |= Listing.of(folder, FILES).places(folder)

        def fill(folder: Path) -> None:
            listing.write(folder, known, catalog.fetch)

        number = max(directory.newest() + 1, head.revision)
        mark = ServerMark.read(directory.path)
        if mark is None:  # without it a folder without points is none
            mark = ServerMark(head.index)
            mark.write(directory.path)
        # What is staged here goes on from a catalog only if it was published from here.
        is_mine = head.version in mark.known() or not (directory.work / MANIFEST).exists()
        directory.import_files(number, head.points, fill)
        head.mark(head.version if is_mine else mark.work).write(directory.path)


def refresh(settings: StoreConfig, directory: IndexDirectory) -> IndexDirectory:
    """Bring what is here of an index up to date, as far as its server answers.

    :returns: the folder of the index, which another one may be once the server was asked.
    :raises StoreConnectionError: when it does not answer, and nothing is here.
    """
    replica = Replica(settings, directory)
    replica.refresh()
    return replica.directory


def _writer(mark: ServerMark | None) -> tuple[str, str, str] | None:
    return (mark.machine, mark.name, mark.since) if mark else None


def _incomplete(head: Head) -> IndexUnavailableError:
    return IndexUnavailableError(
        "the catalog of the index on the server lacks a part",
        hint=f"Index again on {head.name}: that writes what is missing.",
    )
