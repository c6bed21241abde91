"""Kill `rag index` at random moments, while a reader searches in a loop.

Each round edits the vault (new, changed, deleted and renamed notes), starts `rag index`, kills it
with SIGKILL after a random time, and goes on. Meanwhile a reader process searches again and again.
In the end one run must complete, the index must hold exactly what a fresh index of the same folder
holds, and no search may have failed.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from faults import Row
from faults.forks import contents, preload, run
from measuring import environment
from rag.support.disk_space import disk_usage
from vaults import make_vault

_KILLS, _NOTES = 300, 300
# Seconds since the epoch, two hours apart: a run that meets many notes of one minute takes them for
# copies without a date, and those of a fresh index would be others than those of the edited one.
_TIMES = count(1_500_000_000, 7200)
_READER = """
from rag.config import load_config
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


def rows(room: Path) -> Iterator[Row]:
    """Kill, read and compare."""
    vault, env, rng = room / "vault", environment(room), random.Random(1)
    make_vault(vault, _NOTES, _NOTES * 0.004)
    (vault / "anchor.md").write_text("# anchor\n\nサーバー anchor\n", "utf-8")
    _date(sorted(vault.rglob("*.md")))
    os.environ |= {"RAG_EMBEDDING__PROVIDER": "none", "RAG_WARM": "0"}
    preload()
    data, command = room / "data", ("index", "-q", str(vault))
    run(data, *command)
    _edit(vault, rng, -1)
    started = time.monotonic()
    run(data, *command)
    whole = time.monotonic() - started
    with (room / "reader.log").open("w+") as log:
        program = [sys.executable, "-c", _READER]
        reader = subprocess.Popen(program, env=env, stdout=log, stderr=log)
        killed = 0
        for turn in range(_KILLS * 20):
            if killed == _KILLS or reader.poll() is not None:
                break
            _edit(vault, rng, turn)
            # A run that ends before its moment does not count.
            killed += run(data, *command, kill_after=rng.uniform(0, whole)).code == -signal.SIGKILL
        last = run(data, *command)
        reader.send_signal(signal.SIGINT)
        reader.wait(30)
        log.seek(0)
        *_, line = log.read().splitlines() or ["0 0"]
    run(room / "fresh", *command)
    is_same = contents(data) == contents(room / "fresh")
    growth = disk_usage(data) / disk_usage(room / "fresh")
    note = f"{growth:.2f} times as large as a fresh one"
    wrong = last.code or not is_same
    yield Row("kills: the last run completes the index", killed, int(bool(wrong)), note)
    counts = [int(word) for word in line.split()] if not reader.returncode else []
    searches, empty = counts or (1, 1)
    yield Row("kills: searches of a reader meanwhile", searches, empty, "" if counts else line)


def _edit(vault: Path, rng: random.Random, turn: int) -> None:
    notes = sorted(set(vault.rglob("*.md")) - {vault / "anchor.md"})
    written = rng.sample(notes, 12)
    for note in written:
        note.write_text(f"{note.read_text('utf-8')}\n## Turn {turn}\n\n変更 {turn}\n", "utf-8")
    for number in range(3):
        written.append(vault / f"new {turn} {number}.md")
        written[-1].write_text(f"# New {turn}\n\n新しい {number}\n", "utf-8")
    _date(written)
    for note in rng.sample(notes, 3):
        note.unlink()
    for number, note in enumerate(rng.sample([n for n in notes if n.exists()], 2)):
        note.rename(note.with_name(f"renamed {turn} {number}.md"))


def _date(notes: list[Path]) -> None:
    """Give each note a time of its own."""
    for note in notes:
        seconds = next(_TIMES)
        os.utime(note, (seconds, seconds))
