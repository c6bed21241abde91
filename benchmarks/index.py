"""Indexing and searching as whole processes, on a generated vault (10,000 notes, 40 MB).

    python benchmarks/index.py [--notes 10000] [--megabytes 40]

Every row is one process: wall and CPU seconds, peak memory (the largest it ever was), and what
it left on disk. The last column compares with a bare SQLite FTS5 load of the same files in the
same run, so that a slow machine does not look like a slow program.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rag.stores.sparse_copy import disk_usage
from vaults import make_vault

_FTS5 = """
import pathlib, sqlite3, sys
db = sqlite3.connect(sys.argv[2])
db.execute("CREATE VIRTUAL TABLE notes USING fts5(path, text, tokenize='trigram')")
db.executemany("INSERT INTO notes VALUES (?, ?)", (
    (str(p), p.read_text("utf-8")) for p in pathlib.Path(sys.argv[1]).rglob("*.md")))
db.commit()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--megabytes", type=float, default=40)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        vault, data = base / "vault", base / "data"
        make_vault(vault, arguments.notes, arguments.megabytes)
        os.environ["RAG_DATA_DIR"] = str(data)
        os.chdir(base)  # outside any project, whose vaults would be indexed too
        rag = [sys.executable, "-m", "rag"]
        print(f"{arguments.notes} notes, {arguments.megabytes:g} MB")
        print(f"{'':26}{'wall s':>8}{'CPU s':>8}{'peak MB':>9}{'disk MB':>9}{'CPU/FTS5':>10}")
        fts5 = _run(
            "SQLite FTS5, trigrams", [sys.executable, "-c", _FTS5, str(vault), str(base / "fts.db")]
        )
        _row("SQLite FTS5, trigrams", fts5, 1.0, (base / "fts.db").stat().st_size)
        for name, command in (
            ("first index", [*rag, "index", str(vault)]),
            ("nothing changed", [*rag, "index"]),
            ("nothing changed, again", [*rag, "index", "-q"]),
            ("1 % changed", [*rag, "index"]),
            ("search, cold", [*rag, "search", "サーバー 設計", "--json"]),
            ("search, cold", [*rag, "search", "kela boru", "-k", "5"]),
            ("ask, cold", [*rag, "ask", "サーバーの設計"]),
        ):
            if name.startswith("1 %"):
                _edit(vault, arguments.notes // 100)
            figures = _run(name, command)
            _row(name, figures, figures[1] / fts5[1], disk_usage(data))
        _check(rag, arguments.notes)


def _run(name: str, command: list[str]) -> tuple[float, float, float]:
    """Return wall seconds, CPU seconds and peak megabytes of one process."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    # A search may find nothing in made-up words.
    if process.returncode not in ((0, 1) if name.endswith("cold") else (0,)):
        sys.exit(f"{name}: exit code {process.returncode}: {' '.join(command)}")
    return time.perf_counter() - started, _cpu(usage), usage.ru_maxrss / 1024


def _cpu(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


def _row(name: str, figures: tuple[float, float, float], ratio: float, disk: int) -> None:
    wall, cpu, peak = figures
    print(f"{name:26}{wall:8.2f}{cpu:8.2f}{peak:9.0f}{disk / 1e6:9.0f}{ratio:10.2f}", flush=True)


def _edit(vault: Path, count: int) -> None:
    for note in sorted(vault.rglob("*.md"))[:: max(1, 10_000 // 100)][:count]:
        with note.open("a", encoding="utf-8") as text:
            text.write("\n## Added later\n\nOne more section. もう一つの節。\n")


def _check(rag: list[str], notes: int) -> None:
    """Make sure that what was timed also worked."""
    found = subprocess.run([*rag, "status", "--json"], capture_output=True, check=True)
    assert json.loads(found.stdout)["index"]["notes"] == notes, found.stdout


if __name__ == "__main__":
    main()
