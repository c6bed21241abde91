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

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from stat import S_ISDIR
from tempfile import TemporaryFile
from typing import Any

from rag.app.program_start import program_start
from rag.app.watch_state import WatcherStatus, WatchRun, be_only_watcher, write_watcher
from rag.config import RAGConfig
from rag.exceptions import LockedError, RAGError, RunInterruptedError, UsageError
from rag.index.lookup import open_manifest
from rag.index.vault_registry import NO_VAULT, configured_vaults, known_vaults
from rag.text.messages import plural
from rag.vault.file_events import FileEvents, WatchLimitError

_QUIET = 1.5  # seconds without an event, after which a run begins
_LATEST = 15.0  # seconds after the first event
_WHOLE = 900.0  # seconds between two runs, whatever is told
_SHARE = 0.05  # of a processor for runs; embeddings take as much again, besides the model's work
_SAVED = 120.0  # seconds of a processor that are saved up at most: the share of twenty minutes
_MANY = 4000  # events; of many at once the system leaves some out, new folders too
_BUSY = 5.0  # seconds after which an index that another process writes is tried again
_SHORT = 0.5  # the same, where that process is ours, which writes embeddings
_RETRY = 60.0  # seconds after a run that failed
_BEAT = 5.0  # seconds between two looks whether the folders are there, and after an error
_WRITTEN = 60.0  # seconds between two heartbeats that are written down
_JUMP = 10.0  # seconds by which the clocks differ more than before, when the machine slept
_SLICE = 60.0  # seconds that one run embeds, before it is told what came of it
_NICE = 5  # with 10 a saved note is found too late on a machine that is busy
# Import what a run needs, and wait for the word; without one the watcher is gone. While there is
# none some note is being written, and what writes an index, of .6 s, can be imported too.
_BEGIN = """
import select, sys
from rag.daemon.unused_libraries import leave_out_unused
leave_out_unused()
import rag.app.sync, rag.cli.commands.index, rag.indexing.run
if not select.select([sys.stdin], [], [], 0)[0]:
    import rag.cli.app, rag.indexing.pipeline, rag.stores.edge.document_store
if sys.stdin.read(1):
    from rag.__main__ import main
    main()
"""
_INDEXED = (0, 5)  # exit codes; with 5 some note could not be read, and is named


class Clock:
    """The time, for those who wait; a test gives another."""

    monotonic = staticmethod(time.monotonic)  # seconds in which the machine did not sleep
    time = staticmethod(time.time)
    pause = staticmethod(threading.Event.wait)


@dataclass(frozen=True)
class Outcome:
    """What came of a run of the indexer.

    :param report: what it printed; empty when that was no JSON.
    :param cpu: the seconds of a processor that it took.
    :param error: why it failed.
    """

    exit_code: int
    report: Mapping[str, Any]
    cpu: float
    error: str = ""

    @property
    def vaults(self) -> Mapping[str, Any]:
        """What it did in each vault."""
        vaults: Mapping[str, Any] = self.report.get("vaults", {})
        return vaults

    def count(self, *what: str) -> int:
        """Return how many notes were `added`, `changed` or `deleted`."""
        return sum(int(vault[name]) for vault in self.vaults.values() for name in what)

    @property
    def embedded(self) -> int:
        """How many chunks got a vector."""
        embedding = self.report.get("embedding") or {}
        return int(embedding.get("made", 0) + embedding.get("reused", 0))

    @property
    def goes_on(self) -> bool:
        """Whether chunks are left to embed, or scans to read, and more time would help."""
        scans = self.report.get("scans") or {}
        is_embedding = self.embedded > 0 and (self.report.get("embedding") or {}).get("left")
        return bool(is_embedding or (scans.get("read") and scans["left"]))

    def problems(self, missing: Collection[str]) -> list[str]:
        """Return what there is to know of the run, but not that these vaults are missing."""
        sentences = [self.error] if self.error else [*self.report.get("notices", [])]
        for name, vault in self.vaults.items():
            if vault["problem"] and name not in missing:
                sentences.append(f"vault {name!r}: {vault['problem']}")
            notes = (*vault["failed"].items(), *vault["notices"].items())
            sentences += [f"{name}/{path}: {why}" for path, why in notes]
        return sentences


