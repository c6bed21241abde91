"""A line that says what goes on, below all that was printed, and that leaves no trace."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rag.text.sanitize import visible

if TYPE_CHECKING:
    from rich.console import Console

_CLEAR = "\x1b[2K\r"


class StatusLine:
    """Show one line on stderr, if that is a terminal; `clear` it before anything is printed.

    :param console: a console of stderr.
    :param wanted: whether to show anything.
    """

    def __init__(self, console: Console, wanted: bool = True) -> None:
        # A console may be told to be one of a terminal, in a pipe too.
        shows = console.is_terminal and not console.is_dumb_terminal and sys.stderr.isatty()
        self._console, self._shows = console, wanted and shows
        self._shown = ""

    def show(self, message: str) -> None:
        """Show a message in the place of the one before; it is cut where the terminal ends."""
        if not self._shows or message == self._shown:
            return
        from rich.text import Text

        self.clear()
        text = Text(visible(message), style="dim")
        text.truncate(max(self._console.width - 1, 1), overflow="ellipsis")
        self._console.print(text, end="", soft_wrap=True)
        sys.stderr.write("\r")
        sys.stderr.flush()
        self._shown = message

    def clear(self) -> None:
        """Take the message away."""
        if self._shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
            self._shown = ""
