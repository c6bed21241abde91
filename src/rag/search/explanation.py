"""Why a result stands where it does: its score, taken apart until it adds up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.index.searchable_text import lexical_parts
from rag.search.exact_words import EXACT, PAIRS, form_gains, pair_gains, pair_weights, searched
from rag.search.query import ORIGINAL, Hit, Retrieval, blended_words
from rag.search.results import WORDS, ChunkScore, Explanation, SearchMode, TermScore
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.points import Candidate
from rag.text.bm25 import FIELDS, query_terms
from rag.text.exact_forms import asked_forms, asked_pairs
from rag.text.matches import find_matches
from rag.text.tokenizer import stem

_FOUND = 0.1  # of what all variants add to a note: who adds less did not find it


class Finders(NamedTuple):
    """Which searches found a hit: `original` and labels of variants. `gains` is what each adds to
    the score of which chunk, by the chunk's id."""

    by: list[str]
    gains: dict[str, dict[str, float]]


def trace(store: BaseDocumentStore, retrieval: Retrieval) -> list[Finders]:
    """Return by which searches hits were found, one `Finders` each; nothing without variants.

    The engine scores each variant alone, over the chunks in question: what the variants add by
    words is split as their scores are, and semantically it is the nearest one's.
    """
    hits, variants = retrieval.hits, retrieval.query.variants
    if not variants or not hits:
        return []
    ids = [part.id for hit in hits for part in hit.parts if any(part.gains)]
    words = [variant for variant in variants if WORDS in variant.sides]
    near = [variant for variant in variants if variant.is_embedded]
    queries: list[SparseEmbedding | list[float]] = [blended_words([variant]) for variant in words]
    queries += [variant.vector for variant in near if variant.vector]
    scores = store.score_each([(query, [*dict.fromkeys(ids)]) for query in queries])
    by_words = [(v.label, s) for v, s in zip(words, scores, strict=False)]
    by_meaning = [(v.label, s) for v, s in zip(near, scores[len(words) :], strict=True)]
    itself = {candidate.id for candidate in retrieval.plain}

    def found(hit: Hit) -> Finders:
        gains = {part.id: _split(part, by_words, by_meaning) for part in hit.parts}
        total = dict.fromkeys((variant.label for variant in variants), 0.0)
        for part in hit.parts:
            for label, gain in gains[part.id].items():
                total[label] += part.weight * gain
        least = _FOUND * sum(total.values())
        by = [label for label, gain in total.items() if gain > 0 and gain >= least]
        is_plain = any(part.id in itself for part in hit.parts) or not by
        return Finders([ORIGINAL, *by] if is_plain else by, gains)

    return [found(hit) for hit in hits]


Scores = Sequence[tuple[str, dict[str, float]]]


def _split(part: Candidate, by_words: Scores, by_meaning: Scores) -> dict[str, float]:
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


# Fields of explanations beside the lexical ones, EXACT and PAIRS.
MEANING, VARIANTS, READING = "meaning", "variants", "reading"


def explain(
    store: BaseDocumentStore, retrieval: Retrieval, finders: Sequence[Finders]
) -> list[Explanation]:
    """Take the scores of hits apart, one explanation each. Every number of a lexical field is the
    engine's own: each term is scored alone, over the chunks in question.

    :param finders: from `trace`.
    """
    query, hits = retrieval.query, retrieval.hits
    by_words = query.mode != SearchMode.DENSE
    asked = query_terms(query.text, tuple(query.also)) if by_words else ()
    text = query.known if by_words else ""
    ids = list(dict.fromkeys(part.id for hit in hits for part in hit.parts))
    by_term = store.score_each(
        [(SparseEmbedding([term.dimension], [term.weight]), ids) for term in asked]
    )
    chunks = {key: point.payload for key, point in store.get_points(ids).items()}
    rarity = store.frequencies().idf
    forms, pairs = asked_forms(text), pair_weights(asked_pairs(text), rarity)

    def terms_of(part: Candidate) -> list[TermScore]:
        chunk = chunks.get(part.id)
        written = _written(chunk, text) if chunk else {}
        terms = []
        for term, scores in zip(asked, by_term, strict=True):
            if part.id in scores:
                as_written = written.get(stem(term.text), ()) if term.field == "words" else ()
                others = tuple(form for form in as_written if form != term.text)
                terms.append(TermScore(term.field, term.text, scores[part.id], others))
        if chunk and part.forms:
            terms += form_gains(searched(chunk), forms, rarity)
            terms += pair_gains(chunk, pairs)
        return sorted(terms, key=lambda term: -term.score)

    def explain_hit(hit: Hit, gains: dict[str, dict[str, float]]) -> Explanation:
        scores, fields = [], dict.fromkeys((*FIELDS, EXACT, PAIRS, MEANING, VARIANTS), 0.0)
        for part in hit.parts:
            chunk, terms = chunks.get(part.id), terms_of(part)
            line = int(chunk["meta"].get("line_start", 1)) if chunk else 1
            more = {"meaning": part.meaning, "cosine": part.cosine}
            variants = gains.get(part.id, {})
            scores.append(
                ChunkScore(part.id, line, part.weight, part.score, terms, **more, variants=variants)
            )
            for term in terms:
                fields[term.field] += part.weight * term.score
            fields[MEANING] += part.weight * part.meaning
            fields[VARIANTS] += part.weight * sum(variants.values())
        fields[READING] = hit.reading
        fields = {name: score for name, score in fields.items() if score}
        return Explanation(hit.score, hit.bonus, fields, scores, hit.kept)

    gains = [pair.gains for pair in finders] or [{} for _ in hits]
    return [*map(explain_hit, hits, gains)]


def _written(chunk: Mapping[str, Any], text: str) -> dict[str, list[str]]:
    """Return how a chunk writes the terms of a query, title and headings included, each form once,
    by the term."""
    searched = "\n".join(lexical_parts(chunk["meta"], chunk["content"]))
    written: dict[str, list[str]] = {}
    for match in find_matches(searched, text):
        form, forms = searched[match.start : match.end].lower(), written.setdefault(match.term, [])
        if form not in forms:
            forms.append(form)
    return written
