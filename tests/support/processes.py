"""Processes of this machine, where the system shows them in files."""

import os
from contextlib import suppress
from pathlib import Path


def processes_with(variable: str) -> list[int]:
    """Return the processes, this one left out, that have a variable: `NAME=value`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if variable.encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return [process for process in found if process != os.getpid()]


def state_of(process: int) -> str:
    """Return the letter for the state of a process, `""` when it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def children_of(process: int) -> list[int]:
    """Return the children of a process, dead ones that nobody has asked after included."""
    with suppress(OSError):
        listed = Path(f"/proc/{process}/task/{process}/children").read_text("ascii")
        return [int(child) for child in listed.split()]
    return []
