"""What was understood of a query, in one line and in words: vaults, tags, dates, and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from difflib import get_close_matches
from typing import TYPE_CHECKING

from rag.app.index_state import IndexState, near_tags
from rag.query.property_values import is_comparison, value_test
from rag.query.syntax import parse_query
from rag.support.month_names import MONTHS
from rag.text.messages import brief, plural, shortened
from rag.text.tokenizer import name_key

if TYPE_CHECKING:
    from rag.index.manifest import Manifest
    from rag.query.planner.plan import MetadataExtraction, TimeWindow
    from rag.search.planned_query import Intent
    from rag.search.results import NearWord, QueryFilters

_LONGEST = 80  # characters of the words that are left
_MOST_VALUES = 1_000  # of a property, among which a near one is looked for
_NEAR = 3  # properties, or values of one, that are named


def missing_words(missing: Mapping[str, NearWord | None]) -> Iterator[str]:
    """Yield which words of a query no note holds, and what is near."""
    for word, near in missing.items():
        text = f'no note holds "{shortened(word)}"'
        if near:
            text += f'; nearest: "{near.word}"'
            text += f" ({plural(near.notes, 'note')})" if near.notes else ""
        yield text


def interpretation_line(intent: Intent) -> str:
    """Return what a query means: `work vault · #kubernetes · 1–31 October · rollbacks`."""
    parts = [*_filters(intent.plan.metadata, intent.today)]
    parts += [f"path {path}" for path in intent.flags.paths or []]
    parts.append("newest first" if intent.lists else shortened(intent.text.strip(), _LONGEST))
    return " · ".join(parts)


def missing(intent: Intent, state: IndexState) -> Iterator[str]:
    """Yield what the query names and the index does not have, and what is near it."""
    for named in intent.plan.out_of_scope:
        if named.kind == "tag":
            yield from _near_tags([named.words], state)
        elif named.kind == "vault":
            yield f"no vault is named {named.words!r}; there are: {', '.join(state.roots)}"
        elif named.kind == "title":
            yield f"no note is called {named.words!r}"
        else:
            yield f"no note has {named.words}"


def unknown_tags(tags: list[str], intent: Intent | None, state: IndexState) -> Iterator[str]:
    """Yield which tags are near those of filters that no note has, as far as `missing` does not."""
    told = {named.words for named in intent.plan.out_of_scope} if intent else {}
    return _near_tags([tag for tag in tags if tag not in told], state)


def _near_tags(tags: list[str], state: IndexState) -> Iterator[str]:
    for name, near in near_tags(tags, state):
        yield f"no note has the tag #{name}" + _also(f"#{one}" for one in near)


def unknown_properties(manifest: Manifest, query: str, filters: QueryFilters) -> Iterator[str]:
    """Yield which properties, or values of one, no note has that a query or filters want."""
    from rag.search.understanding.query_understanding import known_properties

    catalogue = manifest.catalogue
    typed = parse_query(query, known_properties(manifest, query)).properties
    wanted = [*(filters.values or {}).items()]
    for name, value in [*wanted, *((one.field, one.value) for one in typed if not one.negated)]:
        fields = catalogue.fields()
        if name not in fields:
            near = get_close_matches(name, fields, _NEAR, 0.6)
            yield f"no note has the property {brief(name)!r}" + _also(map(brief, near))
        elif not catalogue.bearing(name, value_test(value)):
            values = catalogue.values(name, _MOST_VALUES)
            near = values[:_NEAR] if is_comparison(value) else _near_values(value, values)
            yield f"no note has the {brief(name)} {brief(value)!r}" + _also(map(brief, near))


def _near_values(value: str, values: Iterable[str]) -> list[str]:
    """Return those that are written much alike, and else those that have the value as a part."""
    known = {name_key(one): one for one in values}
    wanted = name_key(value)
    near = get_close_matches(wanted, known, _NEAR, 0.5) or [key for key in known if wanted in key]
    return [known[key] for key in near[:_NEAR]]


def _also(near: Iterable[str]) -> str:
    names = ", ".join(near)
    return f"; near: {names}" if names else ""


def _filters(read: MetadataExtraction, today: date) -> Iterator[str]:
    if read.vaults:
        yield f"{', '.join(read.vaults)} vault{'s' if len(read.vaults) > 1 else ''}"
    tags = [f"#{tag}" for tag in read.tags]
    yield from [" or ".join(tags)] if tags and read.tag_match == "any" else tags
    yield from (f"#{tag}" for tag in read.all_tags)
    yield from (f"not #{tag}" for tag in read.excluded_tags)
    if read.titles:
        yield " or ".join(f"“{title}”" for title in read.titles)
    yield from (f"{name}: {value}" for name, value in read.values.items())
    if not read.time_window.is_open:
        days = time_range_text(read.time_window, today)
        yield days if read.time_window.field == "created" else f"modified {days}"


def time_range_text(window: TimeWindow, today: date) -> str:
    """Return the days of a window as people say them: `1–31 October`.

    A year is said where it is not this one.
    """
    first, last = window.first, window.last
    if first is None or last is None:
        day = first or last
        return f"{'since' if first else 'until'} {_day(day, today)}" if day else ""
    if (first.month, first.day, last.month, last.day) == (1, 1, 12, 31):
        return "–".join(dict.fromkeys(str(day.year) for day in (first, last)))
    if first == last:
        return _day(first, today)
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}–{_day(last, today)}"
    return f"{_day(first, last if first.year == last.year else today)} – {_day(last, today)}"


def _day(day: date, known: date) -> str:
    """Return a day; its year too where it is not that of a known one."""
    year = "" if day.year == known.year else f" {day.year}"
    return f"{day.day} {MONTHS[day.month - 1].capitalize()}{year}"
