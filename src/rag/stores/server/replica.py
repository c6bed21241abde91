"""The snapshot of an index that is written elsewhere: fetched from the server when it is newer."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from dataclasses import replace

from rag.config import StoreConfig
from rag.config.servers import folder_name, note_folder
from rag.exceptions import IndexUnavailableError, LockedError, UsageError
from rag.index.index_snapshot import POINTS
from rag.index.snapshots import MANIFEST, IndexDirectory
from rag.stores.server.catalog import FORMAT, Catalog, Head
from rag.stores.server.identity import ServerMark
from rag.stores.server.rest import RestClient
from rag.support.owned_folders import claim_data_folder

_ASKING = 3.0  # seconds to find out whether there is a newer catalog
_WAITING = 10.0  # seconds for another process that fetches it
_TRIES = 5


def refresh(settings: StoreConfig, directory: IndexDirectory) -> IndexDirectory:
    """Make the catalog on the server the current snapshot here, unless it is already.

    :param directory: the folder of the index, as the settings name it.
    :returns: the folder of the index, which may be another once the server was asked.
    :raises StoreConnectionError: when the server does not answer.
    :raises IndexUnavailableError: when another version of the program wrote it.
    """
    quick = RestClient(replace(settings, timeout=min(settings.timeout, _ASKING)))
    client = RestClient(settings)
    with client.answering(), closing(quick), closing(client):
        head = Catalog(quick).head()
        if head is not None and head.version:
            directory = _folder_of(head, settings, directory)
            if not _has(directory, head):
                head = _fetch(Catalog(client), head, directory)
            _note_writer(directory, head)
    return directory


def _folder_of(head: Head, settings: StoreConfig, directory: IndexDirectory) -> IndexDirectory:
    """Return the folder of the index, whatever the address at which it was found."""
    home, mark = directory.home, ServerMark.read(directory.path)
    is_new = mark is None and directory.current() is None
    if (mark and mark.index == head.index) or home is None:
        return directory
    marks = {path: ServerMark.read(path) for path in sorted(home.glob("index-*"))}
    same = [path for path, other in marks.items() if other and other.index == head.index]
    if not same and is_new:
        return directory
    folder = same[0] if same else home / folder_name(head.index)
    claim_data_folder(home)
    note_folder(home, settings.addresses, settings.collection, folder.name)
    return IndexDirectory(folder, home)


def _note_writer(directory: IndexDirectory, head: Head) -> None:
    mark = ServerMark.read(directory.path)
    if mark and (head.machine, head.name, head.since) == (mark.machine, mark.name, mark.since):
        return
    with suppress(LockedError, UsageError, OSError), directory.writing():
        mark = ServerMark.read(directory.path)
        if mark and mark.version == head.version:
            named = replace(mark, machine=head.machine, name=head.name, since=head.since)
            named.write(directory.path)


def _has(directory: IndexDirectory, head: Head) -> bool:
    """Return whether a catalog is the current snapshot here, and nothing of it is gone."""
    mark, name = ServerMark.read(directory.path), directory.current()
    if not (mark and mark.version == head.version and name):
        return False
    is_there = (directory.path / name / POINTS).exists()
    return name == directory.announced() and is_there and not directory.damage()


def _fetch(catalog: Catalog, head: Head, directory: IndexDirectory) -> Head:
    """Fetch a catalog; while another process of this machine does, wait a while for it.

    :returns: the head that was fetched, or, where the snapshot here must do, the one given.
    """
    until = time.monotonic() + _WAITING
    while True:
        try:
            with directory.writing():
                return _fetch_newest(catalog, head, directory)
        except (UsageError, OSError):  # nothing can be written here
            if directory.current() is None:
                raise
            return head
        except LockedError:
            mark, is_over = ServerMark.read(directory.path), time.monotonic() >= until
            is_ours = mark is not None and head.version in mark.known()
            if directory.current() is not None and (is_ours or is_over):
                return head
            if is_over:
                raise
        time.sleep(0.05)


def _fetch_newest(catalog: Catalog, head: Head, directory: IndexDirectory) -> Head:
    for _ in range(_TRIES):  # each turn means that a newer one was published meanwhile
        if _has(directory, head):
            return head
        if head.format != FORMAT:
            raise catalog.other_version()
        try:
            _import(catalog, head, directory)
            return head
        except KeyError:
            now = catalog.head()
            if now is None or now.version == head.version:
                break
            head = now
    raise IndexUnavailableError(
        "the catalog of the index on the server lacks a part",
        hint=f"Index again on {head.name}: that writes what is missing.",
    )


def _import(catalog: Catalog, head: Head, directory: IndexDirectory) -> None:
    mark = ServerMark.read(directory.path)
    if mark is None:  # without it a folder without points is none
        mark = ServerMark(head.index)
        mark.write(directory.path)
    # What is staged here goes on from a catalog only if it was published from here.
    is_mine = head.version in mark.known() or not (directory.work / MANIFEST).exists()
    number = max(directory.newest() + 1, head.revision)
    directory.import_files(number, head.points, lambda folder: catalog.fetch(head, folder))
    head.mark(head.version if is_mine else mark.work).write(directory.path)
