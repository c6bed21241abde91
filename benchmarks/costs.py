"""What indexing and searching cost as commands, beside what Python and the program start in.

    python benchmarks/costs.py [--notes 10000] [--runs 15] [--beside OTHER/src]

All are whole processes that take turns: a first index, a run that finds nothing changed and one
that finds a hundredth of the notes changed; then searches, cold and warm. Printed are the medians
of wall and processor time, and the peak memory. What a warm search costs its processor is spent in
the warm process, and not counted. `--beside` names the modules of another checkout, to compare
with. The index holds no embeddings; docs/benchmarks.md has other programs.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from measuring import Measured, environment, measure
from vaults import BYTES, make_vault, title_query

SOURCES = Path(__file__).resolve().parents[1] / "src"
_LIMIT = 600.0
_WRITTEN = 1_700_000_000  # when the notes were, in seconds since the epoch
_WARM_UP = 2  # turns that are not counted: files come into memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--beside", type=Path)
    arguments = parser.parse_args()
    sources = {"here": SOURCES} | ({"beside": arguments.beside} if arguments.beside else {})
    with tempfile.TemporaryDirectory(prefix="rag-", dir="/tmp") as name:
        folder = Path(name)
        make_vault(folder / "notes", arguments.notes, arguments.notes * BYTES / 1e6)
        for note in (folder / "notes").rglob("*.md"):  # young ones are read a second time
            os.utime(note, (_WRITTEN, _WRITTEN))
        places = {version: Place(folder / version, path) for version, path in sources.items()}
        runs = _indexing(places, folder / "notes")
        try:
            for place in places.values():
                place.run("warm", "--start")
            runs |= _searching(places, arguments.runs)
        finally:
            for place in places.values():
                place.run("warm", "--stop")
    print(f"{'medians':40}{'wall ms':>10}{'CPU ms':>10}{'peak MB':>9}")
    for what, some in runs.items():
        wall, cpu, peak = (median(getattr(run, k) for run in some) for k in ("wall", "cpu", "peak"))
        print(f"{what:40}{wall * 1000:10.1f}{cpu * 1000:10.1f}{peak / 1e6:9.0f}")


class Place:
    """One version of the program, with a warm process of its own."""

    def __init__(self, home: Path, sources: Path, **settings: object) -> None:
        self.folder = home
        self.environment = environment(home, PYTHONPATH=sources, RAG_WARM="1", **settings)

    def run(self, *arguments: str, warm: bool = True, watch: bool = False) -> Measured:
        """Run a command of the program; without any, Python alone. With `watch` the memory of all
        its processes is measured."""
        line = ["-m", "rag", *arguments] if arguments else ["-c", "pass"]
        variables = self.environment | ({} if warm else {"RAG_WARM": "0"})
        run = measure([sys.executable, *line], variables, self.folder, _LIMIT, watch)
        if run.code > 1:  # with which a question ends that has no answer
            raise SystemExit(run.output)
        return run


def _indexing(places: Mapping[str, Place], vault: Path) -> dict[str, list[Measured]]:
    runs: dict[str, list[Measured]] = {}
    notes = sorted(vault.rglob("*.md"))[::100]
    for what in ("first", "nothing changed", "nothing changed", "1 % changed"):
        for note in notes if what == "1 % changed" else ():
            note.write_text(f"{note.read_text('utf-8')}\n## Added\n\nOne more section.\n", "utf-8")
        for version, place in places.items():
            run = place.run("index", "-q", str(vault), warm=False, watch=True)
            runs.setdefault(f"rag index, {what} ({version})", []).append(run)
    return runs


def _searching(places: Mapping[str, Place], count: int) -> dict[str, list[Measured]]:
    runs: dict[str, list[Measured]] = {}
    for turn in range(-_WARM_UP, count):
        query = title_query(2 * abs(turn) + 1)
        for version, place in places.items():
            measured = {
                "Python": place.run(),
                "rag --version, cold": place.run("--version", warm=False),
                "rag search, cold": place.run("search", query, warm=False),
                "rag search, warm": place.run("search", query),
            }
            for what, run in measured.items() if turn >= 0 else ():
                runs.setdefault(f"{what} ({version})", []).append(run)
    return runs


if __name__ == "__main__":
    main()
