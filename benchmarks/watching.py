"""Whether `rag watch` keeps up, and what it costs.

    python benchmarks/watching.py [--notes 50000] [--edits 10000] [--rounds 10] [--idle 60]

A vault of made notes is watched, with no model. Printed are: the share of a processor that the
watcher takes while nothing happens; the seconds from the writing of a note until searches find it;
and whether the index equals a fresh one after so many edits within a minute, and after all notes
were touched at once and a few of them changed, with the seconds until it did. The exit code is 1
when an index differed.
"""

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from measuring import environment
from rag.app.watch_state import read_watcher
from rag.config import RAGConfig, load_config
from rag.exceptions import RAGError
from rag.index.lookup import open_manifest
from rag.stores import get_document_store
from vaults import make_vault

_BYTES = 600  # of a note
_MINUTE = 60.0
_START = 10.0  # seconds after which the look at all notes at the start is over
_LONGEST = 900.0  # seconds until a watcher has caught up
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=50_000)
    parser.add_argument("--edits", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--idle", type=float, default=_MINUTE)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as base:
        bench = Bench(Path(base), arguments.notes)
        try:
            bench.start()
            share = bench.idle(arguments.idle)
            print(
                f"idle: {100 * share:.2f} % of a processor for {arguments.idle:.0f} s", flush=True
            )
            if arguments.rounds:
                seconds = [bench.edit(number) for number in range(arguments.rounds)]
                median, most = statistics.median(seconds), max(seconds)
                print(
                    f"edits a few seconds apart are found after {median:.2f} s, {most:.2f} at most",
                    flush=True,
                )
            is_equal = [bench.burst(arguments.edits), bench.touch_all()]
        finally:
            bench.stop()
    return 0 if all(is_equal) else 1


class Bench:
    """A vault, its index, and a watcher.

    :param base: an empty folder.
    """

    def __init__(self, base: Path, notes: int) -> None:
        self._base, self._vault = base, base / "vault"
        make_vault(self._vault, notes, notes * _BYTES / 1e6)
        self._notes = sorted(self._vault.rglob("*.md"))
        os.environ.update(environment(base))
        os.chdir(base)
        self._config = load_config()
        self._process: subprocess.Popen[bytes] | None = None
        self._rng = random.Random(7)

    def start(self) -> None:
        """Index all notes, and watch."""
        self._index(self._config)
        self._process = subprocess.Popen([_program(), "watch", "-q"])
        self._wait(lambda: bool((status := read_watcher(self._config)) and status.last_run))

    def stop(self) -> None:
        """End the watcher."""
        if self._process:
            self._process.send_signal(signal.SIGINT)
            self._process.wait()

    def idle(self, seconds: float) -> float:
        """Return which share of a processor is taken while nothing happens."""
        time.sleep(_START)
        before = self._cpu()
        time.sleep(seconds)
        return (self._cpu() - before) / seconds

    def edit(self, number: int) -> float:
        """Write a note, and return the seconds until a reader of the index sees it."""
        time.sleep(self._rng.uniform(2, 5))  # as one does who writes
        note = self._vault / f"Edit {number}.md"
        note.write_text(f"# Edit {number}\n\nThe quokka of round {number}.\n")
        started = time.monotonic()
        self._wait(lambda: self._has(note.name), 0.05)
        return time.monotonic() - started

    def burst(self, edits: int) -> bool:
        """Change notes for a minute; return whether the index becomes equal to a fresh one."""
        started = time.monotonic()
        for number in range(edits):
            with self._rng.choice(self._notes).open("a") as note:
                note.write(f"\nEdit {number} of many.\n")
            time.sleep(max(0.0, started + _MINUTE * number / edits - time.monotonic()))
        return self._settle(f"{edits:,} edits in {time.monotonic() - started:.0f} s")

    def touch_all(self) -> bool:
        """Touch all notes and change a few; return the same."""
        started = time.monotonic()
        for note in self._notes:
            note.touch()
        for note in self._rng.sample(self._notes, 50):
            note.write_text("# Changed\n\nIn the midst of a great many.\n")
        took = time.monotonic() - started
        return self._settle(f"{len(self._notes):,} files touched in {took:.1f} s")

    def _settle(self, what: str) -> bool:
        """Wait until the index is as a fresh one, and print whether it is."""
        started = time.monotonic()
        fresh = replace(self._config, data_dir=self._base / f"fresh {started}")
        self._index(fresh)
        expected = _points(fresh)
        try:
            self._wait(lambda: _points(self._config) == expected, 1.0)
        except TimeoutError:
            print(f"{what}: the index DIFFERS from a fresh one", flush=True)
            return False
        print(
            f"{what}: equal to a fresh index {time.monotonic() - started:.1f} s later", flush=True
        )
        return True

    def _index(self, config: RAGConfig) -> None:
        variables = {**os.environ, "RAG_DATA_DIR": str(config.data_dir)}
        words = [str(_program()), "index", "-q", str(self._vault)]
        subprocess.run(words, env=variables, stdout=subprocess.DEVNULL, check=True)

    def _has(self, path: str) -> bool:
        with open_manifest(self._config) as manifest:
            return manifest.note("vault", path) is not None

    def _cpu(self) -> float:
        """Return the seconds of a processor that the watcher took, and the runs that it began."""
        assert self._process
        fields = (
            Path(f"/proc/{self._process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        )
        return sum(map(int, fields[11:15])) / _TICKS

    def _wait(self, is_so: Callable[[], bool], pause: float = 0.2) -> None:
        until = time.monotonic() + _LONGEST
        while not is_so():
            if time.monotonic() > until:
                raise TimeoutError
            time.sleep(pause)


def _points(config: RAGConfig) -> dict[str, bytes]:
    """Return a digest of each chunk, by its id."""
    try:
        with get_document_store(config) as store:
            documents = store.filter_documents()
    except RAGError:  # a snapshot that is just replaced
        return {}
    return {one.id: sha256(f"{one.content}".encode()).digest() for one in documents}


def _program() -> Path:
    return Path(sys.executable).with_name("rag")


if __name__ == "__main__":
    sys.exit(main())
