"""What a result has of its note's lines, as they were indexed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag.search.results import SearchResult


def own_lines(result: SearchResult) -> list[str]:
    """Return the lines of a result's chunk, without those that it repeats from further up."""
    return result.content.split("\n")[result.repeated :]


def line_text(result: SearchResult) -> str:
    """Return the line that a result points at."""
    lines = own_lines(result)
    at = result.line - result.line_start
    return lines[at] if 0 <= at < len(lines) else lines[0]
