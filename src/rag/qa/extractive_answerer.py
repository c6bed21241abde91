"""Answers without a model: the parts of the notes for which most speaks as an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import NamedTuple

from haystack import component
from haystack.dataclasses import Document

from rag.answers.quotation.evidence import Passage
from rag.answers.quotation.question import Question
from rag.answers.quotation.selection import Choice, choose
from rag.answers.quotation.units import Kind, QuotableUnit, quotable_units
from rag.qa.answer import Place, Quote
from rag.search.components.note_ranker import OverStore
from rag.search.query import Retrieval
from rag.stores.base.batch import NotCopied
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.scored_chunk import cosines_of
from rag.vault.properties import properties_of
from rag.vault.sentences import sentence_units

_CHUNKS = 6  # of a note; what a search found of it besides is far from the question
_ALIKE = 1e-6  # cosines that differ by less do so by rounding


class FoundPassage(NamedTuple):
    """A passage, and the document that it is the text of."""

    document: Document
    passage: Passage


def passages_of(store: BaseDocumentStore, retrieval: Retrieval) -> list[FoundPassage]:
    """Return the best chunks of the notes that are shown."""
    hits, embedding = retrieval.hits, retrieval.query.embedding
    ranks = {hit.note: rank for rank, hit in enumerate(hits, 1)}
    known = {hit.id: hit.document for hit in hits if hit.document}
    chosen: dict[str, int] = {hit.id: ranks[hit.note] for hit in hits}
    counts = dict.fromkeys(ranks, 1)
    for one in sorted(retrieval.candidates, key=lambda candidate: -candidate.score):
        if one.note in ranks and one.id not in chosen and counts[one.note] < _CHUNKS:
            chosen[one.id] = ranks[one.note]
            counts[one.note] += 1
    others = [identity for identity in chosen if identity not in known]
    known |= {document.id: document for document in store.get_documents(others)}
    ranked = {identity: rank for identity, rank in chosen.items() if identity in known}
    nearness = _nearness(store, ranked, embedding) if embedding else {}
    return [
        FoundPassage(known[identity], passage_of(known[identity], rank, nearness.get(identity, ())))
        for identity, rank in sorted(ranked.items(), key=lambda pair: pair[1])
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
    [sample] = store.score_each([([*embedding], store.sample_ids())])
    cosines = [*sample.values()]
    if len(cosines) < 2 or (deviation := pstdev(cosines)) <= _ALIKE:
        return {}
    mean = fmean(cosines)
    return {
        identity: [(cosine - mean) / deviation for cosine in found]
        for identity, found in cosines_of(store.embeddings_of([*ids]), embedding).items()
    }


@dataclass(frozen=True)
class Quotations(NotCopied):
    """Quotations that answer a question, the best one first, and what they were found in.

    :param quotes: each with a `source` that counts from 1 in the notes that are shown.
    :param places: at the place of each the chunk that it is from, and those of its `also`.
    :param confidence: the probability that the first answers the question.
    """

    retrieval: Retrieval
    quotes: list[Quote]
    places: list[list[Document]]
    confidence: float


@component
class QuotationAnswerer(OverStore):
    """Answer a question by quoting what speaks of it most in the notes that were found.

    :param document_store: where the notes are.
    :param top_k: how many quotations there are at most.
    """

    def __init__(self, document_store: BaseDocumentStore, top_k: int = 3) -> None:
        if top_k < 1:
            raise ValueError("top_k must be at least 1")
        OverStore.__init__(self, document_store, top_k)

    @component.output_types(quotations=Quotations)
    def run(self, retrieval: Retrieval) -> dict[str, Quotations]:
        """Return the `quotations`; none where it is not sure enough that one answers the question.

        Where the notes themselves are what was asked for, and not what they say of it, each is
        quoted with its first sentence.
        """
        query, store, documents = retrieval.query, self.document_store, retrieval.documents
        if query.quotes_all:
            begun = list(_beginnings(documents))[: self.top_k]
            places = [[documents[quote.source - 1]] for quote in begun]
            return {"quotations": Quotations(retrieval, begun, places, 0.0)}
        passages = passages_of(store, retrieval)
        question = Question(query.quoted, store.counts.rarity)
        chosen, confidence = choose(question, [one.passage for one in passages], self.top_k)
        quotes, places = [], []
        for best, also in chosen:
            ranks_and_lines = [_place(passages, choice) for choice in (best, *also)]
            quote = Quote(_text(passages, best), *ranks_and_lines[0], also=ranks_and_lines[1:])
            quotes.append(quote)
            places.append([passages[choice.passage].document for choice in (best, *also)])
        return {"quotations": Quotations(retrieval, quotes, places, confidence)}


def _place(found: Sequence[FoundPassage], choice: Choice) -> Place:
    """Return the rank of a unit's note, and the line that it begins in."""
    one = found[choice.passage]
    return Place(one.passage.rank, line_in_file(one.document, choice.unit.first))


def _text(found: Sequence[FoundPassage], choice: Choice) -> str:
    """Return the text of a unit; a property says little without the title of its note."""
    title = found[choice.passage].document.meta.get("title", "")
    is_stated = choice.unit.kind == Kind.PROPERTY and title
    return f"{title} · {choice.unit.text}" if is_stated else choice.unit.text


def _beginnings(documents: Sequence[Document]) -> Iterator[Quote]:
    for rank, document in enumerate(documents, 1):
        skipped = int(document.meta.get("repeated", 0))
        units = (unit for unit in quotable_units(document.content or "") if unit.first >= skipped)
        first = next((unit for unit in units if unit.kind not in (Kind.TABLE, Kind.LIST)), None)
        if first:
            yield Quote(first.text, rank, line_in_file(document, first.first))
