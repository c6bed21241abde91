"""Bringing an index up to date before a search, where that is done in a moment.

Only what an index holds is looked at: no vault comes or goes, and nothing is rebuilt. No model is
asked: new text is found by its words, until a run of the indexer embeds it.

Of 10,000 notes the look takes nearly as long as a search. So the program looks in a process beside
the search, which is done again where something had changed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rag.app.index_state import count_changed, open_index
from rag.config import RAGConfig
from rag.exceptions import EMBED_REST, LockedError, RAGError
from rag.support.side_process import SideProcess, may_fork
from rag.text.messages import plural

if TYPE_CHECKING:
    from rag.index.manifest import Manifest
    from rag.indexing.run import IndexRun
    from rag.vault import Scan

MOST = 100  # changed notes; more are left to a run of the indexer, which shows how far it is
_GLANCE = 0.2  # seconds for looking what changed: those of about 20,000 notes
_PATIENCE = 10.0  # times as long where other work goes on, before what was saved is not found
_FAILURES = (RAGError, OSError, sqlite3.Error)


class Refreshed(NamedTuple):
    """What came of it.

    :param changed: how many notes the index still knows as they were; `None` where nobody knows.
    :param notices: what there is to tell.
    :param is_new: whether there is a new snapshot.
    """

    changed: int | None = None
    notices: tuple[str, ...] = ()
    is_new: bool = False


class _NeedsRebuildError(Exception):
    """All notes would have to be read again."""


class Refresh:
    """A refresh that goes on beside a search; use it as a context manager, which waits for its end.

    It is done at once where this process may not be forked: in other programs than ours.
    """

    def __init__(self, config: RAGConfig) -> None:
        self._process: SideProcess | None = None
        self._result: Refreshed | None = None
        self._is_indexing = False
        if may_fork():
            with suppress(OSError):
                self._process = SideProcess(lambda say: say(refresh(config, say)))
        if self._process is None:
            self._result = refresh(config)

    @property
    def is_over(self) -> bool:
        """Whether nothing need be waited for."""
        return self._result is not None

    def has_begun(self) -> bool:
        """Wait for the look; return whether what changed is being indexed, or was."""
        while self._result is None and not self._is_indexing:
            self._hear()
        return self._is_indexing

    def result(self) -> Refreshed:
        """Wait until what changed can be found, and return what came of it."""
        while self._result is None:
            self._hear()
        return self._result

    def _hear(self) -> None:
        """Take note of what is said next; of Ctrl-C tell who has begun to index."""
        assert self._process is not None
        try:
            said = self._process.hear()
        except EOFError:  # it was ended; that the index is not up to date is told as ever
            said = Refreshed()
        except KeyboardInterrupt:
            self._process.interrupt()
            return
        if isinstance(said, Refreshed):
            self._result = said
        else:
            self._is_indexing = True

    def __enter__(self) -> Refresh:
        return self

    def __exit__(self, *_: object) -> None:
        # Who has only looked has nothing more to do, and need not be waited for.
        if self._process is not None and (self._is_indexing or self._result is None):
            self._process.join()


def refresh(config: RAGConfig, tell: Callable[[object], None] = lambda what: None) -> Refreshed:
    """Index what changed, where it is little and nobody else writes the index.

    Whatever goes wrong is a notice, and so is Ctrl-C: the index can be searched as it was.

    :param tell: is told when it begins to index, and then what came of it as soon as searches find
        it.
    """
    scans: dict[str, Scan] = {}
    try:
        with open_index(config) as manifest:
            changed = count_changed(manifest, config, _GLANCE, _PATIENCE, scans)
            is_little = bool(changed) and _is_little(manifest, config, changed or 0)
            vaults = manifest.vaults()
    except _FAILURES:  # the search says what is wrong with it
        return Refreshed()
    if not is_little:
        return Refreshed(changed)
    tell(changed)
    try:
        return _index(config, vaults, scans, tell)
    except (LockedError, _NeedsRebuildError):  # that it is not up to date is told as ever
        return Refreshed(changed)
    except KeyboardInterrupt:
        return Refreshed(changed, ("interrupted: the index is searched as it was",))
    except _FAILURES as error:
        return Refreshed(changed, (f"the index could not be brought up to date: {error}",))


def _is_little(manifest: Manifest, config: RAGConfig, changed: int) -> bool:
    """Return whether so many changed notes can be indexed at once."""
    from rag.index.fingerprint import fingerprint

    if changed > MOST or not os.access(config.index_dir, os.W_OK):
        return False
    return manifest.get("fingerprint") == fingerprint(config)  # else it would be rebuilt


def _index(
    config: RAGConfig,
    vaults: dict[str, str],
    scans: dict[str, Scan],
    tell: Callable[[object], None],
) -> Refreshed:
    """Index the changed notes of vaults.

    :param scans: what their folders hold.
    :param tell: as in `refresh`.
    :raises LockedError: when another process writes the index.
    """
    from rag.indexing.child_writer import watch
    from rag.indexing.run import IndexRun
    from rag.stores import open_directory

    directory = open_directory(config)
    if config.store.url:
        from rag.indexing.take_over import require_writer

        require_writer(config, directory)

    def work(tell_size: Callable[[int], None]) -> Refreshed:
        with IndexRun(config, directory) as run:
            run.tell_size, run.scans = tell_size, scans
            run.writer.prepare()
            if run.writer.is_rebuilding:
                raise _NeedsRebuildError
            for vault, root in vaults.items():
                run.index_vault(vault, Path(root))
            run.publish()
            found = Refreshed(0, tuple(_told(run)), run.report.published)
            tell(found)  # to close the index takes a moment more
            return found

    return watch(directory, work)


def _told(run: IndexRun) -> Iterator[str]:
    """Yield what there is to tell of a run."""
    from rag.index.manifest import UNEMBEDDED

    reports = run.report.vaults.values()
    indexed = sum(report.added + report.changed for report in reports)
    gone = sum(report.deleted for report in reports)
    parts = [f"indexed {plural(indexed, 'changed note')}"] if indexed else []
    parts += [f"forgot {plural(gone, 'note')} no longer there"] if gone else []
    if parts and run.embedded and run.manifest.get(UNEMBEDDED):
        parts.append("some chunks have no embedding")
        yield f"{', '.join(parts)} {EMBED_REST}"
    elif parts:
        yield ", ".join(parts)
    for report in reports:
        for path, why in report.failed.items():
            yield f"{report.vault}/{path}: {why}"
