"""Styled text by Rich, on which nothing but its own styles steers the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from shutil import get_terminal_size
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from rag.cli.render.console import line_starts, visible
from rag.text.sanitize import visible_lines

_CLEAR = "\x1b[2K\r"


class SafeConsole(Console):
    """Make visible what steers in the text of all that is printed.

    The text of a segment is somebody's; its style, and segments that are controls, are the
    program's own. Line breaks pass: names, which must not hold any, are made `visible` before.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments of something to print."""
        for segment in super().render(renderable, options):
            shown = visible_lines(segment.text)
            if segment.control or shown == segment.text:
                yield segment
            else:
                yield Segment(shown, segment.style)


def make_console(stderr: bool = False) -> Console:
    """Return a console that prints text as it is, without colour or cuts off a terminal."""
    # Rich takes COLUMNS=0, which some programs set for "unknown", at its word.
    is_unknown = not os.environ.get("COLUMNS", "80").strip("0")
    return SafeConsole(
        stderr=stderr,
        width=get_terminal_size().columns if is_unknown else None,
        highlight=False,
        emoji=False,
        markup=False,
        soft_wrap=False,
    )


def wrapped_text(text: Text, columns: int, indent: int = 0) -> Text:
    """Do as `rag.cli.render.console.wrapped` with a styled text of any number of lines."""
    lines = []
    for line in text.split("\n", allow_blank=True):
        first, *others = line.divide([*line_starts(line.plain, columns, indent)])
        for other in others:
            other.pad_left(indent)
        lines += [first, *others]
    for line in lines:
        line.rstrip()
    return text.blank_copy("\n").join(lines)


def print_between_words(
    console: Console, text: Text | str, style: str | None = None, indent: int = 0
) -> None:
    """Print a line on a console: broken between words on a terminal, whole off it.

    :param indent: columns that its further lines begin after.
    """
    whole = Text(text) if isinstance(text, str) else text
    if console.is_terminal:
        lines = wrapped_text(whole, console.width, indent)
        console.print(lines, style=style, soft_wrap=True)
    else:
        _print_plain(console, whole)


def print_indented(console: Console, text: Text | str, indent: int, style: str = "") -> None:
    """Print the lines of a text some columns in: wrapped on a terminal, as they are off it."""
    whole = Text(text, style=style) if isinstance(text, str) else text
    if console.is_terminal:
        lines = wrapped_text(whole, console.width - indent)
        console.print(Padding(lines, (0, 0, 0, indent)))
    else:
        for line in whole.split("\n", allow_blank=True):
            _print_plain(console, Text(" " * indent).append_text(line))


def _print_plain(console: Console, text: Text) -> None:
    """Print lines off a terminal, as a console does: without styles, no line broken."""
    if "\t" in text.plain:  # it would be blanks
        console.print(text, soft_wrap=True)
        return
    console.file.write(visible_lines(text.plain) + "\n")
    console.file.flush()  # what is said on stderr next comes next


def print_markdown(console: Console, text: str, indent: int) -> None:
    """Print Markdown some columns in, without blank lines around it, and a blank line after it."""
    from rich.markdown import Markdown, MarkdownElement, Paragraph
    from rich.segment import Segments

    class Broken(Paragraph):
        """A paragraph, of a list too, that is broken between words."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            self.text.justify = self.justify
            yield wrapped_text(self.text, options.max_width)

    class BrokenMarkdown(Markdown):
        elements: ClassVar[dict[str, type[MarkdownElement]]] = {
            **Markdown.elements,
            "paragraph_open": Broken,
        }

    options = console.options.update(width=max(console.width - indent, 20))
    lines = console.render_lines(BrokenMarkdown(text), options, pad=False)
    filled = [n for n, line in enumerate(lines) if "".join(part.text for part in line).strip()]
    if filled:
        for line in lines[filled[0] : filled[-1] + 1]:
            console.print(Segments([Segment(" " * indent), *line]))
        console.print()


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
