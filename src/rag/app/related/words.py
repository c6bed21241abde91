"""Notes that share the weightiest words of a note."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from rag.app.related.ranking import PASSAGES, Passage, Ranked, passages_of
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


def weightiest_words(store: BaseDocumentStore, chunks: Sequence[Document]) -> Weighty:
    """Return the words of a note that are frequent in it and rare in others; those of titles and
    headings count more.

    :param chunks: all of the note's.
    """
    counts: dict[int, float] = defaultdict(float)
    texts: dict[int, str] = {}
    for text, weight in _weighted_texts(chunks):
        for term in subject_terms(text):
            counts[term.dimension] += weight * term.weight
            texts.setdefault(term.dimension, term.text)
    weights = {dimension: count**0.5 for dimension, count in counts.items()}
    rarity = store.counts.rarity
    order = sorted(weights, key=lambda one: (-weights[one] * rarity(one), one))[:_WORDS]
    return Weighty({one: weights[one] for one in order}, " ".join(texts[one] for one in order))


def _weighted_texts(chunks: Sequence[Document]) -> list[tuple[str, float]]:
    """Return the title, the headings, each once, and the texts of chunks, with their weights."""
    titles = dict.fromkeys(str(chunk.meta.get("title") or "") for chunk in chunks)
    paths = chain.from_iterable(chunk.meta.get("heading") or () for chunk in chunks)
    headings = [heading for heading in dict.fromkeys(paths) if heading not in titles]
    bodies = [lexical_parts(chunk.meta, chunk.content)[-1] for chunk in chunks]
    return [
        *((title, _TITLE) for title in titles),
        *((heading, _HEADING) for heading in headings),
        *((body, 1.0) for body in bodies),
    ]


def near_in_words(
    store: BaseDocumentStore, words: Weighty, chunks: Sequence[str], filters: Filter | None
) -> list[Ranked]:
    """Return the notes that share the weightiest words of one, the best first.

    The score of a note is what its best chunks have of them, as a share of what the note's own do.

    :param chunks: the ids of the note's own.
    :param filters: what others must pass; the note itself must not.
    """
    [found] = store.find_lists([(words.query, _FOUND)], filters)
    [own] = store.score_among([words.query], chunks)
    whole = _note_score([*own.values()]) or 1.0
    held: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for one in found:
        held[one.note].append((one.score, one.id))
    ranked = [
        Ranked(
            note,
            min(1.0, _note_score([score for score, _ in scored]) / whole),
            [chunk for _, chunk in sorted(scored, reverse=True)],
        )
        for note, scored in held.items()
    ]
    return sorted(ranked, key=lambda one: (-one.score, one.id))


def _note_score(scores: list[float]) -> float:
    best = sorted(scores, reverse=True)
    return sum(share * score for share, score in zip(_SHARES, best, strict=False))


def passages_with(
    words: Weighty, weights: dict[str, float], chunks: Sequence[Document]
) -> list[Passage]:
    """Return the passages of some chunks that hold most of the words, the best first; scores are
    shares of what all words count for.

    :param weights: from `rag.text.matches.weigh_terms`.
    """
    whole = sum(weights.values()) or 1.0
    passages = [
        Passage(line, text, _worth(text, words, weights) / whole)
        for chunk in chunks
        for line, text in passages_of(chunk)
    ]
    return sorted(passages, key=lambda one: (-one.score, one.line))[:PASSAGES]


def _worth(text: str, words: Weighty, weights: dict[str, float]) -> float:
    return sum(weigh_matches(find_matches(text, words.text), weights).values())
