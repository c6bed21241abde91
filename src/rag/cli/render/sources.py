"""Printing what an answer rests on: quotations, sources, and where these are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rag.cli.render.console import clean, print_between_words, visible

if TYPE_CHECKING:
    from rich.console import Console

    from rag.app.index_state import IndexState
    from rag.qa.answer import Answer
    from rag.search.results import SearchResult


def print_quotes(console: Console, answer: Answer) -> None:
    """Print what an answer quotes, each with the number of its source."""
    from rich.text import Text

    from rag.cli.render.results import print_indented
    from rag.text.snippets import match_spans

    for quote in answer.quotes:
        shown = clean(quote.text)
        text = Text(shown)
        for start, end in match_spans(shown, answer.searched):
            text.stylize("bold", start, end)
        text.append(f" [{quote.source}]", style="cyan")
        if quote.also:
            others = ", ".join(f"[{source}]" for source, _ in quote.also)
            text.append(f" (also in {others})", style="dim")
        print_indented(console, text, 2)


def print_places(console: Console, results: list[SearchResult], facts: IndexState) -> None:
    """Print the titles of results, and where they are."""
    from rich.text import Text

    from rag.cli.render.results import place

    for result in results:
        text = Text("  ").append(f"{visible(result.title)}  ", style="bold")
        print_between_words(console, text.append_text(place(result, facts, 0)))


def print_sources(
    console: Console,
    sources: list[SearchResult],
    facts: IndexState,
    lines: Mapping[int, int] | None = None,
) -> None:
    """Print the numbered sources of an answer.

    :param lines: for a number, another line than that where the source begins.
    """
    from rich.text import Text

    from rag.cli.render.results import place

    for number, source in enumerate(sources, 1):
        line = (lines or {}).get(number, 0)
        text = (
            Text()
            .append(f"[{number}] ", style="cyan")
            .append(f"{visible(source.title)}  ", style="bold")
        )
        print_between_words(console, text.append_text(place(source, facts, line)))