class IndexProcess:
    """`rag index` in a process of its own, which gives way to others.

    :param options: such as `--no-embed`, and those that name the file of settings.
    """

    def __init__(self, config: RAGConfig, options: Sequence[str] = ()) -> None:
        minutes = min(config.embedding.minutes, _SLICE / 60)
        self._command = [sys.executable, "-c", _BEGIN, "index", "-q", "--json", *options]
        self._environment = os.environ | program_start(config).environment
        self._environment |= {"RAG_WARM": "0", "RAG_EMBEDDING__MINUTES": str(minutes)}
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._is_stopped = False

    def prepare(self) -> None:
        """Start the process, which waits until `run`: to import the program takes a second.

        :raises OSError: when it cannot be started.
        """
        if self._process is None and not self._is_stopped:
            self._complaints = TemporaryFile()  # noqa: SIM115 - `run` closes it
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                env=self._environment,
                start_new_session=True,  # Ctrl-C is told to it by `stop`
            )
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid, _NICE)

    def run(self) -> Outcome:
        """Index what changed, and return what came of it."""
        try:
            self.prepare()
        except OSError as error:
            return Outcome(4, {}, 0.0, f"{self._command[0]} cannot be run: {error.strerror}")
        process = self._process
        if process is None:  # it is stopped
            return Outcome(RunInterruptedError.exit_code, {}, 0.0)
        assert process.stdin and process.stdout
        with suppress(BrokenPipeError), process.stdin as word:
            word.write(b"\n")
        with process.stdout as pipe:
            output = pipe.read()
        # Of this process alone, while another one may end.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        cpu, self._process = used.ru_utime + used.ru_stime, None
        with self._complaints as file:
            file.seek(0)
            complaints = file.read()
        try:
            report = json.loads(output)
        except ValueError:
            report = {}
        if code in _INDEXED and report:
            return Outcome(code, report, cpu)
        if failure := report.get("error"):
            hint = f". {failure['hint']}" if failure.get("hint") else ""
            return Outcome(code, {}, cpu, f"{failure['message']}{hint}")
        last = complaints.decode("utf-8", "replace").strip().rpartition("\n")[2]
        ended = f"signal {-code} ended it" if code < 0 else f"exit code {code}"
        return Outcome(code or 1, {}, cpu, f"`rag index` did not finish: {last or ended}")

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
            with suppress(ProcessLookupError):  # `send_signal` would take its end from `run`
                os.kill(process.pid, signal.SIGKILL if self._is_stopped else signal.SIGINT)
        self._is_stopped = True


