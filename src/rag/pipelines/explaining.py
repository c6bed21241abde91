"""Why a result stands where it does: its score, taken apart until it adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.pipelines.ranking import Hit, ids_of
from rag.stores.protocol import NoteStore
from rag.text.lexical import FIELDS, QueryTerm

MEANING = "meaning"  # a field of explanations beside the lexical ones


@dataclass(frozen=True)
class TermScore:
    """What one term of one field added to a chunk's score."""

    field: str
    term: str
    score: float


@dataclass(frozen=True)
class ChunkScore:
    """A chunk's part in its note's score: weight · score, and what that is the sum of: its
    terms, and what it gained by `meaning`, being as near the query as `cosine`."""

    id: str
    line_start: int
    weight: float
    score: float
    terms: list[TermScore]
    meaning: float = 0.0
    cosine: float = 0.0


@dataclass(frozen=True)
class Explanation:
    """A result's score: `total` = `bonus` + Σ weight · score of `chunks`.

    `fields` sums the terms of all chunks by field, and their `meaning`, weights included.
    `bonus` is what the note has for being called exactly what was searched for.
    """

    total: float
    bonus: float
    fields: dict[str, float]
    chunks: list[ChunkScore]


def explain(store: NoteStore, asked: Sequence[QueryTerm], hits: Sequence[Hit]) -> list[Explanation]:
    """Take the scores of hits apart, one explanation each.

    Every number is the engine's own: each term is scored alone, over the chunks in question.
    """
    ids = ids_of(hits)
    query = SparseEmbedding([t.dimension for t in asked], [t.weight for t in asked])
    by_term = store.score_dimensions(query, ids)
    lines = {d.id: int(d.meta.get("line_start", 1)) for d in store.get_documents(ids)}

    def explain_hit(hit: Hit) -> Explanation:
        chunks = [
            ChunkScore(
                id=part.id,
                line_start=lines.get(part.id, 1),
                weight=part.weight,
                score=part.score,
                terms=_terms(asked, by_term, part.id),
                meaning=part.meaning,
                cosine=part.cosine,
            )
            for part in hit.parts
        ]
        fields = {
            field: sum(
                chunk.weight * term.score
                for chunk in chunks
                for term in chunk.terms
                if term.field == field
            )
            for field in FIELDS
        }
        fields[MEANING] = sum(chunk.weight * chunk.meaning for chunk in chunks)
        return Explanation(hit.score, hit.bonus, {f: s for f, s in fields.items() if s}, chunks)

    return [explain_hit(hit) for hit in hits]


def _terms(
    asked: Sequence[QueryTerm], by_term: Sequence[dict[str, float]], chunk: str
) -> list[TermScore]:
    found = [
        TermScore(term.field, term.text, scores[chunk])
        for term, scores in zip(asked, by_term, strict=True)
        if chunk in scores
    ]
    return sorted(found, key=lambda term: -term.score)
