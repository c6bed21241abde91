"""How a command ends, cold or in the warm process."""

from __future__ import annotations

import atexit
import sys
import threading

INTERRUPTED = 130  # what Typer makes of Ctrl-C
_LOST_OUTPUT = 120  # what Python itself ends with when the last of the output cannot be written


def interrupted() -> int:
    """Say that Ctrl-C ended a command, and return its exit code."""
    sys.stderr.write("\nrag: interrupted\n")
    return INTERRUPTED


def finish(code: int) -> int:
    """Do what the interpreter does at its end, save taking everything apart, which takes longer
    than many a command. The process is left with `os._exit`.

    :returns: the exit code: the command's, unless its output got lost.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads that are no daemons
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # nowhere to write to, or closed
            code = _LOST_OUTPUT
    return code
