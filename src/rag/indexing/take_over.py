"""Which machine writes an index on a server, and letting this one do so from now on."""

from __future__ import annotations

import shutil

from rag.config import RAGConfig
from rag.exceptions import LockedError
from rag.index.frequencies import FREQUENCIES
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST, IndexDirectory
from rag.stores.server.catalog import ChangedError, check_writer, open_catalog, refresh
from rag.stores.server.identity import Machine, ServerMark, moment


def require_writer(config: RAGConfig, directory: IndexDirectory) -> None:
    """Make sure, before anything is changed, that this machine may write the configured index.

    :param directory: its folder, up to date.
    :raises UsageError: when another machine writes it; it says who, and since when.
    """
    with open_catalog(config.store) as catalog:
        head = catalog.head()
    check_writer(head, ServerMark.read(directory.path), Machine.of(directory))


def take_over(
    config: RAGConfig, directory: IndexDirectory, wait: bool = False, rebuild: bool = False
) -> str:
    """Let this machine write the configured index from now on.

    What it goes on from is the catalog on the server. A run that goes on elsewhere stops before its
    next write. After one that did not end, the next run here writes all chunks again: nobody knows
    which text each of them has.

    :param directory: its folder, up to date.
    :param wait: wait for another process of this machine that writes.
    :param rebuild: go on from nothing.
    :returns: whose index it was, "" when there was nothing to take over.
    :raises LockedError: when a third machine takes over meanwhile.
    """
    with open_catalog(config.store) as catalog, directory.writing(wait):
        head = catalog.head()
        mark, machine = ServerMark.read(directory.path), Machine.of(directory)
        if head is None:
            if mark is None or mark.machine in ("", machine.id):
                return ""
            # Its catalog is gone: go on from the snapshot here; nobody knows what followed it.
            _go_on_from(directory, is_unfinished=True)
            ServerMark(mark.index).write(directory.path)
            return mark.name
        is_known = not head.version or (mark is not None and head.version in mark.known())
        if head.machine == machine.id and is_known:
            return ""
        before = head.name
        if rebuild:
            directory.clear_work()
        else:
            if head.version:
                refresh(config.store, directory)
            _go_on_from(directory, head.unfinished)
        try:
            head = catalog.change(head, machine=machine.id, name=machine.name, since=moment())
        except ChangedError as error:
            raise LockedError(
                f"{error.head.name if error.head else before} is writing the index now",
                hint="Try again when its run has ended.",
            ) from error
        head.mark(head.version).write(directory.path)
        return before


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
