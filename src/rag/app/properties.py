"""Properties that notes have in their front matter, and those that no note has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from rag.index.manifest import Manifest
from rag.query.property_values import is_comparison, value_test
from rag.query.syntax import parse_query
from rag.search.results import QueryFilters
from rag.search.understanding.query_understanding import known_properties
from rag.text.messages import brief
from rag.text.normalize import name_key

_MOST_VALUES = 1_000  # of a property, among which a near one is looked for
_NEAR = 3


def asked_properties(
    manifest: Manifest, query: str, filters: QueryFilters
) -> Iterator[tuple[str, str]]:
    """Yield name and value of each property that a query, or filters beside it, want."""
    yield from (filters.values or {}).items()
    for term in parse_query(query, known_properties(manifest, query)).properties:
        if not term.negated:
            yield term.field, term.value


def unknown_properties(manifest: Manifest, asked: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield what to say of each property, or value of one, that no note has.

    :param asked: names in lower case, and values.
    """
    catalogue = manifest.catalogue
    for name, value in asked:
        fields = catalogue.fields()
        if name not in fields:
            near = get_close_matches(name, fields, _NEAR, 0.6)
            yield f"no note has the property {brief(name)!r}" + _also(near)
        elif not catalogue.bearing(name, value_test(value)):
            values = catalogue.values(name, _MOST_VALUES)
            near = values[:_NEAR] if is_comparison(value) else _near_values(value, values)
            yield f"no note has the {brief(name)} {brief(value)!r}" + _also(near)


def _near_values(value: str, values: Iterable[str]) -> list[str]:
    """Return those that are written much alike, and else those that have the value as a part."""
    known = {name_key(one): one for one in values}
    wanted = name_key(value)
    near = get_close_matches(wanted, known, _NEAR, 0.5) or [key for key in known if wanted in key]
    return [known[key] for key in near[:_NEAR]]


def _also(near: list[str]) -> str:
    return f"; near: {', '.join(map(brief, near))}" if near else ""
