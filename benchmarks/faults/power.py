"""Power cuts: the power fails at some moment, and what the disk then holds is searched and indexed.

By a model of a disk that keeps nothing but what was synced, which is harsher than any file system.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from faults import Row
from faults.forks import contents, preload, run
from faults.power_model import Spec

_TURNS = 8
_CUTS = 15  # in each turn
_BEGINNING = 1_700_000_000  # seconds since 1970, of the first note
SETTINGS = {
    "RAG_EMBEDDING__PROVIDER": "none",
    "RAG_OLLAMA__ENABLED": "false",
    "RAG_WARM": "false",
    "RAG_PLANNER__AUDIT": "false",
}


@dataclass(frozen=True)
class Verdict:
    """What went wrong, if anything: at the first search, at `rag index`, and after it."""

    name: str
    search: str = ""
    index: str = ""
    after: str = ""


def rows(room: Path) -> Iterator[Row]:
    """Let the power fail, and try once more with a model that takes no sync for one."""
    preload()
    os.environ.update(SETTINGS)
    verdicts = [v for turn in _modelled(room / "model", _TURNS, _CUTS) for v in turn]
    yield from _counted(verdicts)
    seen = [v for turn in _modelled(room / "deaf", 2, 10, deaf=True) for v in turn]
    missed = not any(v.search for v in seen) or not any(v.after or v.index for v in seen)
    note = f"{sum(bool(v.search or v.index or v.after) for v in seen)} of {len(seen)} cuts seen"
    yield Row("nothing synced at all: the model sees it", 1, int(missed), note)


def _counted(verdicts: list[Verdict]) -> Iterator[Row]:
    for part, name in (
        ("search", "search finds what was published"),
        ("index", "rag index goes on by itself"),
        ("after", "the index then holds the notes"),
    ):
        wrong = [f"{v.name}: {said}" for v in verdicts if (said := getattr(v, part))]
        first = " ".join(wrong[0].split()) if wrong else ""
        yield Row(f"power cuts: {name}", len(verdicts), len(wrong), first)


def _modelled(
    room: Path, turns: int, cuts_each: int, deaf: bool = False
) -> Iterator[list[Verdict]]:
    """Index again and again after changes; yield the verdicts on the cuts of each time."""
    vault, data = room / "vault", room / "data"
    vault.mkdir(parents=True)
    data.mkdir()
    for turn in range(turns):
        _change(vault, turn)
        total = _record(room, Spec(str(_copied(data)), "", [], _index(vault)))
        chance = random.Random(turn)
        wanted = sorted(chance.sample(range(total), min(cuts_each - 1, total)))
        cuts = room / "cuts"
        cuts.mkdir()
        _record(room, Spec(str(data), str(cuts), wanted, _index(vault), deaf))
        fresh = _fresh_contents(room, vault)
        yield [_judge(cut, vault, turn, fresh) for cut in sorted(cuts.iterdir())]
        shutil.rmtree(cuts)


def _index(vault: Path) -> list[str]:
    return ["index", "-q", str(vault)]


def _judge(cut: Path, vault: Path, turn: int, fresh: str) -> Verdict:
    """Search, index and compare what a power cut left."""
    # During a run what was published before it can be found, and after it what it published.
    last = turn if cut.name == "end" else turn - 1
    word = f"turn{last}" if last >= 0 else ""
    search = run(cut, "search", word or "anchor", "--paths", "--no-plan")
    wrong = search.traceback or (search.code not in ((0,) if word else (0, 1, 3)) and search.errors)
    index = run(cut, "index", "-q", *([] if word else [str(vault)]))
    return Verdict(
        f"turn {turn}, cut {cut.name}",
        str(wrong or ""),
        f"exit code {index.code}: {index.errors[-300:]}" if index.code else index.traceback,
        "" if contents(cut) == fresh else "the index does not hold the notes",
    )


def _copied(data: Path) -> Path:
    copy = data.with_name("counted")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(data, copy, symlinks=True)
    return copy


def _record(room: Path, spec: Spec) -> int:
    """Run a command as `spec` says; return how many operations there were."""
    file = room / "spec.json"
    file.write_text(json.dumps(asdict(spec)), "utf-8")
    environment = os.environ | SETTINGS | {"RAG_DATA_DIR": spec.root}
    command = [sys.executable, "-m", "faults.power_model", str(file)]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    shutil.rmtree(file.with_suffix(".copies"))
    result = json.loads(file.with_suffix(".result").read_text("utf-8"))
    return int(result["operations"])


def _change(vault: Path, turn: int) -> None:
    """Write six notes at first; then change one, write another, and delete a third now and then."""
    notes = range(6) if turn == 0 else (turn % 6, 6 + turn)
    for number in notes:
        text = f"# Note {number}\n\nanchor turn{turn} of {number}\n\n## 見出し\n\nサーバー {turn}\n"
        note = vault / f"n{number}.md"
        note.write_text(text, "utf-8")
        # Hours apart: notes of one minute are taken for copied, and how many are depends on when.
        hour = _BEGINNING + 3600 * (10 * turn + number)
        os.utime(note, (hour, hour))
    if turn % 3 == 2:
        (vault / f"n{5 + turn}.md").unlink()


def _fresh_contents(room: Path, vault: Path) -> str:
    """Return what an index made just now of the notes holds."""
    fresh = room / "fresh"
    answer = run(fresh, "index", "-q", str(vault))
    if answer.code:
        raise RuntimeError(f"rag index: {answer.errors}")
    held = contents(fresh)
    shutil.rmtree(fresh)
    return held
