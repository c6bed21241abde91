"""Asking a store for a query and its variants at once, and what the variants add to the finds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.search.query_variants import Variant, Variants, blended_vector, blended_words
from rag.search.score_fusion import widen
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.scored_chunk import Candidate, Query


class Lists(NamedTuple):
    """What a store found, best first: by the query's words and by the nearest sentence, and by its
    variants' words and meaning."""

    words: list[Candidate]
    nearest: list[Candidate]
    wider_words: list[Candidate]
    wider_meaning: list[Candidate]

    def beside(self, known: Sequence[Candidate]) -> list[Candidate]:
        """Return what is in none of the known ones, each once."""
        seen = {candidate.id for candidate in known}
        rest = chain(self.nearest, self.wider_words, self.wider_meaning)
        return list({c.id: c for c in rest if c.id not in seen}.values())


def find_lists(
    store: BaseDocumentStore,
    query: SparseEmbedding,
    embedding: list[float] | None,
    variants: Sequence[Variant],
    filters: dict[str, Any] | None,
    top_k: int,
) -> Lists:
    """Ask a store for the `top_k` chunks of each list, in one batch.

    :param embedding: without one nothing is searched semantically.
    """
    if embedding is None and not variants:
        return Lists(store.find_candidates(query, filters, top_k), [], [], [])
    near: list[Query] = [] if embedding is None else [embedding]
    wider: list[Query] = [blended_words(variants)] if variants else []
    if variants and embedding is not None and (vector := blended_vector(variants)) is not None:
        wider.append(vector)
    depth = wider_depth(top_k)
    asked = [*((one, top_k) for one in (query, *near)), *((one, depth) for one in wider)]
    words, *found = store.find_lists(asked, filters)
    nearest = found[0] if near else []
    wider_words, wider_meaning = [*found[len(near) :], [], []][:2]
    return Lists(words, nearest, wider_words, wider_meaning)


def wider_depth(top_k: int) -> int:
    """Return how many chunks the variants may find of each kind; they weigh less."""
    return max(1, top_k // 2)


def widened(
    plain: Sequence[Candidate],
    others: Sequence[Candidate],
    lists: Lists,
    variants: Variants,
    weight: float,
    depth: int,
) -> list[Candidate]:
    """Add what the variants found to what the query found.

    :param others: what only its variants found, with what each scores by the query.
    :param weight: what the nearest to the variants gains; and what the best find of their words is
        measured against, where the query finds nothing lexically.
    """
    best = lists.words[0].score if lists.words else weight
    by_words = lists.wider_words, best * sum(v.weight for v in variants if v.words)
    by_meaning = lists.wider_meaning, weight * sum(v.weight for v in variants if v.is_embedded)
    return widen(plain, others, by_words, by_meaning, wider_depth(depth))
