"""A Rich console on which nothing but its own styles steers the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from rag.text.sanitize import visible_lines


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
