"""All programs at one size, in turn: indexing, updating, searching; and whether it works."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import ceil
from pathlib import Path
from statistics import median
from typing import Any

from baselines import PeerMissing
from competitors import RAG_WARM, Command, Competitor
from measuring import Measured, TooLong, measure
from rag.support.disk_space import disk_usage
from vaults import note_path, title_query

# A word of no other note in note 0, which is Japanese, in note 1, and in the notes that change.
NEEDLES = {"ja": "ヌエタイジロク", "en": "quillonvexity"}
CHANGED = "zephyrandolin"
QUERIES = 20
WARM_ROUNDS = 5  # a warm search is fast: asked more often, for its 95th percentile
SEARCH_LIMIT = 30.0  # seconds
SEARCHING = 30.0  # seconds for all queries; a program that takes longer is asked fewer
INDEXING = 30.0  # seconds; a program that took longer indexes once only


class GivenUp(Exception):
    """A program that cannot be measured; the message says why."""


class Trial:
    """One program at one size; `record` has its figures, as they go into the results."""

    def __init__(self, name: str, program: Competitor, vault: Path) -> None:
        self.name, self.program, self.vault = name, program, vault
        self.home = vault.parent / re.sub(r"\W+", "-", program.home or name)
        self.home.mkdir(exist_ok=True)
        self.record: dict[str, Any] = {}
        self.asked = QUERIES
        self._runs: dict[str, list[Measured]] = {}
        self._given_up: dict[str, str] = {}

    def attempt(self, what: str, action: Callable[[], Measured | None]) -> None:
        """Do something and keep what it measured, unless `what` or the index was given up."""
        if self._given_up.keys() & {"index", what}:
            return
        try:
            done = action()
        except (GivenUp, PeerMissing, TooLong) as reason:
            self._give_up(what, reason)
        else:
            if done:
                self._runs.setdefault(what, []).append(done)

    def sum_up(self, what: str) -> None:
        """Put the medians of what was measured into the record, and what was given up."""
        runs = self._runs.get(what, [])
        if what in self._given_up:
            self.record.setdefault("given_up", {})[what] = self._given_up[what]
        elif runs:
            self.record[what] = _SUMS[what](runs)
            print(f"  {self.name}: {what}: {self.record[what]}", flush=True)

    def index(self, notes: int, limit: float) -> Measured | None:
        """Index from nothing, unless the first time took long, and see that all notes are there."""
        if any(run.wall > INDEXING for run in self._runs.get("index", ())):
            return None
        shutil.rmtree(self.home)
        self.home.mkdir()
        os.sync()  # what another one wrote is not this one's to wait for
        done = self._run(self.program.index(self.vault, self.home), limit, watch=True)
        held = self.program.notes(self.home, done.output)
        if held != notes:
            raise GivenUp(f"holds {held:,} of {notes:,} notes")
        self.record["disk"] = {"bytes": disk_usage(self.home)}
        return done

    def update(self, limit: float) -> Measured:
        return self._run(self.program.update(self.vault, self.home), limit)

    def search(self, query: str) -> Measured:
        command = self.program.search(self.vault, self.home, query)
        return self._run(command, SEARCH_LIMIT, (0, self.program.nothing_found))

    def warm_up(self) -> None:
        """Make ready for searches, and see that the needles are found."""
        self.program.start(self.home)
        for number, (language, needle) in enumerate(NEEDLES.items()):
            if language in self.program.reads:
                done = self.search(needle)
                if not re.search(rf"[ -]{number}\.md\b", done.output):
                    raise GivenUp(f"does not find {needle}")
                self.asked = max(2, min(QUERIES, int(SEARCHING / done.wall)))

    def cool_down(self) -> None:
        """End what `warm_up` started, whether or not it was given up since."""
        try:
            self.program.stop(self.home, len(self._runs.get("search", ())))
        except PeerMissing as reason:
            self._give_up("search", reason)

    def find_changed(self) -> None:
        """See that what was written into changed notes is found."""
        if ".md" not in self.search(CHANGED).output:
            raise GivenUp(f"does not find {CHANGED}")

    def _give_up(self, what: str, reason: Exception) -> None:
        if what not in self._given_up:
            self._given_up[what] = str(reason)
            print(f"  {self.name}: {what}: {reason}", flush=True)

    def _run(
        self, command: Command, limit: float, codes: Sequence[int] = (0,), watch: bool = False
    ) -> Measured:
        done = measure(command.line, command.environment, command.folder, limit, watch)
        if done.code not in codes:
            print(done.output, file=sys.stderr)
            raise GivenUp(f"failed with exit code {done.code}")
        return done


def measure_size(size: int, programs: dict[str, Competitor], limit: float) -> dict[str, Any]:
    """Measure all programs on a vault of `size` notes; return what the results say of that size.

    :param limit: seconds that indexing may take.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        vault = _plant(Path(folder) / "vault", size)
        megabytes = sum(note.stat().st_size for note in vault.rglob("*.md")) / 1e6
        print(f"{size:,} notes, {megabytes:.1f} MB", flush=True)
        trials = [Trial(name, program, vault) for name, program in programs.items()]
        _index([trial for trial in trials if trial.program.indexes], size, limit)
        _update([trial for trial in trials if trial.program.updates], vault, size, limit)
        _search(trials)
    print(f"  {time.monotonic() - started:.0f} s in all", flush=True)
    return {
        "megabytes": round(megabytes, 1),
        "limit": limit,
        "rounds": _rounds(size),
        "programs": {trial.name: trial.record for trial in trials},
    }


