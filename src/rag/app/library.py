"""The notes for a front-end that runs for long: loaded while it answers its first client, and lent
to one thread at a time, as they are in the newest snapshot."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from rag.exceptions import IndexUnavailableError, RAGError

if TYPE_CHECKING:
    from rag.app.workspace import Workspace
    from rag.config import RAGConfig

# What requests need. Nothing else may import any of it at the same time: modules of libraries
# import each other in circles, which two threads at once do not survive.
_FOR_NOTES = (
    *("rag.answers.prompt_injection", "rag.app.results"),
    *("rag.app.notes.lines", "rag.app.sync", "rag.app.search"),
    *("rag.app.status", "rag.indexing.run"),
)
_MOST = 4  # readers at once; who comes later waits
_LOOK = 0.2  # seconds for looking what changed, where nothing is to be indexed


class Library:
    """The notes of one configuration. What reads them begins with `wait_for_notes`, or with
    `wait_for_answers`. The reader that was given back last, whose caches are warm, is lent first.

    :param read_settings: returns the settings in force; called when they are first needed.
    :param first: a module that is imported before all else, until `wait_for_requests` returns.
    :param looks: whether it looks for changed notes when it is loaded.
    """

    def __init__(
        self, read_settings: Callable[[], RAGConfig], first: str = "", looks: bool = True
    ) -> None:
        self._read_settings, self._first, self._looks = read_settings, first, looks
        self._mutex, self._looking, self._answering = (threading.Lock() for _ in range(3))
        self._requests, self._notes = threading.Event(), threading.Event()
        self._free = threading.BoundedSemaphore(_MOST)
        self._idle: list[Workspace] = []
        self._thread: threading.Thread | None = None
        self._has_answers = self._is_closed = False
        self.looked_at = 0.0  # when somebody last looked for changed notes
        self.changed: int | None = None  # notes, since the index was made, as far as is known
        self.vaults: dict[str, int] | None = None  # with their notes, when they were loaded
        self.on_load: Callable[[], None] = lambda: None  # is called once they are known

    @cached_property
    def config(self) -> RAGConfig:
        """The settings."""
        return self._read_settings()

    def load(self) -> None:
        """Begin to import and open what requests need, in a thread. Once is enough."""
        with self._mutex:
            if self._thread is None:
                self._thread = threading.Thread(target=self._load, name="load", daemon=True)
                self._thread.start()

    def wait_for_requests(self) -> None:
        """Wait until the module that comes first can be imported."""
        self.load()
        self._requests.wait()

    def wait_for_notes(self) -> None:
        """Wait until notes can be searched and read."""
        self.load()
        self._notes.wait()

    def wait_for_answers(self) -> None:
        """Load what questions are answered with too, the first time: most clients never ask any,
        and it takes 11 MB."""
        self.wait_for_notes()
        with self._answering:
            if not self._has_answers:
                self._has_answers = True
                with suppress(Exception):  # whoever asks is told
                    import_module("rag.app.ask")
                    from rag.qa.pipeline import create_qa_pipeline

                    with self.reader(is_fresh=False) as workspace:
                        create_qa_pipeline(workspace.store, workspace.config).close()

    @contextmanager
    def reader(self, is_fresh: bool = True) -> Iterator[Workspace]:
        """Lend a workspace that reads the newest snapshot, with what changed where `is_fresh`."""
        if is_fresh:
            self._bring_up_to_date()
        with self._free:
            workspace = self._take()
            try:
                yield workspace
            except BaseException as error:
                # Only a refusal says nothing of the state that it is in.
                if isinstance(error, RAGError) and not isinstance(error, IndexUnavailableError):
                    self._give_back(workspace)
                else:
                    workspace.close()
                raise
            self._give_back(workspace)

    def close(self) -> None:
        """Close what is open, once what is being loaded is; what is lent is closed when it is
        given back."""
        if self._thread is not None:
            self._thread.join()
        self._is_closed = True
        self._close_idle()

    def _load(self) -> None:
        try:
            if self._first:
                import_module(self._first)
            self._requests.set()
            with suppress(Exception):  # whoever asks is told
                for module in _FOR_NOTES:
                    import_module(module)
                # Do once what the first request would do.
                with self.reader(self._looks) as workspace:
                    workspace.warm_up()
                    self.vaults = workspace.count_notes("vaults")
                self.on_load()
            gc.collect()
            gc.freeze()  # to count through all that was imported takes a tenth of a second
        finally:
            self._requests.set()
            self._notes.set()

    def _take(self) -> Workspace:
        from rag.app.workspace import Workspace

        with self._mutex:
            workspace = self._idle.pop() if self._idle else None
        if workspace is not None and not workspace.is_current:
            workspace.close()
            self._close_idle()  # the others are as old
            workspace = None
        workspace = workspace or Workspace(self.config)
        if self.looked_at:
            workspace.note_changes(self.changed)
        return workspace

    def _give_back(self, workspace: Workspace) -> None:
        if self._is_closed:
            workspace.close()
        else:
            with self._mutex:
                self._idle.append(workspace)

    def _close_idle(self) -> None:
        with self._mutex:
            idle, self._idle = self._idle, []
        for workspace in idle:
            workspace.close()

    def _bring_up_to_date(self) -> None:
        """Look for changed notes, unless somebody has begun to since this was asked."""
        asked = time.monotonic()
        with self._looking:
            if self.looked_at >= asked:
                return
            from rag.app.index_state import count_changed, open_index
            from rag.app.sync import refresh

            self.looked_at, changed, settings = time.monotonic(), None, self.config.search
            if settings.freshness and settings.refresh == "auto":
                changed = refresh(self.config).changed
            elif settings.freshness:
                with suppress(RAGError, OSError), open_index(self.config) as manifest:
                    changed = count_changed(manifest, self.config, _LOOK)
            self.changed = changed
