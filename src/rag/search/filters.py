"""Filters as Haystack writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

from rag.exceptions import UsageError
from rag.index.manifest import Manifest
from rag.search.results import QueryFilters, SearchResult
from rag.text.messages import brief
from rag.text.tokenizer import name_key
from rag.vault import normalize_tags

Filter = dict[str, Any]


def build_qdrant_filters(filters: QueryFilters | None) -> Filter | None:
    """Return the Haystack filter for vaults (any of), tags (all, any or none of) and dates of
    creation (inclusive). Paths, titles, values and other dates need the index's list of notes
    (`understand`).
    """
    if filters is None:
        return None
    conditions: list[Filter | None] = []
    if filters.vaults:
        conditions.append(one_of("vault", filters.vaults))
    conditions += [_condition("tags", "==", tag) for tag in plain_tags(filters.tags)]
    if wanted := plain_tags(filters.any_tags):
        conditions.append(one_of("tags", wanted))
    if unwanted := plain_tags(filters.excluded_tags):
        conditions.append(none_of(one_of("tags", unwanted)))
    if filters.date_field == "created":
        first, last = days(filters)
        conditions += [_condition("created", ">=", first)] if first else []
        conditions += [_condition("created", "<=", f"{last}T23:59:59.999999")] if last else []
    return all_of(conditions)


def days(filters: QueryFilters) -> tuple[str, str]:
    """Return the first and the last day of filters as ISO dates, empty for an open end."""
    return day(filters.date_from), day(filters.date_to)


def all_of(conditions: Iterable[Filter | None]) -> Filter | None:
    """Return the filter that holds where all of `conditions` do; `None` holds everywhere."""
    held = [condition for condition in conditions if condition]
    if len(held) > 1:
        return {"operator": "AND", "conditions": held}
    return held[0] if held else None


def one_of(field: str, values: Sequence[str]) -> Filter:
    """Return the filter for documents whose `meta.field` is one of `values`."""
    if len(values) == 1:
        return _condition(field, "==", values[0])
    return _condition(field, "in", list(values))


def none_of(condition: Filter | None) -> Filter | None:
    """Return the filter that holds where `condition` does not."""
    return {"operator": "NOT", "conditions": [condition]} if condition else None


def _condition(field: str, operator: str, value: Any) -> Filter:
    return {"field": f"meta.{field}", "operator": operator, "value": value}


def plain_tags(tags: Sequence[str] | None) -> list[str]:
    """Return tags as the index has them, without the parents of nested ones."""
    return [names[0] for tag in tags or () if (names := normalize_tags([tag]))]


def day(value: date | None) -> str:
    """Return a day as an ISO date, empty for none."""
    if value is None:
        return ""
    return (value.date() if isinstance(value, datetime) else value).isoformat()


SCORE, CREATED, MODIFIED, TITLE = ORDERS = ("score", "created", "modified", "title")


def check_order(order: str) -> str:
    """Return the name of an order; empty stands for the usual one.

    :raises UsageError: when there is no such order.
    """
    if order and order not in ORDERS:
        raise UsageError(f"unknown order {brief(order)!r}", hint=f"Choose of {', '.join(ORDERS)}.")
    return order


def ordered_notes(manifest: Manifest, notes: Iterable[str] | None, order: str) -> list[str]:
    """Return the ids of notes, those modified last first, or by title; `None` stands for all.

    :param order: `MODIFIED` or `TITLE`.
    """
    cards = manifest.catalogue.cards()
    if notes is not None:
        chosen = {*notes}
        cards = [card for card in cards if card[0] in chosen]
    if order == TITLE:
        cards.sort(key=lambda card: (name_key(card[1]), card[0]))
    else:
        cards.sort(key=lambda card: card[2], reverse=True)
    return [identity for identity, _, _ in cards]


def ordered_results(
    manifest: Manifest | None, results: Sequence[SearchResult], order: str
) -> list[SearchResult]:
    """Return the results of a search in another order than that of their scores.

    :param order: one of `ORDERS`; what it does not tell apart stays as it was.
    """
    if order == TITLE:
        return sorted(results, key=lambda result: name_key(result.title))
    if order == CREATED:
        return sorted(results, key=lambda result: result.created, reverse=True)
    if order == MODIFIED and manifest:
        modified = {
            (hit.vault, hit.file_path): row.modified
            for hit in results
            if (row := manifest.note(hit.vault, hit.file_path))
        }
        return sorted(
            results, key=lambda hit: modified.get((hit.vault, hit.file_path), ""), reverse=True
        )
    return [*results]
