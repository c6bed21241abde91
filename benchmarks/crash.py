"""Kill `rag index` at random moments, a hundred times, while a reader searches in a loop.

    python benchmarks/crash.py [--kills 100] [--seed 1]

Each round edits the vault (new, changed, deleted and renamed notes), starts `rag index`, kills
it with SIGKILL after a random time, and goes on. Meanwhile a reader process searches the index
again and again. In the end one run must complete, the index must hold exactly what a fresh
index of the same folder holds, and no search may have failed. Exit code 1 if not.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from faults.forks import contents, run
from rag.support.disk_space import disk_usage
from vaults import make_vault

_READER = """
import sys
from rag.config import load_config
from rag.exceptions import IndexUnavailableError
from rag.pipelines import create_search_pipeline, search
from rag.stores import get_document_store

config, searches, empty = load_config(), 0, 0
try:
    while True:
        # A new store each time: opening and closing is what races with the writer.
        with get_document_store(config) as store:
            found = search(create_search_pipeline(store), "サーバー anchor", top_k=3)
        searches += 1
        empty += not found.results
        print(searches, empty, flush=True)
except KeyboardInterrupt:
    pass
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--notes", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        os.environ |= {"RAG_DATA_DIR": str(base / "data"), "RAG_EMBEDDING__PROVIDER": "none"}
        vault = base / "vault"
        make_vault(vault, arguments.notes, arguments.notes * 0.004)
        (vault / "anchor.md").write_text("# anchor\n\nサーバー anchor\n", "utf-8")
        command = [sys.executable, "-m", "rag", "index", "-q", str(vault)]
        whole = _timed(command)
        log = (base / "reader.log").open("w+")
        reader = subprocess.Popen([sys.executable, "-c", _READER], stdout=log, stderr=log)
        killed = _kill_often(command, vault, arguments.kills, whole, rng, reader)
        last = subprocess.run(command, capture_output=True, text=True)
        reader.send_signal(signal.SIGINT)
        reader.wait(30)
        log.seek(0)
        lines = log.read().splitlines()
        run(base / "fresh", "index", "-q", str(vault))
        same = contents(base / "data") == contents(base / "fresh")
        searches, empty = (int(n) for n in lines[-1].split())
        print(f"{killed} kills, {searches} searches by the reader, {empty} without a result")
        state = "whole" if same else "WRONG"
        growth = disk_usage(base / "data") / disk_usage(base / "fresh")
        print(f"the last run: exit code {last.returncode}; the index is {state}", end=", ")
        print(f"{growth:.2f} times as large as a fresh one")
        if last.returncode or not same or empty or reader.returncode:
            sys.exit("\n".join([*lines[-20:], last.stderr]))


def _timed(command: list[str]) -> float:
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def _kill_often(
    command: list[str],
    vault: Path,
    kills: int,
    whole: float,
    rng: random.Random,
    reader: subprocess.Popen[bytes],
) -> int:
    """Run and kill; a run that ends before its moment does not count."""
    killed = 0
    for turn in range(kills * 20):
        if killed == kills or reader.poll() is not None:
            break
        _edit(vault, rng, turn)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(rng.uniform(0.1, whole))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
    return killed


def _edit(vault: Path, rng: random.Random, turn: int) -> None:
    notes = sorted(set(vault.rglob("*.md")) - {vault / "anchor.md"})
    for note in rng.sample(notes, 12):
        note.write_text(f"{note.read_text('utf-8')}\n## Turn {turn}\n\n変更 {turn}\n", "utf-8")
    for note in rng.sample(notes, 3):
        note.unlink()
    for number, note in enumerate(rng.sample([n for n in notes if n.exists()], 2)):
        note.rename(note.with_name(f"renamed {turn} {number}.md"))
    for number in range(3):
        (vault / f"new {turn} {number}.md").write_text(
            f"# New {turn}\n\n新しい {number}\n", "utf-8"
        )


if __name__ == "__main__":
    main()
