"""Results of searches and plans of queries, as schema 1 has them; and plans in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rag.support.file_kinds import KINDS
from rag.support.json_reports import nullable
from rag.text.messages import brief, plural, shortened

if TYPE_CHECKING:
    from rag.app.index_state import IndexState
    from rag.index.manifest import Manifest
    from rag.query.planner.plan import HyDEGeneration, MetadataExtraction, Named, TimeWindow
    from rag.search.planned_query import Intent
    from rag.search.results import QueryFilters, SearchResponse

R = TypeVar("R")
_LONGEST = 80  # characters of the words that are left
_MOST_VALUES = 1_000  # of a property, among which a near one is looked for
_NEAR = 3  # tags, properties, or values of one, that are named


def copied(kind: type[R], source: object, **more: Any) -> R:
    """Return a report of a kind. Its fields are taken from attributes and properties of the source
    with the same names; what the source lacks, or has otherwise, must be in `more`."""
    names = [
        name for name in _names(cast("Any", kind)) if name not in more and hasattr(source, name)
    ]
    return kind(**{name: getattr(source, name) for name in names}, **more)


@cache
def _names(kind: Any) -> list[str]:
    return [field.name for field in fields(kind)]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a query means.

    :param understood: the same in one line, in the language of the query.
    :param route: `metadata_only`, `vector_only` or `hybrid_both`.
    :param route_by: who chose it: `rules`, `model`, the name of a classifier, or `default`.
    :param relaxed: whether its filters were dropped, since nothing fits them.
    :param text: what notes are ranked by.
    :param hyde: a hypothetical note, to search by its meaning.
    :param mapped_physical_columns: properties of notes that the query's words mean.
    :param expansions: tags near those of the query, which never filter.
    :param units: further texts to search for, if a model gave some.
    :param in_scope: what the query names and the index has.
    :param out_of_scope: what the query names and the index does not have.
    :param dropped: tags that were too many.
    :param fallbacks: what had to be done without.
    :param audit: the id of its record, which `rag audit` shows.
    """

    understood: str
    route: str
    route_by: str
    route_reason: str
    narrows: bool
    relaxed: bool
    text: str
    metadata: MetadataExtraction
    hyde: HyDEGeneration
    mapped_physical_columns: list[str]
    expansions: list[str]
    units: list[str]
    in_scope: list[Named]
    out_of_scope: list[Named]
    dropped: list[str]
    confidence: float
    fallbacks: list[str]
    models: dict[str, str]
    latency_ms: float
    audit: str = nullable("")


def plan_of(intent: Intent, relaxed: bool = False) -> Plan:
    """Return a plan as schema 1 has it."""
    chosen = intent.plan.intent
    return copied(
        Plan,
        intent.plan,
        text=intent.text,
        understood=interpretation_line(intent),
        route=chosen.primary_route.value,
        route_by=chosen.by,
        route_reason=chosen.reason,
        narrows=intent.narrows,
        relaxed=relaxed,
        latency_ms=intent.milliseconds,
        audit=intent.audit,
    )


def interpretation_line(intent: Intent) -> str:
    """Return what a query means: `work vault · #kubernetes · since 2026-10-01 · rollbacks`."""
    read = intent.plan.metadata
    parts = [f"{', '.join(read.vaults)} vault{'s'[: len(read.vaults) - 1]}"] if read.vaults else []
    tags = [f"#{tag}" for tag in read.tags]
    parts += [" or ".join(tags)] if tags and read.tag_match == "any" else tags
    parts += [f"#{tag}" for tag in read.all_tags]
    parts += [f"not #{tag}" for tag in read.excluded_tags]
    parts += [" or ".join(f"“{title}”" for title in read.titles)] if read.titles else []
    parts += [f"{name}: {value}" for name, value in read.values.items()]
    if not read.time_window.is_open:
        modified = "" if read.time_window.field == "created" else "modified "
        parts.append(modified + time_range_text(read.time_window))
    parts += [f"path {path}" for path in intent.flags.paths or []]
    parts.append("newest first" if intent.lists else shortened(intent.text.strip(), _LONGEST))
    return " · ".join(parts)


def time_range_text(window: TimeWindow) -> str:
    """Return the days of a window: `2026-10-01 – 2026-10-31`; whole years by their numbers."""
    first, last = window.first, window.last
    if first and last:
        ends = [first, last]
        if (first.month, first.day, last.month, last.day) == (1, 1, 12, 31):
            return "–".join(dict.fromkeys(str(day.year) for day in ends))
        return " – ".join(dict.fromkeys(map(str, ends)))
    return f"since {first}" if first else f"until {last}" if last else ""


def missing_words(response: SearchResponse) -> Iterator[str]:
    """Yield which words of a query no note holds, and what is near."""
    for word in response.missing:
        text = f'no note holds "{shortened(word)}"'
        if near := response.near_words.get(word):
            text += f'; nearest: "{near.word}"'
            text += f" ({plural(near.notes, 'note')})" if near.notes else ""
        yield text


def missing_names(intent: Intent, state: IndexState) -> Iterator[str]:
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


def unmatched(
    manifest: Manifest,
    query: str,
    filters: QueryFilters,
    tags: list[str],
    intent: Intent | None,
    state: IndexState,
) -> Iterator[str]:
    """Yield which tags, paths and properties that a query and its filters want no note has.

    :param tags: all that filter.
    """
    from rag.query.syntax import parse_query
    from rag.query.values import is_comparison, value_test
    from rag.search.components.query_analyzer import known_properties
    from rag.search.conditions import Places

    named = {name.words for name in intent.plan.out_of_scope} if intent else {}
    yield from _near_tags([tag for tag in tags if tag not in named], state)
    places, catalogue = Places(manifest), manifest.catalogue
    for glob in filters.paths or []:
        if not glob.startswith("!") and not places.at_paths([glob]):
            yield f"no note has a path that matches {brief(glob)!r}"
    typed = parse_query(query, known_properties(manifest, query)).properties
    wanted = [*(filters.values or {}).items()]
    for name, value in [*wanted, *((term.field, term.value) for term in typed if not term.negated)]:
        fields = catalogue.fields()
        if name == "type" and value in KINDS and not catalogue.bearing(name, value_test(value)):
            yield f"no {value} file is indexed"
        elif name not in fields:
            yield f"no note has the property {brief(name)!r}" + _near(name, fields)
        elif not catalogue.bearing(name, value_test(value)):
            values = catalogue.values(name, _MOST_VALUES)
            near = _near(None if is_comparison(value) else value, values, 0.5)
            yield f"no note has the {brief(name)} {brief(value)!r}{near}"


def _near_tags(tags: list[str], state: IndexState) -> Iterator[str]:
    from rag.vault import normalize_tags

    for name in (next(iter(normalize_tags([tag])), "") for tag in tags):
        if name not in state.tags:
            yield f"no note has the tag #{name}" + _near(name, state.tags, mark="#")


def _near(name: str | None, among: Iterable[str], least: float = 0.6, mark: str = "") -> str:
    """Return the end of a message: which names are near to one; without one, the first."""
    from difflib import get_close_matches

    near = [*among] if name is None else get_close_matches(name, [*among], _NEAR, least)
    names = ", ".join(f"{mark}{brief(name)}" for name in near[:_NEAR])
    return f"; near: {names}" if names else ""
