"""What commands that search share: filters made of options, and what is said of the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag.cli.render.console import plural, say
from rag.config import MODES
from rag.exceptions import UsageError

if TYPE_CHECKING:
    from rag.app.index_state import IndexState
    from rag.search.results import QueryFilters


def make_filters(
    vaults: list[str] | None,
    tags: list[str] | None,
    date_from: str | None,
    date_to: str | None,
    paths: list[str] | None,
) -> QueryFilters:
    """Make filters of options.

    :raises UsageError: for words that are no date, or a span that ends before it begins.
    """
    from rag.query import parse_date_range
    from rag.search.results import QueryFilters

    for option, given in (("--tag", tags), ("--path", paths)):
        if any(not value.strip("#/ \t") for value in given or []):
            raise UsageError(f"{option} is empty", hint=f"Leave out {option}, or give it a value.")
    first = None if date_from is None else parse_date_range(date_from).first
    last = None if date_to is None else parse_date_range(date_to).last
    if first and last and last < first:
        raise UsageError(f"--to {last} lies before --from {first}", hint="Swap them?")
    return QueryFilters(vaults or None, tags or None, first, last, paths or None)


def check_mode(mode: str) -> str:
    """Return a mode, or refuse one that does not exist.

    :raises UsageError: for an unknown mode.
    """
    if mode not in MODES:
        raise UsageError(f"no mode {mode!r}", hint=f"Use --mode {', '.join(MODES)}.")
    return mode


def warn_if_stale(state: IndexState) -> None:
    """Say when what is shown may be older than the notes."""
    if state.changed:
        say(f"{plural(state.changed, 'note')} changed since the last index (`rag index`)")


def tell_corrections(corrections: dict[str, str]) -> None:
    """Say which words were searched for instead of those that no note holds."""
    for word, meant in corrections.items():
        say(f'searched for "{meant}": no note holds "{word}"')
