"""Work that leaves the machine to whoever sits at it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rag.support.background import on_battery


@pytest.mark.parametrize(
    ("supplies", "expected"),
    [
        ({}, False),
        ({"AC": ("Mains", "online", "1"), "BAT0": ("Battery", "status", "Discharging")}, False),
        ({"AC": ("Mains", "online", "0"), "BAT0": ("Battery", "status", "Discharging")}, True),
        ({"BAT0": ("Battery", "status", "Discharging")}, True),
        ({"AC": ("Mains", "online", "1"), "BAT0": ("Battery", "status", "Charging")}, False),
        ({"BAT0": ("Battery", "status", "Full")}, False),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="the system tells it otherwise")
def test_a_machine_is_on_its_battery_when_that_is_discharging(
    tmp_path: Path, supplies: dict[str, tuple[str, str, str]], expected: bool
) -> None:
    for name, (kind, file, value) in supplies.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "type").write_text(f"{kind}\n")
        (tmp_path / name / file).write_text(f"{value}\n")
    assert on_battery(tmp_path) is expected


def test_a_machine_that_does_not_tell_is_plugged_in(tmp_path: Path) -> None:
    assert not on_battery(tmp_path / "missing")


@pytest.mark.skipif(sys.platform != "linux", reason="priorities of I/O are Linux's")
def test_a_process_of_low_priority_goes_after_others_at_processors_and_disk() -> None:
    code = (
        "import os, ctypes; from rag.support.background import lower_priority, _IOPRIO_SET\n"
        "lower_priority(); number = _IOPRIO_SET[os.uname().machine] + 1\n"  # ioprio_get
        "print(os.nice(0), ctypes.CDLL(None).syscall(number, 1, 0) >> 13)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["10", "3"]
