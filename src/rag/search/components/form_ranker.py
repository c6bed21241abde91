"""What only the text of a chunk tells: whether it has the very words of a query, and which of them
stand side by side in it as in the query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from haystack import component
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.index.searchable_text import file_name, lexical_parts, names_of
from rag.search.components.note_ranker import OverStore
from rag.search.filters import all_of
from rag.search.query_variants import WEIGHTS
from rag.search.results import SearchMode
from rag.stores.base.batch import DocumentBatch
from rag.stores.base.scored_chunk import Candidate, Candidates
from rag.text.bm25 import content_words
from rag.text.exact_forms import Form, Kind, Place, RunParts, SearchedText, asked_forms
from rag.text.ngrams import WORD_WEIGHT
from rag.text.pairs import Pair, asked_pairs, weigh_pairs

READ = 25  # texts that are looked at; for each result that is wanted two, if those are more
READ_ALONE = 100  # for a query of one word
DEEP = 500  # chunks with other forms of that word, of which none but those with it are kept


class FormGain(NamedTuple):
    """What a chunk's score gains for holding a form."""

    form: Form
    place: Place
    gain: float


class PairGain(NamedTuple):
    """What a chunk's score gains for holding two neighbours."""

    pair: Pair
    gain: float


@component
class ExactFormRanker(OverStore):
    """Add to the score of each chunk what it gains for the very words of the query, and for those
    that stand side by side in both.

    The index joins all forms of a word (gear, geared) and holds no pairs of words, so the texts of
    the best chunks are read.

    :param document_store: where they are.
    :param top_k: how many results are wanted.
    """

    @component.output_types(candidates=Candidates, plain=Candidates, read=DocumentBatch)
    def run(
        self,
        candidates: Candidates,
        text: str,
        query_sparse_embedding: SparseEmbedding,
        plain: Candidates | None = None,
        mode: str = SearchMode.HYBRID,
        filters: dict[str, Any] | None = None,
        where: dict[str, Any] | None = None,
        top_k: int | None = None,
        limit: int = READ_ALONE,
        doubted: bool = False,
        known: str | None = None,
    ) -> dict[str, Candidates | DocumentBatch]:
        """Return `candidates` and `plain` with the scores that result, and the documents that were
        `read` for it.

        Nothing is returned for a doubted query where no chunk that was read speaks of it, but only
        of what begins like its words or has characters of them.

        :param text: what is searched for, corrected.
        :param plain: of the candidates those that the query itself found.
        :param mode: with `dense` words do not count.
        :param where: further filters.
        :param limit: how many candidates there are at most, by words.
        :param doubted: whether the index knows no word of the query.
        :param known: of the text the words that the index knows: one of them alone is as good as a
            query of one word.
        """
        plain, wanted = plain or Candidates(), top_k or self.top_k
        forms, pairs = asked_forms(text if known is None else known), asked_pairs(text)
        if mode == SearchMode.DENSE or not candidates or not (forms or pairs or doubted):
            return {"candidates": candidates, "plain": plain, "read": DocumentBatch()}
        alone = any(form.alone for form in forms)
        most = READ_ALONE if alone else max(READ, 2 * wanted)
        best = sorted(candidates, key=lambda c: (-c.score, c.id))[:most]
        read = {d.id: d for d in self.document_store.get_documents([c.id for c in best])}
        texts = {identity: searched(document) for identity, document in read.items()}
        by_words = not plain and not any(c.meaning or any(c.gains) for c in candidates)
        if doubted and by_words and not _are_about(texts.values(), text):
            return {"candidates": Candidates(), "plain": plain, "read": DocumentBatch()}
        gains = {identity: self._gain(one, forms) for identity, one in texts.items()}
        found = [*candidates]
        if alone and len(candidates) >= limit and sum(g > 0 for g in gains.values()) < wanted:
            asked = query_sparse_embedding, all_of([filters, where]), DEEP
            ids = {candidate.id for candidate in candidates}
            more = self.document_store.find_candidates(*asked)
            found += self._holding([c for c in more if c.id not in ids], forms, read, gains)
        weights = pair_weights(pairs, self.document_store.counts.rarity)
        for identity, document in read.items():
            gains[identity] += sum(one.gain for one in pair_gains(document, weights))
        return {
            "candidates": Candidates(_with_gains(found, gains)),
            "plain": Candidates(_with_gains(plain, gains)),
            "read": DocumentBatch(read.values()),
        }

    def _gain(self, text: SearchedText, forms: Sequence[Form]) -> float:
        rarity = self.document_store.counts.rarity
        return sum(one.gain for one in form_gains(text, forms, rarity))

    def _holding(
        self,
        others: list[Candidate],
        forms: Sequence[Form],
        read: dict[str, Document],
        gains: dict[str, float],
    ) -> Iterator[Candidate]:
        """Yield those of other chunks that hold a form, and add them to what was read."""
        documents = {d.id: d for d in self.document_store.get_documents([c.id for c in others])}
        for other in others:
            document = documents.get(other.id)
            gain = self._gain(searched(document), forms) if document else 0.0
            if document and gain:
                read[other.id], gains[other.id] = document, gain
                yield other


