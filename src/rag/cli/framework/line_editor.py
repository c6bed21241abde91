"""A line that somebody types at a terminal, edited where the system has an editor."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from types import ModuleType
from typing import Any

_mode: list[Any] = []  # of the terminal, while a line is edited
_prompt = ""


def read_line(prompt: str) -> str:
    """Return what is typed after a prompt.

    :raises EOFError: for Ctrl-D.
    """
    global _prompt
    with suppress(ImportError):
        import readline

        if _prompt != prompt:
            _prompt = prompt
            _survive_stops(readline)
    try:
        return input(prompt)
    finally:
        _mode.clear()


def _survive_stops(readline: ModuleType) -> None:
    """Have a line look and work after Ctrl-Z and `fg` as before.

    The editor sets the mode of the terminal once for a line, the shell sets another when the
    program stops, and neither brings it back: each key would be shown twice.
    """
    import termios

    def remember() -> None:
        _mode[:] = termios.tcgetattr(0)

    def go_on(*_: object) -> None:
        if _mode:
            termios.tcsetattr(0, termios.TCSADRAIN, _mode)
            sys.stdout.write(_prompt + readline.get_line_buffer())
            sys.stdout.flush()

    readline.set_pre_input_hook(remember)
    signal.signal(signal.SIGCONT, go_on)
