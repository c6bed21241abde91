"""What only the text of a chunk tells: whether it has the very words of a query, and which of them
stand side by side in it as in the query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from haystack.dataclasses import Document

from rag.index.searchable_text import file_name, lexical_parts, names_of
from rag.search.query import Retrieval
from rag.search.query_variants import WEIGHTS
from rag.search.results import SearchMode
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.scored_chunk import Candidate
from rag.text.bm25 import content_words
from rag.text.exact_forms import (
    Form,
    Kind,
    Pair,
    Place,
    RunParts,
    SearchedText,
    asked_forms,
    asked_pairs,
    weigh_pairs,
)
from rag.text.ngrams import WORD_WEIGHT

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


def with_exact_words(store: BaseDocumentStore, retrieval: Retrieval) -> Retrieval:
    """Add to the score of each candidate what it gains for the very words of the query, and for
    those that stand side by side in both.

    The index joins all forms of a word (gear, geared) and holds no pairs of words, so the texts of
    the best chunks are read. Of a doubted query nothing is left where no chunk that was read speaks
    of it, but only of what begins like its words or has characters of them.
    """
    query, candidates, plain = retrieval.query, retrieval.candidates, retrieval.plain
    text = query.meant
    # One word that the index knows is as good as a query of one word.
    forms, pairs = asked_forms(query.known), asked_pairs(text)
    is_asked = forms or pairs or query.is_doubted
    if query.mode == SearchMode.DENSE or not candidates or not is_asked:
        return retrieval
    alone = any(form.alone for form in forms)
    most = READ_ALONE if alone else max(READ, 2 * query.top_k)
    best = sorted(candidates, key=lambda c: (-c.score, c.id))[:most]
    read = {d.id: d for d in store.get_documents([c.id for c in best])}
    texts = {identity: searched(document) for identity, document in read.items()}
    by_words = not plain and not any(c.meaning or any(c.gains) for c in candidates)
    if query.is_doubted and by_words and not _are_about(texts.values(), text):
        return replace(retrieval, candidates=())
    rarity = store.counts.rarity
    gains = {identity: _gain(text, forms, rarity) for identity, text in texts.items()}
    candidates, limit = [*candidates], query.chunk_limit
    if alone and len(candidates) >= limit and sum(g > 0 for g in gains.values()) < query.top_k:
        ids = {candidate.id for candidate in candidates}
        deep = store.find_candidates(query.lexical, query.filters, DEEP)
        others = {candidate.id: candidate for candidate in deep if candidate.id not in ids}
        for document in store.get_documents([*others]):
            if gain := _gain(searched(document), forms, rarity):
                read[document.id], gains[document.id] = document, gain
                candidates.append(others[document.id])
    weights = pair_weights(pairs, rarity)
    for identity, document in read.items():
        gains[identity] += sum(one.gain for one in pair_gains(document, weights))
    return replace(
        retrieval,
        candidates=_with_gains(candidates, gains),
        plain=_with_gains(plain, gains),
        read=read,
    )


def _gain(text: SearchedText, forms: Sequence[Form], rarity: Callable[[int], float]) -> float:
    return sum(one.gain for one in form_gains(text, forms, rarity))


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


def _with_gains(candidates: Iterable[Candidate], gains: dict[str, float]) -> list[Candidate]:
    return [
        c._replace(score=c.score + gain, forms=gain) if (gain := gains.get(c.id, 0.0)) else c
        for c in candidates
    ]
