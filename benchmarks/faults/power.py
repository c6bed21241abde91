"""Power cuts: the power fails at some moment, and what the disk then holds is searched and indexed.

By a model of a disk that keeps nothing but what was synced, everywhere; and on a real ext4, where
this may mount one: copies of the device at moments, mounted again as after a power cut.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

from faults import Row
from faults.power_disks import cut_disks, may_mount
from faults.power_model import Spec
from faults.power_notes import change, fresh_contents
from faults.power_verdicts import SETTINGS, Left, Verdict, judge

# By the model alone 200 cuts; half of them where there are those of an ext4 as well.
_TURNS = 8
_CUTS = 25  # in each turn


def rows(room: Path) -> Iterator[Row]:
    """Yield the figures of both."""
    why_not = may_mount(room)
    turns = _TURNS if why_not else _TURNS // 2
    verdicts = [v for turn in _modelled(room / "model", turns, _CUTS) for v in turn]
    note = f"no ext4 was tried: {why_not}" if why_not else ""
    yield from _counted(verdicts, "cuts by a model of a disk", note)
    seen = [v for turn in _modelled(room / "deaf", 2, 10, deaf=True) for v in turn]
    missed = not any(v.search for v in seen) or not any(v.after or v.index for v in seen)
    note = f"{sum(bool(v.search or v.index or v.after) for v in seen)} of {len(seen)} cuts seen"
    yield Row("nothing synced at all: the model sees it", 1, int(missed), note)
    if not why_not:
        yield from _counted(list(judge(cut_disks(room / "disks"))), "cuts of an ext4")


def _counted(verdicts: list[Verdict], what: str, note: str = "") -> Iterator[Row]:
    for part, name in (
        ("search", "search finds what was published"),
        ("index", "rag index goes on by itself"),
        ("after", "the index then holds the notes"),
    ):
        wrong = [f"{v.name}: {said}" for v in verdicts if (said := getattr(v, part))]
        first = " ".join(wrong[0].split()) if wrong else note
        yield Row(f"{what}: {name}", len(verdicts), len(wrong), first)


def _modelled(
    room: Path, turns: int, cuts_each: int, deaf: bool = False
) -> Iterator[list[Verdict]]:
    """Index again and again after changes; yield the verdicts on the cuts of each time."""
    vault, data = room / "vault", room / "data"
    vault.mkdir(parents=True)
    data.mkdir()
    for turn in range(turns):
        change(vault, turn)
        total = _record(room, Spec(str(_copied(data)), "", [], _index(vault)))
        chance = random.Random(turn)
        wanted = sorted(chance.sample(range(total), min(cuts_each - 1, total)))
        cuts = room / "cuts"
        cuts.mkdir()
        _record(room, Spec(str(data), str(cuts), wanted, _index(vault), deaf))
        fresh = fresh_contents(room, vault)
        yield list(judge(_left(cuts, vault, turn, fresh)))
        shutil.rmtree(cuts)


def _index(vault: Path) -> list[str]:
    return ["index", "-q", str(vault)]


def _left(cuts: Path, vault: Path, turn: int, fresh: str) -> Iterable[Left]:
    for cut in sorted(cuts.iterdir()):
        # During a run what was published before it can be found, and after it what it published.
        last = turn if cut.name == "end" else turn - 1
        word = f"turn{last}" if last >= 0 else ""
        yield Left(f"turn {turn}, cut {cut.name}", vault, word, fresh, partial(Path, cut))


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
