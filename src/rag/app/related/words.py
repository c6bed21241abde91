"""Notes that share the weightiest words of a note."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from rag.app.related.passages import RepeatedLines, sentences_of
from rag.index.searchable_text import lexical_parts
from rag.text.bm25 import subject_terms
from rag.text.matches import find_matches, weigh_matches

if TYPE_CHECKING:
    from haystack import Document
    from haystack.dataclasses.sparse_embedding import SparseEmbedding

    from rag.search.filters import Filter
    from rag.stores.base.document_store import BaseDocumentStore

_WORDS = 40  # that are sought
_TITLE, _HEADING = 3.0, 1.5  # what a word there counts for, against one in the text
_FOUND = 300  # chunks
_SHARES = (1.0, 0.5, 0.25, 0.125)  # of a note's score, for its best chunks


@dataclass(frozen=True)
class Weighty:
    """The weightiest words of a note: their dimensions in the lexical index with their weights,
    and themselves as the text of a query."""

    dimensions: dict[int, float]
    text: str

    @property
    def query(self) -> SparseEmbedding:
        """The query for chunks with these words."""
        from haystack.dataclasses.sparse_embedding import SparseEmbedding

        return SparseEmbedding([*self.dimensions], [*self.dimensions.values()])


def weightiest_words(
    store: BaseDocumentStore, chunks: Sequence[Document], repeated: RepeatedLines
) -> Weighty:
    """Return the words of a note that are frequent in it and rare in others; those of titles and
    headings count more.

    :param chunks: all of the note's.
    :param repeated: lines whose words do not count.
    """
    counts: dict[int, float] = defaultdict(float)
    texts: dict[int, str] = {}
    for text, weight in _weighted_texts(chunks, repeated):
        for term in subject_terms(text):
            counts[term.dimension] += weight * term.weight
            texts.setdefault(term.dimension, term.text)
    weights = {dimension: count**0.5 for dimension, count in counts.items()}
    rarity = store.counts.rarity
    order = sorted(weights, key=lambda one: (-weights[one] * rarity(one), one))[:_WORDS]
    # The store weighs them by their rarity once more: what most notes have must not add up.
    return Weighty(
        {one: weights[one] * rarity(one) for one in order}, " ".join(texts[one] for one in order)
    )


def _weighted_texts(chunks: Sequence[Document], repeated: RepeatedLines) -> list[tuple[str, float]]:
    """Return the title, the headings, each once, and the texts of chunks, with their weights."""
    named = dict.fromkeys(str(chunk.meta.get("title") or "") for chunk in chunks)
    titles = [title for title in named if title not in repeated]
    paths = chain.from_iterable(chunk.meta.get("heading") or () for chunk in chunks)
    headings = [one for one in dict.fromkeys(paths) if one not in named and one not in repeated]
    bodies = [
        lexical_parts(chunk.meta, repeated.without(chunk.content or ""))[-1] for chunk in chunks
    ]
    return [
        *((title, _TITLE) for title in titles),
        *((heading, _HEADING) for heading in headings),
        *((body, 1.0) for body in bodies),
    ]


class SharedMass(NamedTuple):
    """What a note has of the weightiest words of another: as a share of what that has itself, 0 to
    1; and the chunks that have them, the best first."""

    share: float
    chunks: list[str]


def near_in_words(
    store: BaseDocumentStore, words: Weighty, chunks: Sequence[str], filters: Filter | None
) -> dict[str, SharedMass]:
    """Return what notes have of the weightiest words of one, by id.

    :param chunks: the ids of the note's own.
    :param filters: what others must pass; the note itself must not.
    """
    [found] = store.find_lists([(words.query, _FOUND)], filters)
    [own] = store.score_among([words.query], chunks)
    whole = _note_score([*own.values()]) or 1.0
    held: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for one in found:
        held[one.note].append((one.score, one.id))
    return {
        note: SharedMass(
            min(1.0, _note_score([score for score, _ in scored]) / whole),
            [chunk for _, chunk in sorted(scored, reverse=True)],
        )
        for note, scored in held.items()
    }


def _note_score(scores: list[float]) -> float:
    best = sorted(scores, reverse=True)
    return sum(share * score for share, score in zip(_SHARES, best, strict=False))


def passages_with(
    words: Weighty,
    weights: dict[str, float],
    chunks: Sequence[Document],
    repeated: RepeatedLines,
) -> list[tuple[int, str, float]]:
    """Return line, text and score of the passages of some chunks, those that hold most of the words
    first; scores are shares of what all words count for.

    :param weights: from `rag.text.matches.weigh_terms`.
    :param repeated: lines that are no passages.
    """
    whole = sum(weights.values()) or 1.0
    passages = [
        (one.line, one.text, _worth(one.text, words, weights) / whole)
        for chunk in chunks
        for one in sentences_of(chunk)
        if one.written not in repeated
    ]
    return sorted(passages, key=lambda passage: (-passage[2], passage[0]))


def _worth(text: str, words: Weighty, weights: dict[str, float]) -> float:
    return sum(weigh_matches(find_matches(text, words.text), weights).values())
