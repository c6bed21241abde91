"""Which of a query's variants found a result, and what each of them adds to its score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.search.components.note_ranker import Hit, Part
from rag.search.query_variants import ORIGINAL, Variants, lexical_vector
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.scored_chunk import Candidate

_FOUND = 0.1  # of what all variants add to a note: who adds less did not find it


class Found(NamedTuple):
    """Who found a hit: `original` and labels of variants. `gains` is what each adds to the score
    of which chunk, by the chunk's id."""

    by: list[str]
    gains: dict[str, dict[str, float]]


def trace(
    store: BaseDocumentStore, hits: Sequence[Hit], variants: Variants, plain: Sequence[Candidate]
) -> list[Found]:
    """Return by which searches hits were found, one `Found` each; all empty without variants.

    The engine scores each variant alone, over the chunks in question: what the variants add by
    words is split as their scores are, and semantically it is the nearest one's.

    :param plain: what the query itself found.
    """
    if not variants or not hits:
        return [Found([], {}) for _ in hits]
    ids = [part.id for hit in hits for part in hit.parts if any(part.gains)]
    words = [variant for variant in variants if variant.words]
    near = [variant for variant in variants if variant.is_embedded]
    queries: list[SparseEmbedding | list[float]] = [lexical_vector(variant) for variant in words]
    queries += [variant.vector for variant in near if variant.vector]
    scores = store.score_among(queries, list(dict.fromkeys(ids)))
    by_words = [(v.label, s) for v, s in zip(words, scores, strict=False)]
    by_meaning = [(v.label, s) for v, s in zip(near, scores[len(words) :], strict=True)]
    itself = {candidate.id for candidate in plain}

    def found(hit: Hit) -> Found:
        gains = {part.id: _split(part, by_words, by_meaning) for part in hit.parts}
        total = dict.fromkeys((variant.label for variant in variants), 0.0)
        for part in hit.parts:
            for label, gain in gains[part.id].items():
                total[label] += part.weight * gain
        least = _FOUND * sum(total.values())
        by = [label for label, gain in total.items() if gain > 0 and gain >= least]
        is_plain = any(part.id in itself for part in hit.parts) or not by
        return Found([ORIGINAL, *by] if is_plain else by, gains)

    return [found(hit) for hit in hits]


Scores = Sequence[tuple[str, dict[str, float]]]


def _split(part: Part, by_words: Scores, by_meaning: Scores) -> dict[str, float]:
    """Return what each variant adds to a chunk; together it is all that they add."""
    words, meaning = part.gains
    split: dict[str, float] = {}
    if words:
        shares = [(label, scores.get(part.id, 0.0)) for label, scores in by_words]
        total = sum(share for _, share in shares)
        split = {label: words * share / total for label, share in shares if share and total}
    if meaning:
        label = max(by_meaning, key=lambda one: one[1].get(part.id, -1.0))[0]
        split[label] = split.get(label, 0.0) + meaning
    return split
