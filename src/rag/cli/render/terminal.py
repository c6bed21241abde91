"""Styled text by Rich, on which nothing but its own styles steers the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment, Segments
from rich.text import Text

from rag.text.messages import visible_lines


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


# Make a console that prints text as it is, without colour or cuts off a terminal.
make_console = partial(SafeConsole, highlight=False, emoji=False, markup=False)


def print_styled(console: Console, text: Text | str, style: str = "", indent: int = 0) -> None:
    """Print the lines of a text some columns in: wrapped on a terminal, as they are off it."""
    whole = Text(text, style=style) if isinstance(text, str) else text
    for line in whole.split("\n", allow_blank=True):
        wrapped = line.wrap(console, max(console.width - indent, 1)) if console.is_terminal else ()
        for part in wrapped or [line]:
            part.pad_left(indent)
            console.print(part, soft_wrap=True)


def print_markdown(console: Console, text: str, indent: int) -> None:
    """Print Markdown some columns in, without blank lines around it, and a blank line after it."""
    from rich.markdown import Markdown

    options = console.options.update(width=max(console.width - indent, 20))
    lines = console.render_lines(Markdown(text), options, pad=False)
    filled = [n for n, line in enumerate(lines) if "".join(part.text for part in line).strip()]
    if filled:
        for line in lines[filled[0] : filled[-1] + 1]:
            console.print(Segments([Segment(" " * indent), *line]))
        console.print()
