"""What every tool is given: the notes, loaded while the client is answered, and its call."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING

from rag.support.runtime_folder import UntrustedError, folder, open_file, open_folder

if TYPE_CHECKING:
    from rag.app.serving.readers import Readers
    from rag.app.workspace import Workspace
    from rag.config import RAGConfig

# What the tools need. Nothing else may import any of it at the same time: modules of libraries
# import each other in circles, which two threads at once do not survive.
_FOR_REQUESTS = "rag.mcp.requests"
_FOR_NOTES = (
    *("rag.answers.prompt_injection", "rag.app.interpretation_text"),
    *("rag.app.notes.lines", "rag.app.refresh", "rag.app.search"),
    *("rag.app.status", "rag.indexing.child_writer", "rag.indexing.run"),
)
_LONGEST = 2_000  # bytes of what is remembered
_PAUSE = 0.25  # seconds between two notifications of progress


class CancelledCall(Exception):
    """Nobody wants the answer any more."""


@dataclass
class Call:
    """A request while it is answered.

    :param tell_progress: is given how far it is, a number that rises, and a line on it; `None`
        where nobody wants to know.
    """

    tell_progress: Callable[[float, str], None] | None = None
    is_cancelled: bool = False
    _steps: int = field(default=0, init=False)
    _told: float = field(default=0.0, init=False)

    def cancel(self) -> None:
        """Say that nobody wants the answer any more."""
        self.is_cancelled = True

    def check(self) -> None:
        """Go on only where the answer is wanted.

        :raises CancelledCall: when it is not.
        """
        if self.is_cancelled:
            raise CancelledCall

    def progress(self, message: str) -> None:
        """Tell how far the answer is, a few times a second at most."""
        self._steps += 1
        if self.tell_progress and time.monotonic() - self._told >= _PAUSE:
            self._told = time.monotonic()
            self.tell_progress(float(self._steps), message)


class Library:
    """The notes of one configuration. What reads them begins with `wait_for_notes`, or with
    `wait_for_answers`.

    :param read_settings: returns the settings in force; called when they are first needed, and
        again where that failed.
    :param start: what the settings depend on: the next server that is started alike has them too.
    """

    def __init__(self, read_settings: Callable[[], RAGConfig], start: str = "") -> None:
        self._read_settings, self._start = read_settings, start
        self._starting, self._opening, self._answering = (threading.Lock() for _ in range(3))
        self._requests, self._notes = threading.Event(), threading.Event()
        self._vaults, self._has_answers = "", False
        self._readers: Readers | None = None
        self._thread: threading.Thread | None = None

    def load(self) -> None:
        """Begin to import and open what requests need, in a thread. Once is enough."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._load, name="load", daemon=True)
                self._thread.start()

    def wait_for_requests(self) -> None:
        """Wait until the types of requests can be imported."""
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
                    self._warm_up(("rag.app.ask",), "warm_up_answers")

    @contextmanager
    def reader(self, is_fresh: bool = True) -> Iterator[Workspace]:
        """Lend a workspace that reads the notes as they are now, as far as that is done at once.

        :param is_fresh: index what changed first; without, it reads the newest snapshot.
        :raises RAGError: when there are no settings that can be read.
        """
        with self._opened().reader(is_fresh) as workspace:
            yield workspace

    def age(self, is_sought: bool = False) -> str:
        """Return a sentence on how far the index is behind the notes; empty where it is not.

        :param is_sought: say so too where nobody knows, since something was not found.
        """
        changed = self._readers.changed if self._readers else None
        if changed:
            how = "1 note has" if changed == 1 else f"{changed:,} notes have"
            return f"{how} changed since the index was made: tell the user to run `rag index`."
        if changed is None and is_sought:
            return "The index may be behind the notes: a new note is found once `rag index` ran."
        return ""

    def vaults_sentence(self) -> str:
        """Return which vaults there are; as they were when a server last ran, where this one has
        not looked yet: a client is answered before anything of the notes is imported."""
        return self._vaults or (_remembered(self._start) if self._start else "")

    def close(self) -> None:
        """Close what is open, once what is being loaded is."""
        if self._thread is not None:
            self._thread.join()
        if self._readers is not None:
            self._readers.close()

    def _load(self) -> None:
        try:
            import_module(_FOR_REQUESTS)
            self._requests.set()
            # It takes its time outside the interpreter, while that imports.
            for step in (self._prepare, self._warm_up, self._count_vaults):
                with suppress(Exception):  # whoever asks is told
                    step()
        finally:
            self._requests.set()
            self._notes.set()

    def _prepare(self) -> None:
        self._opened().prepare()

    def _warm_up(self, modules: tuple[str, ...] = _FOR_NOTES, warm_up: str = "warm_up") -> None:
        """Import modules, and do once what the first request that needs them would do."""
        for module in modules:
            import_module(module)
        with self._opened().reader() as workspace:
            getattr(workspace, warm_up)()

    def _count_vaults(self) -> None:
        """Make the sentence on vaults, for this server and the next."""
        from rag.mcp.results import listed_names

        with self._opened().reader() as workspace:
            counts = workspace.count_notes("vaults")
        if counts:
            names = listed_names(counts)
            self._vaults = f" Vaults, when last seen: {names}; status tells them as they are."
        if self._start:
            _remembered(self._start, self._vaults)

    def _opened(self) -> Readers:
        """Return the readers, made of the settings in force when they can first be read.

        :raises ConfigError: when they cannot.
        """
        from rag.app.serving.readers import Readers

        with self._opening:
            if self._readers is None:
                self._readers = Readers(self._read_settings())
            return self._readers


def _remembered(start: str, text: str | None = None) -> str:
    """Return what is remembered of a start, in the user's runtime folder; empty for nothing.

    :param text: remember this from now on.
    """
    name = f"mcp-{sha256(start.encode('utf-8', 'replace')).hexdigest()[:12]}"
    flags = os.O_RDONLY if text is None else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with suppress(OSError, UntrustedError):
        within = open_folder(folder(), make=text is not None)
        try:
            with open(open_file(name, flags, within), "rb" if text is None else "wb") as file:  # noqa: PTH123
                if text is None:
                    return str(file.read(_LONGEST).decode("utf-8", "replace"))
                file.write(text.encode("utf-8", "replace"))
        finally:
            os.close(within)
    return text or ""
