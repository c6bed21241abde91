"""What only the text of a chunk tells: whether it has the very words of a query, and which of them
stand side by side in it as in the query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from rag.index.searchable_text import file_name, lexical_parts, names_of
from rag.search.query import WEIGHTS, Retrieval
from rag.search.results import SearchMode, TermScore
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.bm25 import content_words, query_terms, word_dimension
from rag.text.exact_forms import (
    Form,
    Pair,
    Place,
    SearchedText,
    asked_forms,
    asked_pairs,
    folded,
    holds_runs,
    weigh_pairs,
)
from rag.text.matches import find_matches
from rag.text.ngrams import RUN, WORD_WEIGHT

EXACT, PAIRS = "exact", "pairs"  # fields of explanations beside the lexical ones
READ = 25  # texts that are looked at; for each result that is wanted two, if those are more
READ_ALONE = 100  # for a query of one word
DEEP = 500  # chunks with other forms of that word, of which none but those with it are kept

_IN_TEXT = ("words", "grams", "edges")  # fields that a text with all words of a query has
Rarity = Callable[[int], float]  # what it tells of a text that it has a dimension of the index


def with_exact_words(store: BaseDocumentStore, retrieval: Retrieval) -> Retrieval:
    """Add to the score of each candidate what it gains for the very words of the query, and for
    those that stand side by side in both: the index joins all forms of a word (gear, geared) and
    holds no pairs, so the texts of the best chunks are read. Of a doubted query nothing is left
    where none of these speaks of it, but only of what begins like its words or has characters of
    them."""
    query, candidates, plain = retrieval.query, [*retrieval.candidates], retrieval.plain
    # One word that the index knows is as good as a query of one word.
    forms, pairs = asked_forms(query.known), asked_pairs(query.meant)
    is_asked = forms or pairs or query.is_doubted
    if query.mode == SearchMode.DENSE or not candidates or not is_asked:
        return retrieval
    rarity, alone = store.frequencies().idf, any(form.alone for form in forms)
    most = READ_ALONE if alone else max(READ, 2 * query.top_k)
    best = sorted(candidates, key=lambda c: (-c.score, c.id))[:most]
    read = store.get_points([c.id for c in best])
    is_read = forms or query.is_doubted  # pairs are looked for in another form of the texts
    texts = {key: searched(point.payload) for key, point in read.items() if is_read}
    by_words = not plain and not any(c.meaning or any(c.gains) for c in candidates)
    if query.is_doubted and by_words and not _are_about(texts.values(), query.meant):
        return replace(retrieval, candidates=())

    gains = dict.fromkeys(read, 0.0)
    if forms:
        gains = {key: sum(t.score for t in form_gains(texts[key], forms, rarity)) for key in read}
    few = sum(gain > 0 for gain in gains.values()) < query.top_k
    if alone and few and len(candidates) >= query.chunk_limit:
        ids = {candidate.id for candidate in candidates}
        deep = store.find_candidates(query.lexical, query.filters, DEEP)
        others = {candidate.id: candidate for candidate in deep if candidate.id not in ids}
        for key, point in store.get_points([*others]).items():
            if terms := form_gains(searched(point.payload), forms, rarity):
                read[key], gains[key] = point, sum(term.score for term in terms)
                candidates.append(others[key])
    weights = pair_weights(pairs, rarity)
    for key, point in read.items():
        gains[key] += sum(term.score for term in pair_gains(point.payload, weights))

    own, by_query = (
        [
            c._replace(score=c.score + gain, forms=gain) if (gain := gains.get(c.id, 0.0)) else c
            for c in some
        ]
        for some in (candidates, plain)
    )
    return replace(retrieval, candidates=own, plain=by_query, read=read)


def form_gains(text: SearchedText, forms: Iterable[Form], rarity: Rarity) -> list[TermScore]:
    """Return what a chunk gains for each form that it holds.

    :param text: from `searched`.
    """
    placed = ((form, text.place(form)) for form in forms)
    return [
        TermScore(EXACT, form.text, _gain(form, place, rarity)) for form, place in placed if place
    ]


def full_score(text: str, rarity: Rarity) -> float:
    """Return what a text of average length scores that holds each word of a query once, and every
    form of it below its names.

    :param text: of the query, corrected.
    """
    words = sum(t.weight * rarity(t.dimension) for t in query_terms(text) if t.field in _IN_TEXT)
    return words + sum(_gain(form, Place.BODY, rarity) for form in asked_forms(text))


def _gain(form: Form, place: Place, rarity: Rarity) -> float:
    rarities = [rarity(dimension) for dimension in form.dimensions] or [0.0]
    is_identifier, is_named = form.is_identifier, place == Place.NAMES
    exact, named = WEIGHTS.identifier if is_identifier else WEIGHTS.exact, WEIGHTS.named
    if form.alone:
        exact, named = WEIGHTS.alone, WEIGHTS.alone_named
    weight = max(rarities) * (WORD_WEIGHT if RUN.match(form.text) else 1.0)
    return (exact + named * is_named) * (sum(rarities) if is_identifier else weight)


def pair_weights(pairs: Iterable[Pair], rarity: Rarity) -> dict[Pair, float]:
    """Return what a text of average length gains for holding each of a query's pairs once."""
    weights = {}
    for pair in pairs:
        told = sum(rarity(word_dimension(word)) for word in pair.words)
        weight = WEIGHTS.pair * min(WEIGHTS.rarest_pair, told) if pair.words else WEIGHTS.seam
        weights[pair] = pair.times * weight
    return weights


def pair_gains(chunk: Mapping[str, Any], weights: Mapping[Pair, float]) -> list[TermScore]:
    """Return what a chunk, of `meta` and `content`, gains for each two neighbours of a query that
    it holds.

    :param weights: from `pair_weights`.
    """
    if not weights:
        return []
    held = weigh_pairs("\n".join(lexical_parts(chunk["meta"], chunk["content"])), [*weights])
    return [TermScore(PAIRS, pair.text, weights[pair] * share) for pair, share in held.items()]


def searched(chunk: Mapping[str, Any]) -> SearchedText:
    """Return the text of a chunk as forms are looked for in it."""
    meta = chunk["meta"]
    names = names_of(meta)
    if meta.get("position") == 0:
        names.append(file_name(meta))
    texts = names, [chunk["content"] or "", *meta.get("properties", ())]
    return SearchedText(*(folded("\n".join(text)) for text in texts))


def _are_about(texts: Iterable[SearchedText], query: str) -> bool:
    """Return whether any text holds a form of a query's spaced words, or what its runs need; of a
    query that has neither they are all about it."""
    words, holds = " ".join(content_words(query)), holds_runs(query)
    if not (words or holds):
        return True
    return any(
        (words and find_matches(part, words)) or (holds and holds(part))
        for text in texts
        for part in (text.names, text.body)
    )
