"""The passages of the notes that a search found, as far as an answer may draw on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, pstdev
from typing import NamedTuple

from haystack.dataclasses import Document

from rag.answers.quotation.evidence import Passage
from rag.answers.quotation.units import Kind, QuotableUnit
from rag.search.components.note_ranker import Hits
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.scored_chunk import Candidates, cosines_of
from rag.vault.properties import properties_of
from rag.vault.sentence_units import sentence_units

_CHUNKS = 6  # of a note; what a search found of it besides is far from the question
_ALIKE = 1e-6  # cosines that differ by less do so by rounding


class FoundPassage(NamedTuple):
    """A passage, and the document that it is the text of."""

    document: Document
    passage: Passage


def found_passages(
    store: BaseDocumentStore,
    documents: Sequence[Document],
    hits: Hits,
    candidates: Candidates,
    embedding: Sequence[float] | None,
) -> list[FoundPassage]:
    """Return the best chunks of the notes that are shown.

    :param documents: that the notes are shown by, best first, and their `hits`.
    :param candidates: all chunks that were found.
    :param embedding: of the question, where it was searched by meaning.
    """
    ranks = {hit.note: rank for rank, hit in enumerate(hits, 1)}
    known = {document.id: document for document in documents}
    chosen: dict[str, int] = {hit.id: ranks[hit.note] for hit in hits}
    counts = dict.fromkeys(ranks, 1)
    for one in sorted(candidates, key=lambda candidate: -candidate.score):
        if one.note in ranks and one.id not in chosen and counts[one.note] < _CHUNKS:
            chosen[one.id] = ranks[one.note]
            counts[one.note] += 1
    others = [identity for identity in chosen if identity not in known]
    known |= {document.id: document for document in store.get_documents(others)}
    found = {identity: rank for identity, rank in chosen.items() if identity in known}
    nearness = _nearness(store, found, embedding) if embedding else {}
    return [
        FoundPassage(known[identity], passage_of(known[identity], rank, nearness.get(identity, ())))
        for identity, rank in sorted(found.items(), key=lambda pair: pair[1])
    ]


def line_in_file(document: Document, number: int) -> int:
    """Return the line of the file, from 1, that a line of a chunk's text is, from 0."""
    meta = document.meta
    return int(meta.get("line_start", 1)) - int(meta.get("repeated", 0)) + number


def passage_of(document: Document, rank: int, nearness: Sequence[float]) -> Passage:
    """Return a chunk as a passage.

    :param nearness: how near each of its sentences is to the question; empty where unknown.
    """
    meta, content = document.meta, document.content or ""
    names = [str(meta.get("title", "")), *meta.get("heading", []), *meta.get("aliases", [])]
    units = sentence_units(content) if nearness else []
    fits = len(units) == len(nearness)
    shift = int(meta.get("repeated", 0)) - int(meta.get("line_start", 1))
    return Passage(
        names="\n".join(dict.fromkeys(names)),
        content=content,
        rank=rank,
        skipped=int(meta.get("repeated", 0)),
        sentences=units if fits else (),
        nearness=nearness if fits else (),
        near=max(nearness, default=0.0),
        properties=[
            QuotableUnit(one.line + shift, one.line + shift, one.text, Kind.PROPERTY, stated=one)
            for one in properties_of(meta)
        ],
        place=" ".join([str(meta.get("file_path", "")).rpartition("/")[0], *meta.get("tags", [])]),
    )


def _nearness(
    store: BaseDocumentStore, ids: Iterable[str], embedding: Sequence[float]
) -> dict[str, list[float]]:
    """Return, by document, how near each of its sentences is to the question: by how many standard
    deviations above the mean of a sample of the index."""
    [sample] = store.score_each([([*embedding], store.sample.ids())])
    cosines = [*sample.values()]
    if len(cosines) < 2 or (deviation := pstdev(cosines)) <= _ALIKE:
        return {}
    mean = fmean(cosines)
    return {
        identity: [(cosine - mean) / deviation for cosine in found]
        for identity, found in cosines_of(store.embeddings_of([*ids]), embedding).items()
    }
