"""The end of a command: at once, without taking apart what the system takes back anyway.

The destructors of all modules take 40 ms after a search, and closing an index of 50,000 chunks
that was only read as long again, since the engine writes out what nobody changed.
"""

from __future__ import annotations

import atexit
import gc
import sys
import threading

INTERRUPTED = 130  # what Typer makes of Ctrl-C
LOST_OUTPUT = 74  # the output cannot be written

# A command of half a second makes little that only the collector of cycles finds.
_OBJECTS, _USUAL = 50_000, gc.get_threshold()

_kept: list[object] | None = None


def begin() -> None:
    """Say that this process ends by `finish`: it may keep to the end what it need not close."""
    global _kept
    _kept = []
    gc.set_threshold(_OBJECTS)


def go_on() -> None:
    """Say that this process goes on for long, so that it closes what it need not keep."""
    global _kept
    _kept = None
    gc.set_threshold(*_USUAL)


def is_program() -> bool:
    """Return whether this process is the program, rather than one that uses it as a library."""
    return _kept is not None


def keep(*things: object) -> bool:
    """Keep something to the end of the process; tell whether it could be, for `finish` ends it."""
    if _kept is None:
        return False
    _kept.extend(things)
    return True


def interrupted() -> int:
    """Say that Ctrl-C ended a command, and return its exit code."""
    sys.stderr.write("\nrag: interrupted\n")
    return INTERRUPTED


def finish(code: int) -> int:
    """Do what the interpreter does at its end, save the destructors. `os._exit` is to follow.

    :returns: the exit code: the command's, unless its output got lost.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads that are no daemons
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # nowhere to write to, or closed
            code = LOST_OUTPUT
    return code
