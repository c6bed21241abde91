"""The benchmarks: their vaults are the same every time, and their measures and verdicts right."""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from measuring import TooLong, measure
from peer_plots import _GAP, _apart
from peer_report import page
from vaults import make_vault, note_path, title_query
from verdicts import verdicts


def results(**programs: dict[str, Any]) -> dict[str, Any]:
    """Return results of 10,000 notes."""
    size = {
        "megabytes": 43.0,
        "limit": 400,
        "rounds": 2,
        "missing": {"qmd": "not there"},
        "programs": programs,
    }
    return {
        "machine": {"system": "Linux", "cores": 2, "memory_gib": 24, "python": "3.11.7"},
        "versions": dict.fromkeys(programs, "1.0"),
        "reads": {name: ["en", "ja"] for name in programs},
        "queries": 20,
        "warm_rounds": 5,
        "indexing": 30,
        "sizes": {"10000": size},
    }


def search(wall: float, p95: float) -> dict[str, Any]:
    return {"search": {"wall": wall, "p95": p95, "runs": 20}}


def run(tmp_path: Path, code: str, limit: float = 30, watch: bool = False):
    return measure([sys.executable, "-c", code], dict(os.environ), tmp_path, limit, watch)


def contents(vault: Path) -> dict[Path, str]:
    return {note.relative_to(vault): note.read_text("utf-8") for note in vault.rglob("*.md")}


def test_a_smaller_vault_is_the_beginning_of_a_larger_one(tmp_path: Path):
    make_vault(tmp_path / "small", 20, 0.02)
    make_vault(tmp_path / "large", 120, 0.12)

    small, large = contents(tmp_path / "small"), contents(tmp_path / "large")
    assert len(small) == 20 and len(large) == 120
    assert small.items() <= large.items()


def test_the_query_for_a_note_is_in_it(tmp_path: Path):
    make_vault(tmp_path, 4, 0.01)

    for number in range(4):
        assert title_query(number) in (tmp_path / note_path(number)).read_text("utf-8").lower()


def test_seconds_of_the_processor_count_children(tmp_path: Path):
    busy = "import time\nwhile time.process_time() < .3: pass"
    done = run(
        tmp_path, f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"
    )

    assert done.code == 0
    assert done.cpu >= 0.3


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs /proc")
def test_memory_is_that_of_all_processes_together(tmp_path: Path):
    hold = "import time; held = b'x' * 60_000_000; time.sleep(.6)"
    both = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {hold!r}]); {hold}"

    assert run(tmp_path, both, watch=True).peak >= 120_000_000


def test_a_process_is_stopped_at_its_limit(tmp_path: Path):
    with pytest.raises(TooLong):
        run(tmp_path, "import time; time.sleep(60)", limit=0.2)


def test_a_ratio_is_held_against_what_was_demanded():
    found = verdicts(
        results(
            **{
                "rag": search(0.5, 0.6) | {"index": {"cpu": 12.0, "peak": 400e6}},
                "rag, warm": search(0.06, 0.13),
                "qmd": search(0.2, 0.3) | {"index": {"cpu": 24.0}},
            }
        )["sizes"]
    )

    assert [verdict.met for verdict in found] == [True, True, False, True, None, None]
    assert found[0].measured == "0.12 (0.06 s ÷ 0.5 s)"
    assert found[4].measured == "there is no figure of rag at 10,000 notes"


def test_what_is_left_out_is_named_with_its_reason():
    text = page(
        results(
            rag={"index": {"wall": 1.0, "cpu": 2.0, "peak": 5e7, "runs": 2}},
            tantivy={"given_up": {"index": "over 400 s"}},
        )
    )

    assert "**qmd** was left out: not there." in text
    assert "| **rag** | 1.00 s / 2.00 s |" in text
    assert "– tantivy at 10,000 notes: over 400 s." in text


@given(st.lists(st.floats(0, 1), max_size=12).map(sorted))
def test_names_of_lines_do_not_meet(heights: list[float]):
    moved = _apart(heights)

    assert len(moved) == len(heights)
    assert all(b - a >= _GAP * 0.999 for a, b in pairwise(moved))
    assert all(-0.001 <= height <= 1.001 for height in moved)
