"""Which machine writes an index on a server, and letting this one do so from now on."""

from __future__ import annotations

import shutil
import time

from rag.config import RAGConfig
from rag.exceptions import LockedError
from rag.index.frequencies import FREQUENCIES
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST, IndexDirectory
from rag.indexing.reports import Progress, unseen
from rag.stores.server.catalog import Catalog, ChangedError, open_catalog
from rag.stores.server.claim import check_writer, moment
from rag.stores.server.head import Head
from rag.stores.server.identity import Machine, ServerMark
from rag.stores.server.replica import Replica

_ASKED = 1.0  # seconds between two looks at whether a run goes on


def require_writer(config: RAGConfig, directory: IndexDirectory) -> None:
    """Make sure, before anything is changed, that this machine may write the configured index.

    :param directory: its folder, up to date.
    :raises UsageError: when another machine writes it; it says who, and since when.
    """
    with open_catalog(config.store) as catalog:
        head = catalog.head()
    machine = Machine.of(directory)
    check_writer(head, ServerMark.read(directory.path), machine, is_free=lambda head: not head.run)


def take_over(
    config: RAGConfig,
    directory: IndexDirectory,
    wait: bool = False,
    progress: Progress | None = None,
    rebuild: bool = False,
) -> str:
    """Let this machine write the configured index from now on.

    What it goes on from is the catalog on the server. Where a run elsewhere ended in the middle,
    the next run here writes all chunks again: nobody knows which text each of them has.

    :param directory: its folder, up to date.
    :param wait: wait for another process of this machine that writes.
    :param progress: is told how long it waits for a run elsewhere, and at most how long.
    :param rebuild: go on from nothing; the catalog need not be whole.
    :returns: whose index it was, "" when there was nothing to take over.
    :raises LockedError: when a run goes on elsewhere.
    """
    with open_catalog(config.store) as catalog, directory.writing(wait):
        head = catalog.head()
        mark, machine = ServerMark.read(directory.path), Machine.of(directory)
        if head is None:
            return _take_what_is_here(directory, mark, machine)
        if not head.version and head.machine == machine.id:
            return ""
        if head.machine == machine.id and mark and head.version in mark.known():
            return ""
        before = head.name
        head = _wait_for_run(catalog, head, progress or unseen)
        if rebuild:
            directory.clear_work()
        else:
            if head.version:
                head = Replica(config.store, directory).refresh() or head
            _go_on_from(directory, head.unfinished)
        try:
            head = catalog.change(
                head, machine=machine.id, name=machine.name, since=moment(), run="", seconds=0.0
            )
        except ChangedError as error:
            raise _is_writing(error.head or head) from error
        head.mark(head.version).write(directory.path)
        return before


def _wait_for_run(catalog: Catalog, head: Head, progress: Progress) -> Head:
    """Wait until a run elsewhere would have shown that it goes on; return the head as it is then.

    :raises LockedError: when it goes on.
    """
    begun, longest = time.monotonic(), round(head.seconds)
    while head.run and (waited := time.monotonic() - begun) < head.seconds:
        progress(round(waited), longest)
        time.sleep(min(_ASKED, head.seconds))
        now = catalog.head()
        if now is None or (now.token != head.token and now.run):
            raise _is_writing(now or head)
        if not now.run:
            return now
    return head


def _take_what_is_here(directory: IndexDirectory, mark: ServerMark | None, machine: Machine) -> str:
    """Go on from the snapshot here of an index whose catalog is gone; return whose it was."""
    if mark is None or mark.machine in ("", machine.id):
        return ""
    _go_on_from(directory, is_unfinished=True)  # nobody knows what was written since
    ServerMark(mark.index).write(directory.path)
    return mark.name


def _go_on_from(directory: IndexDirectory, is_unfinished: bool) -> None:
    """Make the staging index that of the current snapshot, which is the catalog's.

    :param is_unfinished: whether points may have been written since that it does not know.
    """
    directory.clear_work()
    name = directory.current()
    if name is None:
        return
    for file in (MANIFEST, FREQUENCIES):
        source = directory.path / name / file
        is_known = file == MANIFEST or not is_unfinished
        if source.exists() and is_known:
            shutil.copyfile(source, directory.work / file)
    if is_unfinished:
        with Manifest.open_work(directory.work / MANIFEST) as manifest:
            manifest.distrust_points()


def _is_writing(head: Head) -> LockedError:
    return LockedError(
        f"{head.name} is writing the index now",
        hint="Try again when its run has ended.",
    )
