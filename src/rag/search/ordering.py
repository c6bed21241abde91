"""The order of results: as they are ranked, or by a date or the title of their notes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rag.exceptions import UsageError
from rag.index.manifest import Manifest
from rag.search.results import SearchResult
from rag.text.messages import brief
from rag.text.normalize import name_key

SCORE, CREATED, MODIFIED, TITLE = ORDERS = ("score", "created", "modified", "title")


def check_order(order: str) -> str:
    """Return the name of an order; empty stands for the usual one.

    :raises UsageError: when there is no such order.
    """
    if order and order not in ORDERS:
        raise UsageError(f"no order {brief(order)!r}", hint=f"Choose of {', '.join(ORDERS)}.")
    return order


def ordered_notes(manifest: Manifest, notes: Collection[str], order: str) -> list[str]:
    """Return the ids of notes, those modified last first, or by title.

    :param order: `MODIFIED` or `TITLE`.
    """
    chosen = {*notes}
    cards = [card for card in manifest.catalogue.cards() if card[0] in chosen]
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
        known = {
            (one.vault, one.file_path): row.modified
            for one in results
            if (row := manifest.note(one.vault, one.file_path))
        }
        return sorted(
            results, key=lambda one: known.get((one.vault, one.file_path), ""), reverse=True
        )
    return [*results]
