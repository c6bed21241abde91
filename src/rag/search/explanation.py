"""Why a result stands where it does: its score, taken apart until it adds up."""

from __future__ import annotations

from collections.abc import Sequence

from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.search.attribution import Found
from rag.search.components.note_ranker import Hit, ids_of
from rag.search.results import ChunkScore, Explanation, TermScore
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.bm25 import FIELDS, QueryTerm

MEANING, VARIANTS = "meaning", "variants"  # fields of explanations beside the lexical ones


def explain(
    store: BaseDocumentStore,
    asked: Sequence[QueryTerm],
    hits: Sequence[Hit],
    found: Sequence[Found] = (),
) -> list[Explanation]:
    """Take the scores of hits apart, one explanation each.

    Every number is the engine's own: each term is scored alone, over the chunks in question.

    :param found: what variants of the query add to each hit; see `rag.search.attribution`.
    """
    ids = ids_of(hits)
    query = SparseEmbedding([t.dimension for t in asked], [t.weight for t in asked])
    by_term = store.score_dimensions(query, ids)
    lines = {d.id: int(d.meta.get("line_start", 1)) for d in store.get_documents(ids)}

    def explain_hit(hit: Hit, by: Found) -> Explanation:
        chunks = [
            ChunkScore(
                id=part.id,
                line_start=lines.get(part.id, 1),
                weight=part.weight,
                score=part.score,
                terms=_terms(asked, by_term, part.id),
                meaning=part.meaning,
                cosine=part.cosine,
                variants=by.gains.get(part.id, {}),
            )
            for part in hit.parts
        ]
        fields = {
            name: sum(
                chunk.weight * term.score
                for chunk in chunks
                for term in chunk.terms
                if term.field == name
            )
            for name in FIELDS
        }
        fields[MEANING] = sum(chunk.weight * chunk.meaning for chunk in chunks)
        fields[VARIANTS] = sum(c.weight * sum(c.variants.values()) for c in chunks)
        fields = {name: score for name, score in fields.items() if score}
        return Explanation(hit.score, hit.bonus, fields, chunks, hit.kept)

    found = found or [Found([], {}) for _ in hits]
    return [explain_hit(hit, by) for hit, by in zip(hits, found, strict=True)]


def _terms(
    asked: Sequence[QueryTerm], by_term: Sequence[dict[str, float]], chunk: str
) -> list[TermScore]:
    found = [
        TermScore(term.field, term.text, scores[chunk])
        for term, scores in zip(asked, by_term, strict=True)
        if chunk in scores
    ]
    return sorted(found, key=lambda term: -term.score)