def _plant(vault: Path, size: int) -> Path:
    """Generate a vault, with a needle in two notes."""
    # In a process of its own: a process shows at least the peak memory of the one that starts it.
    generator = [sys.executable, str(Path(__file__).with_name("vaults.py")), str(vault), str(size)]
    subprocess.run(generator, check=True)
    for number, needle in enumerate(NEEDLES.values()):
        _append(vault / note_path(number), needle)
    return vault


def _append(note: Path, word: str) -> None:
    with note.open("a", encoding="utf-8") as text:
        text.write(f"\n## Added\n\nOne more section. もう一つの節。\n\n{word}\n")


def _turns(trials: list[Trial], number: int) -> list[Trial]:
    """Return all, beginning with another one in each round."""
    first = number % len(trials)
    return trials[first:] + trials[:first]


def _rounds(size: int) -> int:
    return 3 if size <= 2000 else 2 if size <= 20_000 else 1


def _index(trials: list[Trial], size: int, limit: float) -> None:
    for number in range(_rounds(size)):
        for trial in _turns(trials, number * 4):
            trial.attempt("index", partial(trial.index, size, limit))
    for trial in trials:
        trial.sum_up("index")


def _update(trials: list[Trial], vault: Path, size: int, limit: float) -> None:
    for what, rounds in (("unchanged", _rounds(size) + 1), ("changed", _rounds(size))):
        for number in range(rounds):
            if what == "changed":
                for note in range(number, size, 100):
                    _append(vault / note_path(note), CHANGED)
            for trial in _turns(trials, number):
                trial.attempt(what, partial(trial.update, limit))
    for trial in trials:
        trial.attempt("changed", trial.find_changed)
        trial.sum_up("unchanged")
        trial.sum_up("changed")


def _search(trials: list[Trial]) -> None:
    for trial in trials:
        trial.attempt("search", trial.warm_up)
    try:
        for number, (language, query) in enumerate(_queries()):
            for trial in _turns(trials, number):
                if language in trial.program.reads and number < trial.asked:
                    for _ in range(WARM_ROUNDS if trial.name == RAG_WARM else 1):
                        trial.attempt("search", partial(trial.search, query))
    finally:
        for trial in trials:
            trial.cool_down()
            trial.sum_up("search")


def _queries() -> Iterator[tuple[str, str]]:
    """Yield queries with their language, in turn: what notes of the smallest vault are called."""
    for number in range(QUERIES):
        yield ("en" if number % 2 else "ja"), title_query(number * 3 + 2 * (number // 2))


def _costs(runs: list[Measured]) -> dict[str, float]:
    return {
        "wall": round(median(run.wall for run in runs), 4),
        "cpu": round(median(run.cpu for run in runs), 4),
        "runs": len(runs),
    }


def _latency(runs: list[Measured]) -> dict[str, float]:
    walls = sorted(run.wall for run in runs)
    return {
        "wall": round(median(walls), 4),
        "p95": round(walls[ceil(0.95 * len(walls)) - 1], 4),
        "runs": len(runs),
    }


_SUMS = {
    "index": lambda runs: _costs(runs) | {"peak": round(median(run.peak for run in runs))},
    "unchanged": _costs,
    "changed": _costs,
    "search": _latency,
}
