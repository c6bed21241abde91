"""Filters as people and programs write them: names, globs, and days in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from unicodedata import normalize

from rag.exceptions import RAGError, UsageError

if TYPE_CHECKING:
    from datetime import date

    # Who checks arguments by these types (`rag.mcp.requests`) gives them pydantic's `Field`; the
    # command line does not wait for it.
    from pydantic import Field

    from rag.search.results import QueryFilters

    Text = Annotated[str, Field(max_length=10_000)]
    Names = Annotated[tuple[Annotated[str, Field(max_length=1_000)], ...], Field(max_length=20)]


@dataclass(frozen=True)
class FilterText:
    """Filters that are not read yet; what is empty filters nothing."""

    vaults: Annotated[Names, Field(description="any of these")] = ()
    tags: Annotated[Names, Field(description="all of these")] = ()
    from_: Annotated[
        Text, Field(alias="from", description="created since: 2026-01-31, 2026-01, last week")
    ] = ""
    to: Annotated[Text, Field(description="created until")] = ""
    modified_from: Annotated[Text, Field(description="modified since")] = ""
    modified_to: Text = ""
    paths: Annotated[Names, Field(description="globs, any of these: projects/**")] = ()
    where: Annotated[
        Mapping[Text, Text] | None,
        Field(max_length=20, description="front matter: status: done, price: >200"),
    ] = None

    def read(self, as_options: bool = False) -> QueryFilters | None:
        """Return the filters; `None` for none.

        :param as_options: let errors name fields as a command line does: `--modified-from`.
        :raises UsageError: for an empty name, words that are no day, a span that runs backwards.
        """
        from rag.search.results import QueryFilters

        def named(field: str) -> str:
            return f"--{field.rstrip('s').replace('_', '-')}" if as_options else field

        for field in ("vaults", "tags", "paths"):
            if any(not value.strip("#/ \t") for value in getattr(self, field)):
                raise UsageError(f"{named(field)} has an empty item", hint="Leave it out.")
        where = {
            normalize("NFC", field).strip().lower(): normalize("NFC", value).strip()
            for field, value in (self.where or {}).items()
        }
        if not all((*where, *where.values())):
            raise UsageError('where has an empty name or value; write {"status": "done"}')
        first, last = _days(named("from"), self.from_, named("to"), self.to)
        since, until = _days(
            *(named("modified_from"), self.modified_from, named("modified_to"), self.modified_to)
        )
        filters = QueryFilters(
            [*self.vaults] or None,
            [*self.tags] or None,
            first,
            last,
            [*self.paths] or None,
            values=where or None,
            modified_from=since,
            modified_to=until,
        )
        return None if filters == QueryFilters() else filters


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
