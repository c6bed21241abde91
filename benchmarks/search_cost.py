"""Where the milliseconds of a search go, cold and warm, step by step.

    python benchmarks/search_cost.py [--notes 10000] [--runs 15] [--beside OTHER/src]

The programs are whole processes that take turns; each of them writes down when a step begins and
ends. A step within another does not count there. `--beside` names the modules of another checkout,
to compare with. Of each step the median is shown. The index holds no embeddings.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from search_cost_marks import CLIENT, FORK, IMPORTS, MARKS, START, TAKE_OVER, WRAPPED
from vaults import make_vault, title_query

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent / "src"
REST = "the rest"
STEPS = (START, CLIENT, FORK, TAKE_OVER, IMPORTS, *(step for *_, step in WRAPPED), REST)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--beside", type=Path)
    arguments = parser.parse_args()
    sources = {"here": SOURCES} | ({"beside": arguments.beside} if arguments.beside else {})
    with tempfile.TemporaryDirectory(prefix="rag-", dir="/tmp") as name:
        folder = Path(name)
        make_vault(folder / "notes", arguments.notes, arguments.notes * 0.0043)
        places = {version: Place(folder, path) for version, path in sources.items()}
        first = next(iter(places.values()))
        first.run("index", "-q", str(folder / "notes"))
        try:
            found = measured(places, arguments.runs)
        finally:
            for place in places.values():
                place.stop()
    print(table(found, arguments.runs))


class Place:
    """One version of the program, and the runtime folder of its own."""

    def __init__(self, folder: Path, sources: Path) -> None:
        self.marks = folder / "marks"
        runtime = folder / f"run-{sources.parent.name}"
        runtime.mkdir(mode=0o700)
        outside = {n: v for n, v in os.environ.items() if not n.startswith(("RAG_", "PYTHON"))}
        own = {"HOME": folder, "RAG_DATA_DIR": folder / "data", "XDG_RUNTIME_DIR": runtime}
        self.environment = {
            **outside,
            **{name: str(value) for name, value in own.items()},
            "PYTHONPATH": os.pathsep.join([str(sources), str(HERE)]),
            "RAG_EMBEDDING__PROVIDER": "none",
            "RAG_OLLAMA__ENABLED": "false",
            "RAG_WARM": "0",
            MARKS: str(self.marks),
        }
        self.server: subprocess.Popen[bytes] | None = None

    def run(self, *arguments: str, warm: bool = False) -> dict[str, float]:
        """Run a command; return the milliseconds of its steps, and of all as ``."""
        self.marks.unlink(missing_ok=True)
        code = "import search_cost_marks as m; m.command()"
        started = time.monotonic()
        subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env=self.environment | {"RAG_WARM": str(int(warm))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        ended = time.monotonic()
        return steps(self.marks, started, ended)

    def start(self) -> None:
        """Start the warm process, and wait until it answers."""
        code = "import search_cost_marks as m; m.parent()"
        self.server = subprocess.Popen([sys.executable, "-c", code], env=self.environment)
        while not [*Path(self.environment["XDG_RUNTIME_DIR"]).glob("rag/*.sock")]:
            time.sleep(0.05)

    def stop(self) -> None:
        """End the warm process."""
        if self.server:
            self.server.terminate()
            self.server.wait()


def steps(marks: Path, started: float, ended: float) -> dict[str, float]:
    """Return the milliseconds of each step of a run, and of all of it.

    :param marks: a file of lines: a step, and how long it took; or when what was reached.
    """
    spent: dict[str, float] = {}
    for line in marks.read_text("utf-8").splitlines():
        name, _, seconds = line.rpartition(" ")
        if name == START:
            spent[START] = float(seconds) - started
        else:
            spent[name] = spent.get(name, 0.0) + float(seconds)
    spent[REST] = ended - started - sum(spent.values())
    return {name: took * 1000 for name, took in (spent | {"": ended - started}).items()}


def measured(places: Mapping[str, Place], runs: int) -> dict[str, list[dict[str, float]]]:
    """Return the steps of runs that take turns, by how the program ran."""
    found: dict[str, list[dict[str, float]]] = {}
    for warm in (False, True):
        for place in places.values() if warm else ():
            place.start()
        for turn in range(-2, runs):
            query = title_query(2 * abs(turn) + 1)
            for version, place in places.items():
                took = place.run("search", query, warm=warm)
                if turn >= 0:  # before that files come into memory
                    kind = f"{'warm' if warm else 'cold'}, {version}"
                    found.setdefault(kind, []).append(took)
    return found


def table(found: Mapping[str, Sequence[Mapping[str, float]]], runs: int) -> str:
    """Return a table of the medians."""
    lines = [f"{'ms, median of ' + str(runs):28}" + "".join(f"{kind:>14}" for kind in found)]
    for step in (*STEPS, ""):
        row = [[took.get(step, 0.0) for took in runs] for runs in found.values()]
        if any(map(any, row)):
            cells = [f"{statistics.median(one):14.1f}" if any(one) else " " * 14 for one in row]
            lines.append(f"{step or 'in all':28}" + "".join(cells))
    return "\n".join(lines)


if __name__ == "__main__":
    main()
