"""Markdown on a terminal, of which Rich breaks Japanese paragraphs at any letter."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown as RichMarkdown
from rich.markdown import MarkdownElement, Paragraph

from rag.cli.render.wrapping import wrapped_text


class _Paragraph(Paragraph):
    """A paragraph that is broken between words."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = self.justify
        yield wrapped_text(self.text, options.max_width)


class Markdown(RichMarkdown):
    """Markdown whose paragraphs are broken between words, those of lists too."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **RichMarkdown.elements,
        "paragraph_open": _Paragraph,
    }
