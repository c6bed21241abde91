"""Why a result stands where it does: its score, taken apart until it adds up."""

from __future__ import annotations

from collections.abc import Sequence

from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.index.searchable_text import lexical_parts
from rag.search.attribution import Found
from rag.search.components.form_ranker import form_gains, pair_gains, pair_weights, searched
from rag.search.components.note_ranker import Hit, Part, ids_of
from rag.search.results import ChunkScore, Explanation, TermScore
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.bm25 import FIELDS, QueryTerm
from rag.text.exact_forms import asked_forms
from rag.text.matches import find_matches
from rag.text.pairs import asked_pairs
from rag.text.tokenizer import stem

# Fields of explanations beside the lexical ones.
EXACT, PAIRS, MEANING, VARIANTS = "exact", "pairs", "meaning", "variants"


def explain(
    store: BaseDocumentStore,
    asked: Sequence[QueryTerm],
    hits: Sequence[Hit],
    found: Sequence[Found] = (),
    text: str = "",
) -> list[Explanation]:
    """Take the scores of hits apart, one explanation each.

    Every number of a lexical field is the engine's own: each term is scored alone, over the chunks
    in question.

    :param text: what was searched for, corrected.
    :param found: what variants of the query add to each hit; see `rag.search.attribution`.
    """
    ids = ids_of(hits)
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

    def explain_hit(hit: Hit, by: Found) -> Explanation:
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

    found = found or [Found([], {}) for _ in hits]
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
