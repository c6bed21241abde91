"""Printing answers to questions about the notes themselves: lists, counts and last dates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag.answers.language import language_of
from rag.cli.render.console import print_between_words, visible
from rag.cli.render.sources import print_quotes, print_sources

if TYPE_CHECKING:
    from rich.console import Console

    from rag.app.index_state import IndexState
    from rag.qa.answer import Answer


def print_notes(console: Console, answer: Answer, facts: IndexState, *, sources: bool) -> None:
    """Print how many notes there are, and those that are named; or a day, and what says so.

    :param sources: whether to name the notes of a number or a day; those of a list are the answer.
    """
    found = answer.notes
    assert found
    if found.day:
        console.print(visible(answer.text.partition(": ")[0]), style="bold", highlight=False)
        print_quotes(console, answer)
    else:
        named = answer.sources and (sources or found.asked == "list")
        print_between_words(console, f"{visible(answer.text)}{':' if named else ''}", "bold")
    if answer.sources and (sources or found.asked == "list"):
        if found.day:
            console.print()
        lines = {number: source.line for number, source in enumerate(answer.sources, 1)}
        print_sources(console, answer.sources, facts, lines)
        if more := more_notes(answer):
            console.print(more, style="dim", highlight=False)


def more_notes(answer: Answer) -> str:
    """Return how many notes were meant and not named; empty where all were."""
    found = answer.notes
    left = found.count - len(answer.sources) if found and not found.day else 0
    if not found or left <= 0:
        return ""
    if language_of(answer.text) == "ja":
        return f"… ほかに{left:,}件（--top-k {found.count} で全件）"
    return f"… and {left:,} more (--top-k {found.count} names all)"
