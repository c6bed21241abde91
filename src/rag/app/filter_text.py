"""Filters as people and programs write them: names, globs, and days in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from unicodedata import normalize

from rag.exceptions import RAGError, UsageError

if TYPE_CHECKING:
    from datetime import date

    from rag.search.results import QueryFilters


def read_filters(
    vaults: Sequence[str] = (),
    tags: Sequence[str] = (),
    from_: str = "",
    to: str = "",
    modified_from: str = "",
    modified_to: str = "",
    paths: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    *,
    as_options: bool = False,
) -> QueryFilters | None:
    """Return the filters that are written; what is empty filters nothing, and `None` is for none.

    :param as_options: let errors name fields as a command line does: `--modified-from`.
    :raises UsageError: for an empty name, words that are no day, a span that runs backwards.
    """
    from rag.search.results import QueryFilters

    def named(field: str) -> str:
        return f"--{field.rstrip('s').replace('_', '-')}" if as_options else field

    for field, values in (("vaults", vaults), ("tags", tags), ("paths", paths)):
        if any(not value.strip("#/ \t") for value in values):
            raise UsageError(f"{named(field)} has an empty item", hint="Leave it out.")
    conditions = join_conditions((where or {}).items(), named("where"))
    first, last = _days(named("from"), from_, named("to"), to)
    since, until = _days(
        *(named("modified_from"), modified_from, named("modified_to"), modified_to)
    )
    filters = QueryFilters(
        [*vaults] or None,
        [*tags] or None,
        first,
        last,
        [*paths] or None,
        values=conditions or None,
        modified_from=since,
        modified_to=until,
    )
    return None if filters == QueryFilters() else filters


def join_conditions(pairs: Iterable[tuple[str, str]], where: str = "where") -> dict[str, str]:
    """Return the condition of each property; comparisons of one are joined.

    :param pairs: names of properties, and a condition of each.
    :param where: what errors call them.
    :raises UsageError: for an empty name or value, or two conditions that cannot be joined.
    """
    from rag.query.property_values import is_comparison

    conditions: dict[str, str] = {}
    for field, condition in pairs:
        name = normalize("NFC", field).strip().lower()
        value = normalize("NFC", condition).strip()
        if not name or not value:
            raise UsageError('where has an empty name or value; write {"status": "done"}')
        earlier = conditions.get(name)
        if earlier and not (is_comparison(earlier) and is_comparison(value)):
            raise UsageError(f"{where} names {name!r} twice", hint="Leave one out.")
        conditions[name] = f"{earlier} {value}" if earlier else value
    return conditions


def _days(start: str, since: str, end: str, until: str) -> tuple[date | None, date | None]:
    """Return the first and the last day of a span, `None` where it is open.

    :param start: the name of `since`, and `end` that of `until`.
    """
    from rag.query import parse_date_range

    days: list[date | None] = []
    for name, words in ((start, since), (end, until)):
        try:
            span = parse_date_range(words) if words else None
        except RAGError as error:
            raise UsageError(f"{name}: {error}", hint=error.hint) from error
        days.append(span and (span.first if name == start else span.last))
    first, last = days
    if first and last and last < first:
        raise UsageError(f"{end} {last} lies before {start} {first}", hint="Swap them?")
    return first, last
