"""Keeping an index up to date while notes are written: `rag watch`.

What the system tells of files only says *when* to look. What changed is found by the ordinary run,
`rag index`, in a process of its own with a low priority: the memory it takes is given back, and the
watcher goes on whatever becomes of it. A run begins when nothing was told for 1.5 seconds, and at
most 15 after the first word; at the start, every 15 minutes, after a sleep of the machine, and
whenever something may have been missed. Runs spend a budget of processor time, which fills up while
the watcher waits. No run forgets the notes of a folder that is not there.

Such a run indexes words. A second process makes the embeddings after it, for as long as that takes:
it holds no lock while a model is at work, so a note that is saved meanwhile is indexed at once.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import import_module
from math import inf
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from rag.app.requests import SyncRequest
from rag.app.unused_libraries import leave_out_unused
from rag.app.watch_state import WatcherStatus, WatchRun, be_only_watcher, write_watcher
from rag.config import RAGConfig, load_config
from rag.exceptions import LockedError, RAGError, RunInterruptedError, UsageError
from rag.index.lookup import open_manifest
from rag.index.vault_registry import NO_VAULT, configured_vaults, known_vaults
from rag.indexing.reports import RunReport
from rag.support import process_exit
from rag.support.processes import PythonProcess, Say, take_orders
from rag.text.messages import plural
from rag.vault.file_events import FileEvents, WatchLimitError

_QUIET = 1.5  # seconds without an event, after which a run begins
_LATEST = 15.0  # seconds after the first event
_WHOLE = 900.0  # seconds between two runs, whatever is told
_SHARE = 0.05  # of a processor for runs; embeddings take as much again, besides the model's work
_SAVED = 2400.0  # seconds whose share is saved up at most
_MANY = 4000  # events; of many at once the system leaves some out, new folders too
_BUSY = 5.0  # seconds after which an index that another process writes is tried again
_SHORT = 0.5  # the same, where that process is ours, which writes embeddings
_RETRY = 60.0  # seconds after a run that failed
_BEAT = 5.0  # seconds between two looks whether the folders are there, and after an error
_WRITTEN = 60.0  # seconds between two heartbeats that are written down
_JUMP = 10.0  # seconds by which the clocks differ more than before, when the machine slept
_SLICE = 60.0  # seconds that one run embeds, before it is told what came of it
_NICE = 5  # with 10 a saved note is found too late on a machine that is busy
_UNFINISHED = "`rag index` did not finish"
_IMPORTED = ("rag.app.sync", "rag.indexing.pipeline", "rag.stores.edge.document_store")


@dataclass(frozen=True)
class Outcome:
    """What came of a run of the indexer.

    :param run: what it did; of one that failed, nothing.
    :param cpu: the seconds of a processor that it took.
    """

    run: RunReport = field(default_factory=RunReport)
    cpu: float = 0.0
    error: RAGError | None = None

    @property
    def why(self) -> str:
        """Why it failed; empty where it did not."""
        return self.error.as_notice() if self.error else ""


class IndexProcess:
    """The indexer in a process of its own, which gives way to others.

    :param file: the project's file of settings; each run reads them anew.
    :param embeds: whether it makes embeddings too.
    """

    def __init__(self, file: Path | None = None, embeds: bool = True) -> None:
        self._order = file, embeds
        self._process: PythonProcess | None = None
        self._thread: threading.Thread | None = None
        self._is_stopped = False

    def prepare(self) -> None:
        """Start the process, which waits until `run`: to import the program takes a second."""
        if self._process is None and not self._is_stopped:
            with suppress(OSError):
                self._process = PythonProcess(__name__, serve.__name__)

    def run(self) -> Outcome:
        """Index what changed, and return what came of it."""
        self.prepare()
        if self._process is None:
            return Outcome(error=RAGError(f"{_UNFINISHED}: {sys.executable} cannot be run"))
        with self._process as process:
            process.order(self._order)
            try:
                outcome: Outcome | Exception = process.answer()
            except EOFError:
                code = process.process.wait()
                why = f"signal {-code} ended it" if code < 0 else f"exit code {code}"
                outcome = RAGError(f"{_UNFINISHED}: {why}")
            self._process = None
        if isinstance(outcome, Outcome):
            return outcome
        if not isinstance(outcome, RAGError):
            outcome = RAGError(f"{_UNFINISHED}: {outcome!r}")
        return Outcome(error=outcome)

    def begin(self, on_end: Callable[[Outcome], object]) -> None:
        """Do the same in a thread, which hands on what came of it."""
        self._thread = threading.Thread(target=lambda: on_end(self.run()), daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait for the end of what was begun."""
        if self._thread is not None:
            self._thread.join()

    def stop(self) -> None:
        """End the run: it keeps what it has done. Who says it again does not wait for that."""
        if process := self._process:
            process.process.send_signal(signal.SIGKILL if self._is_stopped else signal.SIGTERM)
        self._is_stopped = True


def serve() -> None:
    """Be that process, which imports what it needs while it waits for its order."""
    os.nice(_NICE)
    leave_out_unused()
    process_exit.begin()
    for module in _IMPORTED:
        import_module(module)
    take_orders(_index)


