"""Why a result stands where it does: its score, taken apart until it adds up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.index.searchable_text import lexical_parts
from rag.search.exact_words import form_gains, pair_gains, pair_weights, searched
from rag.search.query import Hit, Part, Retrieval
from rag.search.query_variants import ORIGINAL, lexical_vector
from rag.search.results import ChunkScore, Explanation, TermScore
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.bm25 import FIELDS, QueryTerm
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
    """Return by which searches hits were found, one `Finders` each; all empty without variants.

    The engine scores each variant alone, over the chunks in question: what the variants add by
    words is split as their scores are, and semantically it is the nearest one's.
    """
    hits, variants = retrieval.hits, retrieval.query.variants
    if not variants or not hits:
        return [Finders([], {}) for _ in hits]
    ids = [part.id for hit in hits for part in hit.parts if any(part.gains)]
    words = [variant for variant in variants if variant.words]
    near = [variant for variant in variants if variant.is_embedded]
    queries: list[SparseEmbedding | list[float]] = [lexical_vector(variant) for variant in words]
    queries += [variant.vector for variant in near if variant.vector]
    scores = store.score_among(queries, list(dict.fromkeys(ids)))
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


# Fields of explanations beside the lexical ones.
EXACT, PAIRS, MEANING, VARIANTS = "exact", "pairs", "meaning", "variants"


def explain(
    store: BaseDocumentStore,
    asked: Sequence[QueryTerm],
    hits: Sequence[Hit],
    found: Sequence[Finders] = (),
    text: str = "",
) -> list[Explanation]:
    """Take the scores of hits apart, one explanation each.

    Every number of a lexical field is the engine's own: each term is scored alone, over the chunks
    in question.

    :param text: what was searched for, corrected.
    :param found: what variants of the query add to each hit; see `rag.search.explanation`.
    """
    ids = list(dict.fromkeys(part.id for hit in hits for part in hit.parts))
    query = SparseEmbedding([t.dimension for t in asked], [t.weight for t in asked])
    by_term = store.score_dimensions(query, ids)
    documents = {document.id: document for document in store.get_documents(ids)}
    forms, pairs = asked_forms(text), pair_weights(asked_pairs(text), store.counts.rarity)

    def terms_of(part: Part) -> list[TermScore]:
        document = documents.get(part.id)
        written = _written(document, text) if document else {}
        terms = _terms(asked, by_term, part.id, written)
        if document and part.forms:
            gains = form_gains(searched(document), forms, store.counts.rarity)
            terms += [TermScore(EXACT, one.form.text, one.gain) for one in gains]
            beside = pair_gains(document, pairs)
            terms += [TermScore(PAIRS, one.pair.text, one.gain) for one in beside]
        return sorted(terms, key=lambda term: -term.score)

    def explain_hit(hit: Hit, by: Finders) -> Explanation:
        chunks = [
            ChunkScore(
                id=part.id,
                line_start=_first_line(documents.get(part.id)),
                weight=part.weight,
                score=part.score,
                terms=terms_of(part),
                meaning=part.meaning,
                cosine=part.cosine,
                variants=by.gains.get(part.id, {}),
            )
            for part in hit.parts
        ]
        return Explanation(hit.score, hit.bonus, _fields(chunks), chunks, hit.kept)

    found = found or [Finders([], {}) for _ in hits]
    return [explain_hit(hit, by) for hit, by in zip(hits, found, strict=True)]


def _fields(chunks: Sequence[ChunkScore]) -> dict[str, float]:
    """Return what each field adds to the score of a hit, as far as it adds anything."""
    fields = dict.fromkeys((*FIELDS, EXACT, PAIRS), 0.0)
    for chunk in chunks:
        for term in chunk.terms:
            fields[term.field] += chunk.weight * term.score
    fields[MEANING] = sum(chunk.weight * chunk.meaning for chunk in chunks)
    fields[VARIANTS] = sum(c.weight * sum(c.variants.values()) for c in chunks)
    return {name: score for name, score in fields.items() if score}


def _terms(
    asked: Sequence[QueryTerm],
    by_term: Sequence[dict[str, float]],
    chunk: str,
    written: dict[str, list[str]],
) -> list[TermScore]:
    return [
        TermScore(term.field, term.text, scores[chunk], _other_forms(term, written))
        for term, scores in zip(asked, by_term, strict=True)
        if chunk in scores
    ]


def _other_forms(term: QueryTerm, written: dict[str, list[str]]) -> tuple[str, ...]:
    if term.field != "words":
        return ()
    return tuple(form for form in written.get(stem(term.text), ()) if form != term.text)


def _written(document: Document, text: str) -> dict[str, list[str]]:
    """Return how a chunk writes the terms of a query, title and headings included, each form once,
    by the term."""
    searched = "\n".join(lexical_parts(document.meta, document.content))
    found: dict[str, list[str]] = {}
    for match in find_matches(searched, text):
        form, forms = searched[match.start : match.end].lower(), found.setdefault(match.term, [])
        if form not in forms:
            forms.append(form)
    return found


def _first_line(document: Document | None) -> int:
    return int(document.meta.get("line_start", 1)) if document else 1
