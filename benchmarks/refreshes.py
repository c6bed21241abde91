"""What it costs a search to index first what changed.

    python benchmarks/refreshes.py [--notes 10000] [--vault FOLDER] [--rounds 12]

A vault of made notes, or a copy of FOLDER, is indexed and searched through the warm process: as it
is (`--no-refresh`), and with a refresh after 0, 1, 10 and 100 notes were changed. These take
turns, so that whatever else the machine does hits all alike. Printed are the median and the least
milliseconds of each as a user waits for it, and the median against that of `--no-refresh` in the
same round. Every search must find what was just written.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from vaults import BYTES, make_vault

CHANGED = (None, 0, 1, 10, 100)  # None: --no-refresh
_QUERY = "error budget"


class Bench:
    """An index of its own, and a warm process of its own.

    :param base: an empty folder.
    :param vault: the notes, which are changed.
    """

    def __init__(self, base: Path, vault: Path) -> None:
        self.vault = vault
        # Hidden files are no notes.
        self.notes = sorted(n for n in vault.rglob("*.md") if not n.name.startswith("."))
        folders = {"HOME": base, "XDG_RUNTIME_DIR": base / "run", "RAG_DATA_DIR": base / "data"}
        (base / "run").mkdir(mode=0o700)
        self._base = base
        self._environment = {
            **{name: value for name, value in os.environ.items() if "RAG_" not in name},
            **{name: str(folder) for name, folder in folders.items()},
            "RAG_OLLAMA__ENABLED": "false",
        }
        self._program = Path(sys.executable).with_name("rag")
        self._written = 0

    def run(self, *arguments: str) -> tuple[float, str]:
        """Run a command; return seconds, and what it printed."""
        started = time.perf_counter()
        done = subprocess.run(
            [self._program, *arguments],
            cwd=self._base,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode > 1:
            raise SystemExit(done.stderr)
        return time.perf_counter() - started, done.stdout

    def search(self, changed: int | None) -> float:
        """Return the seconds that a search takes after some notes were changed.

        :param changed: how many; `None` for a search that does not look.
        """
        word = self._change(changed) if changed else ""
        option = "--no-refresh" if changed is None else "--refresh"
        seconds, out = self.run("search", f"{_QUERY} {word}".strip(), option)
        if word not in out:
            raise SystemExit(f"what was written is not found: {out}")
        return seconds

    def _change(self, notes: int) -> str:
        """Add a line to some notes, and return the word that is new in it."""
        self._written += 1
        word = f"zyx{self._written}qv"
        for note in self.notes[:notes]:
            with note.open("a", encoding="utf-8") as file:
                file.write(f"\nSeen again: {word}.\n")
        return word


def main() -> None:
    """Measure, and print a line for each kind of search."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--vault", type=Path)
    parser.add_argument("--rounds", type=int, default=12)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as base:
        vault = Path(base, "notes")
        if asked.vault:
            shutil.copytree(asked.vault, vault)
        else:
            make_vault(vault, asked.notes, asked.notes * BYTES / 1e6)
        bench = Bench(Path(base), vault)
        bench.run("index", str(vault))
        bench.run("warm", "--start")
        try:
            taken = _measure(bench, asked.rounds)
        finally:
            bench.run("warm", "--stop")
    print(f"{len(bench.notes):,} notes, {asked.rounds} rounds")
    for changed, seconds in taken.items():
        what = "--no-refresh" if changed is None else f"{changed} changed"
        pairs = zip(seconds, taken[None], strict=True)
        ratio = statistics.median(one / plain for one, plain in pairs)
        median, least = statistics.median(seconds) * 1000, min(seconds) * 1000
        print(f"{what:>12}  median {median:5.0f} ms  least {least:5.0f} ms  ratio {ratio:5.2f}")


def _measure(bench: Bench, rounds: int) -> dict[int | None, list[float]]:
    """Return the seconds of each kind of search, by how many notes were changed."""
    taken: dict[int | None, list[float]] = {changed: [] for changed in CHANGED}
    for changed in CHANGED:
        bench.search(changed)
    for _ in range(rounds):
        for changed, seconds in taken.items():
            seconds.append(bench.search(changed))
    return taken


if __name__ == "__main__":
    main()