def _index(order: tuple[Path | None, bool], say: Say) -> Outcome:
    from rag.app.sync import sync

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until now it ended the process
    file, embeds = order
    config = load_config(file)
    seconds = min(60 * config.embedding.minutes, _SLICE)
    request = SyncRequest(embed=None if embeds else False, quiet=True, seconds=seconds)
    try:
        run = sync(config, request).run
    except KeyboardInterrupt as error:
        raise RunInterruptedError("stopped") from error
    finally:
        process_exit.finish(0)  # what it started ends, whose work is counted then
    return Outcome(run, sum(os.times()[:4]))


class Watcher:
    """The one watcher of a data folder.

    :param tell: is given a line on each run that changed something.
    :param warn: is given what else there is to say.
    :param file: the project's file of settings, as the indexer is given it.
    :param runner: indexes words, and `embedder` makes embeddings; without one, a process.
    :param listen: makes what tells of changes, as `FileEvents` does.
    :param clock: has `time`, and `monotonic`, which stands still while the machine sleeps.
    """

    def __init__(
        self,
        config: RAGConfig,
        tell: Callable[[str], object],
        warn: Callable[[str], object],
        file: Path | None = None,
        runner: IndexProcess | None = None,
        embedder: IndexProcess | None = None,
        listen: Callable[..., FileEvents] = FileEvents,
        clock: Any = time,
    ) -> None:
        self._config, self._tell, self._warn = config, tell, warn
        self._runner = runner or IndexProcess(file, embeds=False)
        self._embedder = embedder or IndexProcess(file)
        self._listen, self._clock = listen, clock
        self._stopped = threading.Event()
        now = self._now()
        self._drift = self._clock.time() - now
        # The folders that are listened at, and what tells two of them apart.
        self._watched: Mapping[Path, tuple[int, int]] = {}
        self._events = listen((), config.data_dir)
        self._heard = 0  # events since it began to listen
        self._must_poll = False
        self._first = inf  # when the first of the events came that wait for a run
        # When a run is due: for these events, and for all notes; and when the budget allows one.
        self._change_at, self._look_at, self._free_at = now, now + _WHOLE, now - _SAVED
        self._follow_at = now  # when to look whether the folders are there
        self._written = now
        self._embed_at = inf  # when to have embeddings made
        self._is_embedding = False
        self._embedded: Outcome | None = None  # what came of it, not yet told
        self._problems: dict[str, list[str]] = {}  # of the last time, by where they come from
        self._status = WatcherStatus(os.getpid(), self._iso(), self._iso())

    def run(self, on_start: Callable[[], object] = lambda: None) -> None:
        """Watch until `stop` is called.

        :param on_start: is called once it is the one that watches.
        :raises LockedError: when the data folder has a watcher.
        """
        if not self._roots():
            raise UsageError("there is nothing to watch", hint=NO_VAULT)
        with be_only_watcher(self._config):
            self._write(started=self._iso())
            on_start()
            if self._problems.pop("start", ()):
                self._warn("the notes are watched from now on")
            try:
                while not self._stopped.is_set():
                    self._step()
            finally:
                self._embedder.join()
                self._events.close()

    def run_when_free(self) -> None:
        """Watch as soon as there is something to watch and nobody else does, until `stop`."""
        while not self._stopped.is_set():
            try:
                self.run()
            except (RAGError, OSError) as error:
                why = error.as_notice() if isinstance(error, RAGError) else str(error)
                self._warn_of("start", [f"not watching yet: {why}"])
                self._listen_at({})
                self._events.wait(_BEAT)

    def stop(self) -> None:
        """End it, and a run that it began; from another thread, or a signal's handler."""
        self._stopped.set()
        self._runner.stop()
        self._embedder.stop()
        self._events.wake()

    def _step(self) -> None:
        paths: list[str] = []
        try:
            self._follow()
            until = min(self._next_run(), self._next_embedding(), self._follow_at)
            paths = self._events.wait(until - self._now())
        except OSError as error:
            self._lose(error)
        now = self._now()
        if paths:
            if self._first == inf:
                self._first = now
                self._runner.prepare()
            self._change_at = min(now + _QUIET, self._first + _LATEST)
            self._heard += len(paths)
            self._status = replace(self._status, last_event=self._iso())
        drift = self._clock.time() - now
        if abs(drift - self._drift) > _JUMP:  # the machine slept, or somebody set its clock
            self._look_at = now
        self._drift = drift
        if self._stopped.is_set():
            return
        if self._embedded:
            self._end_embedding(self._embedded)
        if now >= self._next_run():
            self._index()
        elif now >= self._next_embedding():
            self._is_embedding, self._embed_at = True, inf
            self._embedder.begin(self._hand_on)
        elif now >= self._written + _WRITTEN:
            self._write()

    def _next_run(self) -> float:
        return max(min(self._look_at, self._change_at), self._free_at)

    def _index(self) -> None:
        started = self._now()
        if self._heard > _MANY or started >= self._look_at:
            self._listen_at(self._watched)
        self._first = self._change_at = inf
        outcome = self._runner.run()
        if self._stopped.is_set():
            return
        now = self._now()
        self._look_at = now + _WHOLE
        if isinstance(outcome.error, LockedError):
            self._change_at = now + (_SHORT if self._is_embedding else _BUSY)
            self._write()
            return
        took, changed = now - started, outcome.run.count("added", "changed", "deleted")
        if outcome.error:
            self._change_at = now + _RETRY
        else:
            self._embed_at = now
            free_at = max(self._free_at, now - _SAVED) + outcome.cpu / _SHARE
            self._free_at = min(free_at, now + _LATEST) if changed else free_at
        self._report("words", outcome, f" ({took:.1f} s)")
        code = outcome.error.exit_code if outcome.error else 5 if outcome.run.incomplete else 0
        run = WatchRun(self._iso(), round(1000 * took), code, changed, outcome.why)
        self._write(last_run=run)

    def _next_embedding(self) -> float:
        return inf if self._is_embedding else self._embed_at

    def _hand_on(self, outcome: Outcome) -> None:
        self._embedded = outcome  # in a thread of its own, for that of the watcher
        self._events.wake()

    def _end_embedding(self, outcome: Outcome) -> None:
        self._is_embedding, self._embedded = False, None
        if isinstance(outcome.error, LockedError):
            self._embed_at = min(self._embed_at, self._now() + _BUSY)
            return
        run = outcome.run
        left = run.embedding.left if run.embedding and run.embedded else 0
        if left or (run.scans and run.scans.read and run.scans.left):  # more time would help
            self._embed_at = self._now()
        self._report("meaning", outcome)

    def _report(self, source: str, outcome: Outcome, took: str = "") -> None:
        run = outcome.run
        counts = (
            (run.count("added", "changed"), "note", "indexed"),
            (run.count("deleted"), "note", "removed"),
            (run.embedded, "chunk", "embedded"),
        )
        if parts := [f"{plural(count, what)} {done}" for count, what, done in counts if count]:
            self._tell(f"{self._iso()[11:19]}  {', '.join(parts)}{took}")
        problems = [outcome.why] if outcome.error else [*run.notices]
        for name, vault in run.vaults.items():
            if vault.problem:
                problems.append(f"vault {name!r}: {vault.problem}")
            notes = (*vault.failed.items(), *vault.notices.items())
            problems += [f"{name}/{path}: {why}" for path, why in notes]
        self._warn_of(source, problems)

    def _warn_of(self, source: str, problems: list[str]) -> None:
        """Tell of problems that no source had the last time."""
        for problem in problems:
            if not any(problem in earlier for earlier in self._problems.values()):
                self._warn(problem)
        self._problems[source] = problems

    # -- the folders -----------------------------------------------------------------------

    def _roots(self) -> set[Path]:
        """Return the folder of every vault there is; of those in `vaults_dir` also that itself."""
        indexed: dict[str, str] = {}
        with suppress(RAGError, sqlite3.Error, OSError), open_manifest(self._config) as manifest:
            indexed = manifest.vaults()
        roots = {*known_vaults(self._config, indexed).values()}
        if self._config.vaults_dir is not None and configured_vaults(self._config):
            roots.add(self._config.vaults_dir.resolve())
        return roots

    def _follow(self) -> None:
        """Listen at the folders that are there, and look at all notes where they are others."""
        if self._now() < self._follow_at:
            return
        roots = self._roots()
        there = {root: key for root in roots if (key := _identity(root)) is not None}
        missing = sorted(str(root) for root in roots - there.keys())
        for root in self._status.missing:
            if Path(root) in there:
                self._warn(f"{root} is there again")
        self._status = replace(self._status, missing=missing)
        if there != self._watched:
            self._listen_at(there)
            self._change_at = self._now()
            self._write()
        self._follow_at = self._now() + _BEAT

    def _listen_at(self, folders: Mapping[Path, tuple[int, int]]) -> None:
        """Listen anew, also at folders of which the system has not told that they came."""
        self._events.close()
        self._events = self._listen(folders, self._config.data_dir, self._must_poll)
        self._watched, self._heard = folders, 0
        self._status = replace(self._status, polled=[*map(str, self._events.polled)])

    def _lose(self, error: OSError) -> None:
        self._warn_of("events", [str(error)])
        self._change_at = self._now()
        if isinstance(error, WatchLimitError):
            self._must_poll = True
            self._listen_at(self._watched)
        else:
            self._listen_at({})
            self._follow_at = self._now() + _BEAT

    def _write(self, **facts: Any) -> None:
        """Write down how it is; a disk that is full ends no watcher."""
        self._written = self._now()
        self._status = replace(self._status, heartbeat=self._iso(), **facts)
        with suppress(OSError):
            write_watcher(self._config, self._status)

    def _now(self) -> float:
        return float(self._clock.monotonic())

    def _iso(self) -> str:
        return datetime.fromtimestamp(self._clock.time()).astimezone().isoformat("T", "seconds")


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return what tells a folder from another in its place; `None` where there is none."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if S_ISDIR(status.st_mode) else None
