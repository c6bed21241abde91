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
from rag.clients.factory import start_models
from rag.config import AUTO, RAGConfig
from rag.exceptions import IndexUnavailableError, RAGError
from rag.index.embedding_space import maker, read_embedded
from rag.index.lookup import open_manifest
from rag.stores import begin_opening

_MOST = 4  # readers at once; who comes later waits
_LOOK = 0.2  # seconds for looking what changed, where nothing is to be indexed


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
        self._looking = threading.Lock()
        self._looked = 0.0
        self.changed: int | None = None  # notes, since the index was made, as far as is known

    def prepare(self) -> None:
        """Begin to open the index for the first request, and to start the process that embeds
        queries, where the index was made with the built-in model and the settings name no other."""
        with suppress(RAGError), open_manifest(self.config) as manifest:
            made_by = maker(read_embedded(manifest))
            if self.config.embedding.provider in (AUTO, made_by):
                start_models(made_by)
        self._give_back(self._new())

    @contextmanager
    def reader(self, is_fresh: bool = False) -> Iterator[Workspace]:
        """Lend a workspace that reads the newest snapshot.

        :param is_fresh: index what changed first, where it is little; see `rag.app.refresh`.
        """
        if is_fresh:
            self._bring_up_to_date()
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
            workspace = None
        if workspace is None:
            return self._new()
        if self._looked:
            workspace.note_changes(self.changed)
        return workspace

    def _new(self) -> Workspace:
        return Workspace(self.config, begin_opening(self.config))

    def _give_back(self, workspace: Workspace) -> None:
        with self._mutex:
            if not self._is_closed:
                self._idle.append(workspace)
                return
        workspace.close()

    def _bring_up_to_date(self) -> None:
        """Look for changed notes, unless somebody has begun to since this was asked."""
        asked = time.monotonic()
        with self._looking:
            if self._looked < asked:
                self._looked = time.monotonic()
                self.changed = self._look()

    def _look(self) -> int | None:
        """Return how many notes the index knows as they were, once it is as new as may be."""
        from rag.app.refresh import refresh

        if not self.config.search.freshness:
            return None
        if self.config.search.refresh == "auto":
            return refresh(self.config).changed
        with suppress(RAGError, OSError), open_index(self.config) as manifest:
            return count_changed(manifest, self.config, _LOOK)
        return None


def _is_current(workspace: Workspace) -> bool:
    """Return whether a workspace reads the newest snapshot; not where nobody can tell."""
    try:
        return workspace.is_current
    except RAGError:
        return False