class Watcher:
    """The one watcher of a data folder.

    :param tell: is given a line on each run that changed something.
    :param warn: is given what else there is to say.
    :param options: of `rag index`: those that name the file of settings.
    :param runner: indexes words; without one, a process of `rag index --no-embed`.
    :param embedder: makes embeddings; without one, a process of `rag index`.
    :param listen: makes what tells of changes, as `FileEvents` does.
    """

    def __init__(
        self,
        config: RAGConfig,
        tell: Callable[[str], object],
        warn: Callable[[str], object],
        options: Sequence[str] = (),
        runner: IndexProcess | None = None,
        embedder: IndexProcess | None = None,
        listen: Callable[..., FileEvents] = FileEvents,
        clock: Clock | None = None,
    ) -> None:
        self._config, self._tell, self._warn = config, tell, warn
        self._runner = runner or IndexProcess(config, ["--no-embed", *options])
        self._embedder = embedder or IndexProcess(config, options)
        self._listen, self._clock = listen, clock or Clock()
        self._stopped = threading.Event()
        self._events: FileEvents | None = None
        self._vaults: dict[str, Path] = {}
        self._watched: dict[Path, tuple[int, int]] = {}  # folders, and what tells two apart
        self._must_poll = False
        self._first: float | None = None  # when the first of the events came that wait for a run
        self._last = 0.0
        now = self._now()
        self._look_at = self._rested_at = now  # when a run is due, and when it may be
        self._follow_at = now  # when to look whether the folders are there
        self._listened = self._written = now
        self._drift = self._clock.time() - now
        self._saved, self._counted = _SAVED, now  # seconds of a processor, and when they were
        self._heard = 0  # events since it began to listen
        self._embed_at = inf  # when to have embeddings made
        self._is_embedding = False
        self._embedded = SimpleQueue[Outcome]()  # what came of it, not yet told
        # Of the last run for words, and of the last one for embeddings.
        self._problems: dict[IndexProcess, list[str]] = {}
        self._lost: set[str] = set()  # why it had to listen anew
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
            try:
                while not self._stopped.is_set():
                    self._step()
            finally:
                self._embedder.join()
                if self._events is not None:
                    self._events.close()
                self._events = None

    def run_when_free(self) -> None:
        """Watch as soon as there is something to watch and nobody else does, until `stop`."""
        reason = ""

        def tell() -> None:
            if reason:
                self._warn("the notes are watched from now on")

        while not self._stopped.is_set():
            try:
                self.run(tell)
            except (RAGError, OSError) as error:
                why = error.as_notice() if isinstance(error, RAGError) else str(error)
                if why != reason:
                    self._warn(f"not watching yet: {why}")
                reason = why
                self._clock.pause(self._stopped, _BEAT)

    def stop(self) -> None:
        """End it, and a run that it began; from another thread, or a signal's handler."""
        self._stopped.set()
        self._runner.stop()
        self._embedder.stop()
        if self._events is not None:
            self._events.wake()

    def _step(self) -> None:
        paths: list[str] = []
        try:
            self._follow()
            if self._events is not None:
                until = min(self._next_run(), self._follow_at, self._next_embedding())
                paths = self._events.wait(until - self._now())
        except OSError as error:
            self._lose(error)
        now = self._now()
        if paths:
            if self._first is None:
                self._first = now
                with suppress(OSError):  # which the run will say
                    self._runner.prepare()
            self._last = now
            self._heard += len(paths)
            self._status = replace(self._status, last_event=self._iso())
        drift = self._clock.time() - now
        if abs(drift - self._drift) > _JUMP:  # the machine slept, or somebody set its clock
            self._look_at = now
        self._drift = drift
        if self._stopped.is_set():
            return
        with suppress(Empty):
            self._end_embedding(self._embedded.get_nowait())
        if now >= self._next_run():
            self._index()
        elif now >= self._next_embedding():
            self._is_embedding, self._embed_at = True, inf
            self._embedder.begin(self._hand_on)
        elif now >= self._written + _WRITTEN:
            self._write()

    def _next_run(self) -> float:
        due = self._look_at
        if self._first is not None:
            due = min(due, self._last + _QUIET, self._first + _LATEST)
        return max(due, self._rested_at)

    def _index(self) -> None:
        if self._heard > _MANY or self._now() >= self._listened + _WHOLE:
            self._listen_at_folders(self._watched)
        started, first = self._now(), self._first
        self._first = None
        outcome = self._runner.run()
        if self._stopped.is_set():
            return
        now = self._now()
        self._look_at, self._rested_at = now + _WHOLE, now
        if outcome.exit_code == LockedError.exit_code:
            self._first = first
            self._look_at = self._rested_at = now + (_SHORT if self._is_embedding else _BUSY)
            self._write()
            return
        if outcome.error:
            self._look_at = now + _RETRY
        else:
            self._embed_at = now
            self._spend(outcome)
        took, changed = round(1000 * (now - started)), outcome.count("added", "changed", "deleted")
        self._report(self._runner, outcome, f" ({now - started:.1f} s)")
        self._write(last_run=WatchRun(self._iso(), took, outcome.exit_code, changed, outcome.error))

    def _next_embedding(self) -> float:
        return inf if self._is_embedding else self._embed_at

    def _hand_on(self, outcome: Outcome) -> None:
        self._embedded.put(outcome)  # in a thread of its own, for that of the watcher
        if self._events is not None:
            self._events.wake()

    def _end_embedding(self, outcome: Outcome) -> None:
        self._is_embedding = False
        if outcome.exit_code == LockedError.exit_code:
            self._embed_at = min(self._embed_at, self._now() + _BUSY)
            return
        if outcome.goes_on:
            self._embed_at = self._now()
        self._report(self._embedder, outcome)

    def _spend(self, outcome: Outcome) -> None:
        """Rest until what a run took is within the budget; what was saved waits at most so long."""
        now = self._now()
        gained = _SHARE * (now - self._counted)
        self._saved, self._counted = min(_SAVED, self._saved + gained) - outcome.cpu, now
        if outcome.count("added", "changed", "deleted"):
            self._saved = max(self._saved, -_SHARE * _LATEST)
        self._rested_at = now + max(0.0, -self._saved / _SHARE)

    def _report(self, process: IndexProcess, outcome: Outcome, took: str = "") -> None:
        counts = [(outcome.count("added", "changed"), "note", "indexed")]
        counts += [(outcome.count("deleted"), "note", "removed")]
        counts += [(outcome.embedded, "chunk", "embedded")]
        if parts := [f"{plural(count, what)} {done}" for count, what, done in counts if count]:
            self._tell(f"{self._iso()[11:19]}  {', '.join(parts)}{took}")
        missing = [name for name, root in self._vaults.items() if _identity(root) is None]
        problems = outcome.problems(missing)
        for problem in problems:
            if not any(problem in earlier for earlier in self._problems.values()):
                self._warn(problem)
        self._problems[process] = problems

    # -- the folders -----------------------------------------------------------------------

    def _roots(self) -> dict[str, Path]:
        """Return the folder of every vault there is; of those in `vaults_dir` also that itself."""
        indexed: dict[str, str] = {}
        with suppress(RAGError, sqlite3.Error, OSError), open_manifest(self._config) as manifest:
            indexed = manifest.vaults()
        roots = known_vaults(self._config, indexed)
        if self._config.vaults_dir is not None and configured_vaults(self._config):
            roots[""] = self._config.vaults_dir.resolve()
        return roots

    def _follow(self) -> None:
        """Listen at the folders that are there, and look at all notes where they are others."""
        if self._now() < self._follow_at:
            return
        self._vaults = self._roots()
        roots = {*self._vaults.values()}
        there = {root: key for root in roots if (key := _identity(root)) is not None}
        missing, before = sorted(str(root) for root in roots - there.keys()), self._status.missing
        for root in missing:
            if root not in before:
                self._warn(f"{root} is not there: its notes are kept, and it is waited for")
        for root in before:
            if Path(root) in there:
                self._warn(f"{root} is there again")
        self._status = replace(self._status, missing=missing)
        if self._events is None or there != self._watched:
            self._listen_at_folders(there)
            self._look_at = self._now()
            self._write()
        self._follow_at = self._now() + _BEAT

    def _listen_at_folders(self, folders: Mapping[Path, tuple[int, int]]) -> None:
        """Listen anew, also at folders of which the system has not told that they came."""
        files, before = 0, self._events
        with suppress(RAGError, sqlite3.Error, OSError), open_manifest(self._config) as manifest:
            files = manifest.kept_totals()[0]
        apart, polled = self._config.data_dir, self._must_poll
        self._events = self._listen(folders, apart=apart, polled=polled, files=files)
        if before is not None:
            before.close()
        self._watched = {**folders}
        self._listened, self._heard = self._now(), 0
        self._status = replace(self._status, polled=[*map(str, self._events.polled)])

    def _lose(self, error: OSError) -> None:
        is_limit = isinstance(error, WatchLimitError)
        if str(error) not in self._lost:
            self._warn(str(error))
        self._lost.add(str(error))
        self._must_poll = self._must_poll or is_limit
        self._listen_at_folders(self._watched if is_limit else {})
        self._look_at = self._now()
        if not is_limit:
            self._follow_at = self._now() + _BEAT

    def _write(self, **facts: Any) -> None:
        """Write down how it is; a disk that is full ends no watcher."""
        self._written = self._now()
        self._status = replace(self._status, heartbeat=self._iso(), **facts)
        with suppress(OSError):
            write_watcher(self._config, self._status)

    def _now(self) -> float:
        return self._clock.monotonic()

    def _iso(self) -> str:
        return datetime.fromtimestamp(self._clock.time()).astimezone().isoformat("T", "seconds")


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return what tells a folder from another in its place; `None` where there is none."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if S_ISDIR(status.st_mode) else None
