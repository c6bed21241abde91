"""The filters that tools share, made of their arguments."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING
from unicodedata import normalize

from rag.exceptions import RAGError
from rag.mcp.protocol import ArgumentError
from rag.query import parse_date_range
from rag.search.results import QueryFilters

if TYPE_CHECKING:
    from rag.mcp.requests import Ask, Search


def filters_of(asked: Search | Ask) -> QueryFilters | None:
    """Return the filters that a request names; `None` for none.

    :raises ArgumentError: for words that are no date, and for what is empty.
    """
    for name in ("vaults", "tags", "paths"):
        if any(not value.strip("#/ \t") for value in getattr(asked, name)):
            raise ArgumentError(f"{name} has an empty item; leave it out")
    where = {
        normalize("NFC", name).strip().lower(): normalize("NFC", value).strip()
        for name, value in asked.where.items()
    }
    if not all((*where, *where.values())):
        raise ArgumentError('where has an empty name or value; write {"status": "done"}')
    first, last = _days("", asked.from_, asked.to)
    modified_from, modified_to = _days("modified_", asked.modified_from, asked.modified_to)
    made = QueryFilters(
        [*asked.vaults] or None,
        [*asked.tags] or None,
        first,
        last,
        [*asked.paths] or None,
        values=where or None,
        modified_from=modified_from,
        modified_to=modified_to,
    )
    return None if made == QueryFilters() else made


def _days(kind: str, since: str, until: str) -> tuple[date | None, date | None]:
    """Return the first and the last day that words mean.

    :raises ArgumentError: for words that are no date, and a time that ends before it begins.
    """
    days: list[date | None] = []
    for name, words in (("from", since), ("to", until)):
        try:
            span = parse_date_range(words) if words else None
        except RAGError as error:
            hint = error.hint.rstrip(".")
            raise ArgumentError(f"{kind}{name}: {error}. {hint}") from error
        days.append(span and (span.first if name == "from" else span.last))
    first, last = days
    if first and last and last < first:
        raise ArgumentError(f"{kind}to {last} lies before {kind}from {first}; swap them")
    return first, last
