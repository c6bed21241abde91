"""Work that leaves the machine to whoever sits at it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from time import monotonic

from rag.support.python_process import processors

_NICE = 10
_IDLE = 3 << 13  # the class of I/O that waits for all others (linux/ioprio.h)
_IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
_SUPPLIES = Path("/sys/class/power_supply")
_LOOK_EVERY = 10.0  # seconds


@cache
def lower_priority() -> None:
    """Let all other programs go first, at the processors and at the disk, from now on."""
    with suppress(OSError):
        os.nice(_NICE)
    number = _IOPRIO_SET.get(os.uname().machine)
    if sys.platform == "linux" and number is not None:
        import ctypes

        ctypes.CDLL(None).syscall(number, 1, 0, _IDLE)  # of this process; a refusal changes nothing


def should_give_way(threads: int) -> bool:
    """Return whether to go at half the speed: the machine runs on its battery, or other programs
    want more processors than there are.

    :param threads: how many of those that want a processor are this process's own.
    """
    return _is_wanted(threads, int(monotonic() / _LOOK_EVERY))


@lru_cache(maxsize=1)
def _is_wanted(threads: int, _now: int) -> bool:
    return os.getloadavg()[0] - threads > processors() or on_battery()


def on_battery(supplies: Path = _SUPPLIES) -> bool:
    """Return whether the machine runs on its battery, as far as it tells.

    :param supplies: the folder in which Linux lists what gives it power.
    """
    if sys.platform == "darwin":
        with suppress(OSError, subprocess.SubprocessError):
            ran = subprocess.run(["pmset", "-g", "batt"], capture_output=True, text=True, timeout=5)
            return "'Battery Power'" in ran.stdout
        return False
    kinds: dict[str, set[str]] = {}
    with suppress(OSError):
        for supply in supplies.iterdir():
            with suppress(OSError):
                kind = (supply / "type").read_text().strip()
                state = supply / ("status" if kind == "Battery" else "online")
                kinds.setdefault(kind, set()).add(state.read_text().strip())
    is_plugged_in = any("1" in states for kind, states in kinds.items() if kind != "Battery")
    return "Discharging" in kinds.get("Battery", ()) and not is_plugged_in
