"""The filters that tools share, made of their arguments."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any
from unicodedata import normalize

from rag.mcp.arguments import ArgumentError
from rag.query import parse_date_range
from rag.search.results import QueryFilters


def filters_of(arguments: dict[str, Any]) -> QueryFilters | None:
    """Return the filters that some arguments name; `None` for none.

    :raises ArgumentError: for words that are no date, and for what is empty.
    """
    for name in ("vaults", "tags", "paths"):
        if any(not value.strip("#/ \t") for value in arguments.get(name, [])):
            raise ArgumentError(f"{name} has an empty item; leave it out")
    first, last = _day(arguments, "from"), _day(arguments, "to", is_last=True)
    if first and last and last < first:
        raise ArgumentError(f"to {last} lies before from {first}; swap them")
    where = dict(_conditions(arguments.get("where", {})))
    made = QueryFilters(
        arguments.get("vaults") or None,
        arguments.get("tags") or None,
        first,
        last,
        arguments.get("paths") or None,
        values=where or None,
    )
    return None if made == QueryFilters() else made


def _conditions(where: dict[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in where.items():
        name, value = (normalize("NFC", part).strip() for part in (name, value))
        if not name or not value:
            raise ArgumentError('where has an empty name or value; write {"status": "done"}')
        yield name.lower(), value


def _day(arguments: dict[str, Any], name: str, *, is_last: bool = False) -> date | None:
    """Return the first or the last day that some words mean."""
    from rag.exceptions import RAGError

    if name not in arguments:
        return None
    try:
        days = parse_date_range(arguments[name])
    except RAGError as error:
        raise ArgumentError(f"{name}: {error}. {error.hint.rstrip('.')}") from error
    found: date | None = days.last if is_last else days.first
    return found