def form_gains(
    text: SearchedText, forms: Iterable[Form], rarity: Callable[[int], float]
) -> list[FormGain]:
    """Return what a chunk gains for each form that it holds.

    :param text: from `searched`.
    :param rarity: what it tells of a text that it has a dimension of the lexical index.
    """
    placed = [(form, text.place(form)) for form in forms]
    return [
        FormGain(form, place, _share(form, place) * _rarity(form, rarity))
        for form, place in placed
        if place
    ]


def pair_weights(pairs: Iterable[Pair], rarity: Callable[[int], float]) -> dict[Pair, float]:
    """Return what a text of average length gains for holding each of a query's pairs once.

    :param rarity: as in `form_gains`.
    """
    return {pair: pair.times * _pair_weight(pair, rarity) for pair in pairs}


def _pair_weight(pair: Pair, rarity: Callable[[int], float]) -> float:
    if not pair.words:
        return WEIGHTS.seam
    return WEIGHTS.pair * min(WEIGHTS.rarest_pair, sum(map(rarity, pair.dimensions)))


def pair_gains(document: Document, weights: Mapping[Pair, float]) -> list[PairGain]:
    """Return what a chunk gains for each two neighbours of a query that it holds.

    :param weights: from `pair_weights`.
    """
    if not weights:
        return []
    text = "\n".join(lexical_parts(document.meta, document.content))
    held = weigh_pairs(text, [*weights])
    return [PairGain(pair, weights[pair] * share) for pair, share in held.items()]


def full_gain(text: str, rarity: Callable[[int], float]) -> float:
    """Return what a chunk gains that holds every form of a query, below its names."""
    return sum(_share(form, Place.BODY) * _rarity(form, rarity) for form in asked_forms(text))


def _share(form: Form, place: Place) -> float:
    """Return what a form counts for against a word of its rarity."""
    is_named = place == Place.NAMES
    if form.alone:
        return WEIGHTS.alone + WEIGHTS.alone_named * is_named
    exact = WEIGHTS.identifier if form.kind == Kind.IDENTIFIER else WEIGHTS.exact
    return exact + WEIGHTS.named * is_named


def _rarity(form: Form, rarity: Callable[[int], float]) -> float:
    told = [rarity(dimension) for dimension in form.dimensions] or [0.0]
    if form.kind == Kind.IDENTIFIER:
        return sum(told)
    return max(told) * (WORD_WEIGHT if form.is_run else 1.0)


def searched(document: Document) -> SearchedText:
    """Return the text of a chunk's document as forms are looked for in it."""
    meta = document.meta
    names = names_of(meta)
    if meta.get("position") == 0:
        names.append(file_name(meta))
    return SearchedText(names, "\n".join([document.content or "", *meta.get("properties", ())]))


def _are_about(texts: Iterable[SearchedText], query: str) -> bool:
    """Return whether any text holds a form of a query's spaced words, or what its runs need; of a
    query that has neither they are all about it."""
    words, parts = " ".join(content_words(query)), RunParts(query)
    if not (words or parts):
        return True
    return any(
        (bool(words) and text.matches(words)) or (bool(parts) and text.is_about(parts))
        for text in texts
    )


def _with_gains(candidates: Iterable[Candidate], gains: dict[str, float]) -> Iterator[Candidate]:
    for candidate in candidates:
        gain = gains.get(candidate.id, 0.0)
        yield candidate._replace(score=candidate.score + gain, forms=gain) if gain else candidate
