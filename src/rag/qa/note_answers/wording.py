"""What is said of notes that were listed, counted or dated, in the language of the question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from rag.answers.language import language_of
from rag.search.filters import day, plain_tags
from rag.search.results import QueryFilters
from rag.support.month_names import MONTHS


def counted(
    count: int, any_of: Sequence[Sequence[str]], conditions: Sequence[str], question: str
) -> str:
    """Return in one line how many notes there are: `3 notes hold "ferry" (#travel)`.

    :param any_of: alternatives, of one of which each note holds all words; one alternative without
        words where filters alone choose the notes.
    :param conditions: what they were filtered by, from `conditions_of`.
    """
    if language_of(question) == "ja":
        of = f"（{'・'.join(conditions)}）" if conditions else ""
        which = "または".join("".join(f"「{word}」" for word in words) for words in any_of)
        notes = f"{which}を含むノート{of}" if which else f"ノート{of}"
        return f"{notes}は{count:,}件です" if count else f"{notes}はありません"
    of = f" ({' · '.join(conditions)})" if conditions else ""
    notes = "no note" if not count else f"{count:,} note" + ("s" if count > 1 else "")
    held = " or ".join(" and ".join(f'"{word}"' for word in words) for words in any_of)
    if not held:
        if not count:
            return f"no note fits{of}"
        return f"{notes}{of or ' in all'}"
    return f"{notes} hold{'' if count > 1 else 's'} {held}{of}"


def day_text(value: date, question: str) -> str:
    """Return a day as people say it: `17 November 2026`, 2026年11月17日."""
    if language_of(question) == "ja":
        return f"{value.year}年{value.month}月{value.day}日"
    return f"{value.day} {MONTHS[value.month - 1].capitalize()} {value.year}"


def conditions_of(filters: QueryFilters) -> Iterator[str]:
    """Yield what filters ask for, in few words."""
    yield from filters.vaults or ()
    yield from (f"#{tag}" for tag in plain_tags(filters.tags))
    if filters.any_tags:
        yield " / ".join(f"#{tag}" for tag in plain_tags(filters.any_tags))
    yield from (f"-#{tag}" for tag in plain_tags(filters.excluded_tags))
    yield from (f'"{title}"' for title in filters.titles or ())
    yield from (f"{name}: {value}" for name, value in (filters.values or {}).items())
    yield from filters.paths or ()
    field = filters.date_field
    yield from _span("" if field == "created" else field, filters.date_from, filters.date_to)
    yield from _span("modified", filters.modified_from, filters.modified_to)


def _span(field: str, first: date | None, last: date | None) -> Iterator[str]:
    if first or last:
        days = day(first) if first == last else f"{day(first)} – {day(last)}".strip()
        yield f"{field} {days}".strip()
