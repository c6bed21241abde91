"""Workspaces for a front-end that runs for long.

Each is lent to one thread at a time, and reads the newest snapshot when it is lent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rag.app.index_state import count_changed, open_index
from rag.app.workspace import Workspace
from rag.config import RAGConfig
from rag.exceptions import IndexUnavailableError, RAGError
from rag.stores import begin_opening

_MOST = 4  # readers at once; who comes later waits
_LOOK_EVERY = 5.0  # seconds between two looks for changed notes, while somebody asks
_LOOK = 2.0  # seconds that one may take


class Readers:
    """Lends workspaces of one configuration, until it is closed.

    The one that was given back last is lent first, so that requests that come one after the other
    are all answered by one reader, whose caches are warm.
    """

    def __init__(self, config: RAGConfig) -> None:
        self.config = config
        self._free = threading.BoundedSemaphore(_MOST)
        self._mutex = threading.Lock()
        self._idle: list[Workspace] = []
        self._is_closed = False
        self._changed: int | None = None
        self._is_looking = False
        self._looked = 0.0

    def prepare(self) -> None:
        """Begin to open the index for the first request."""
        self._give_back(self._new())

    @contextmanager
    def reader(self) -> Iterator[Workspace]:
        """Lend a workspace that reads the newest snapshot."""
        with self._free:
            workspace = self._take()
            try:
                yield workspace
            except IndexUnavailableError:
                workspace.close()  # the next may be better
                raise
            except RAGError:
                self._give_back(workspace)
                raise
            except BaseException:
                workspace.close()  # nobody knows what state it is in
                raise
            self._give_back(workspace)
        self._look_beside()

    def close(self) -> None:
        """Close the workspaces; one that is lent is closed when it is given back."""
        with self._mutex:
            self._is_closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with self._mutex:
            idle, self._idle = self._idle, []
        for workspace in idle:
            workspace.close()

    def _take(self) -> Workspace:
        with self._mutex:
            workspace = self._idle.pop() if self._idle else None
        if workspace is not None and not _is_current(workspace):
            workspace.close()
            self._close_idle()  # the others are as old
            self._changed, self._looked = None, 0.0
            workspace = None
        if workspace is None:
            return self._new()
        if self._looked:
            workspace.note_changes(self._changed)
        return workspace

    def _new(self) -> Workspace:
        return Workspace(self.config, begin_opening(self.config))

    def _give_back(self, workspace: Workspace) -> None:
        with self._mutex:
            if not self._is_closed:
                self._idle.append(workspace)
                return
        workspace.close()

    def _look_beside(self) -> None:
        """Look for changed notes in a thread, where the last look was a while ago."""
        with self._mutex:
            if self._is_looking or time.monotonic() - self._looked < _LOOK_EVERY:
                return
            self._is_looking = True
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        try:
            with suppress(RAGError, OSError), open_index(self.config) as manifest:
                if self.config.search.freshness:
                    self._changed = count_changed(manifest, self.config, _LOOK)
        finally:
            self._looked = time.monotonic()
            self._is_looking = False


def _is_current(workspace: Workspace) -> bool:
    """Return whether a workspace reads the newest snapshot; not where nobody can tell."""
    try:
        return workspace.is_current
    except RAGError:
        return False
