"""Answers without a model: the parts of the notes for which most speaks as an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean, pstdev
from typing import Any, NamedTuple

from haystack import component
from haystack.dataclasses import Document

from rag.answers.claims import Evidence
from rag.answers.notices import notice
from rag.answers.prompt_injection import without_instructions
from rag.answers.quotation.question import Question
from rag.answers.quotation.selection import Passage, choose
from rag.answers.quotation.units import Kind, QuotableUnit, quotable_units
from rag.clients import factory
from rag.qa.answer import Answer, Place, Quote
from rag.search.components import SearchComponent
from rag.search.matching_line import cosines_of
from rag.search.query import Hit, Retrieval
from rag.search.results import SearchResult
from rag.search.run import to_result, to_results
from rag.stores.base.document_store import BaseDocumentStore
from rag.vault.frontmatter import properties_of
from rag.vault.sentences import sentence_units

_CHUNKS = 6  # of a note; what a search found of it besides is far from the question
_ALIKE = 1e-6  # cosines that differ by less do so by rounding
_NEAREST = 3  # notes that are named where none answers
OUTPUTS = {"answer": Answer, "results": list[SearchResult]}


class Quotation(NamedTuple):
    """A part of a note that is read out: `rank` is that of the note, from 1, `line` where it begins
    in the file, `document` the chunk that it is from, and `answer` what of it answers, where a
    reader is sure."""

    text: str
    rank: int
    line: int
    document: Document
    answer: str = ""


def line_in_file(document: Document, number: int) -> int:
    """Return the line of the file, from 1, that a line of a chunk's text is, from 0."""
    meta = document.meta
    return int(meta.get("line_start", 1)) - int(meta.get("repeated", 0)) + number


def passages_of(
    store: BaseDocumentStore, retrieval: Retrieval
) -> Iterator[tuple[Document, Passage]]:
    """Yield the best chunks of the notes that are shown, each as a passage too."""
    hits, embedding = retrieval.hits, retrieval.query.embedding
    ranks = {hit.note: rank for rank, hit in enumerate(hits, 1)}
    documents = {hit.id: hit.document for hit in hits if hit.document}
    chosen = {hit.id: ranks[hit.note] for hit in hits}
    counts = dict.fromkeys(ranks, 1)
    for chunk in sorted(retrieval.candidates, key=lambda candidate: -candidate.score):
        if chunk.note in ranks and chunk.id not in chosen and counts[chunk.note] < _CHUNKS:
            chosen[chunk.id] = ranks[chunk.note]
            counts[chunk.note] += 1
    others = store.get_documents([identity for identity in chosen if identity not in documents])
    documents |= {document.id: document for document in others}
    ranked = {identity: rank for identity, rank in chosen.items() if identity in documents}
    nearness = _nearness(store, ranked, embedding) if embedding else {}
    for identity, rank in sorted(ranked.items(), key=lambda pair: pair[1]):
        document = documents[identity]
        yield document, passage_of(document, rank, nearness.get(identity, ()))


def passage_of(document: Document, rank: int, nearness: Sequence[float]) -> Passage:
    """Return a chunk as a passage.

    :param nearness: how near each of its sentences is to the question; empty where unknown.
    """
    meta, content = document.meta, document.content or ""
    names = [str(meta.get("title", "")), *meta.get("heading", []), *meta.get("aliases", [])]
    units = sentence_units(content) if nearness else []
    fits = len(units) == len(nearness)
    shift = -line_in_file(document, 0)
    return Passage(
        names="\n".join(dict.fromkeys(names)),
        content=content,
        rank=rank,
        skipped=int(meta.get("repeated", 0)),
        sentences=units if fits else (),
        nearness=nearness if fits else (),
        near=max(nearness, default=0.0),
        properties=[
            QuotableUnit(p.line + shift, p.line + shift, p.text, Kind.PROPERTY, stated=p)
            for p in properties_of(meta)
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
        identity: [(cosine - mean) / deviation for cosine in of_sentences]
        for identity, of_sentences in cosines_of(store.embeddings_of([*ids]), embedding).items()
    }


@component
class QuotationAnswerer(SearchComponent):
    """Answer a question by quoting what speaks of it most in the notes that were found.

    :param document_store: where the notes are.
    :param top_k: how many quotations there are at most.
    """

    def __init__(self, document_store: BaseDocumentStore, top_k: int = 3) -> None:
        if top_k < 1:
            raise ValueError("top_k must be at least 1")
        self.document_store, self.top_k = document_store, top_k

    def warm_up(self) -> None:
        """Have the reader load while the notes are searched."""
        if self.document_store.embedding_dim:
            factory.begin_reading()

    @component.output_types(**OUTPUTS)
    def run(self, retrieval: Retrieval) -> dict[str, Any]:
        """Return the `answer`, none where it is not sure enough that a quotation answers the
        question; and the `results` that were found, its sources among them. Where the notes
        themselves are what was asked for, each is quoted with its first sentence.
        """
        query, store, confidence = retrieval.query, self.document_store, 0.0
        results, sources = to_results(retrieval), dict[str, SearchResult]()
        if query.quotes_all:
            quotations = [[begun] for begun in _beginnings(retrieval.documents)][: self.top_k]
        else:
            passages = [*passages_of(store, retrieval)]
            question = Question(query.quoted, store.frequencies().idf)
            read = factory.read if query.embedding else None  # an index by words loads no model
            chosen, confidence = choose(
                question, [passage for _, passage in passages], self.top_k, read
            )
            quotations = [
                [
                    _quotation(choice.unit, passage.rank, document, choice.answer)
                    for choice in alike
                    for document, passage in [passages[choice.passage]]
                ]
                for alike in chosen
            ]

        def placed(quotation: Quotation) -> Place:
            """Number the sources in the order in which the answer names them."""
            key = quotation.document.id
            sources.setdefault(key, _source(results[quotation.rank - 1], quotation))
            return Place([*sources].index(key) + 1, quotation.line)

        shown = [places for places in quotations if is_for_readers(*places[0][:4])]
        quotes = [Quote(best.text, *placed(best), answer=best.answer) for best, *_ in shown]
        for quote, (_, *others) in zip(quotes, shown, strict=True):
            quote.also = [*map(placed, others)]
        answer = Answer(
            text="\n".join(f"{quote.text} [{quote.source}]" for quote in quotes)
            or notice(query.question, "not_found"),
            sources=[*sources.values()],
            confidence=confidence if quotes else 0.0,
            found=bool(quotes),
            quotes=quotes,
            near=[] if quotes else results[:_NEAREST],
            searched=query.searched,
            tags=query.tags,
            corrections=query.corrections,
            results=results,
        )
        return {"answer": answer, "results": results}


def _quotation(unit: QuotableUnit, rank: int, document: Document, answer: str = "") -> Quotation:
    """Return a unit as it is read out; a property says little without the title of its note."""
    title = document.meta.get("title", "") if unit.kind == Kind.PROPERTY else ""
    text = f"{title} · {unit.text}" if title else unit.text
    return Quotation(text, rank, line_in_file(document, unit.first), document, answer)


def _beginnings(documents: Sequence[Document]) -> Iterator[Quotation]:
    for rank, document in enumerate(documents, 1):
        skipped = int(document.meta.get("repeated", 0))
        units = (unit for unit in quotable_units(document.content or "") if unit.first >= skipped)
        first = next((unit for unit in units if unit.kind not in (Kind.TABLE, Kind.LIST)), None)
        if first:
            yield _quotation(first, rank, document)


def is_for_readers(quotation: str, rank: int, line: int, document: Document) -> bool:
    """Return whether a quotation is no part of prompt injections: that answers nobody."""
    text = document.content or ""
    if line < int(document.meta.get("line_start", 1)):  # a property stands above it
        text = f"{quotation}\n{text}"
    text, planted = without_instructions(text, "")
    return not planted or Evidence(text).says(quotation)


def _source(result: SearchResult, quotation: Quotation) -> SearchResult:
    """Return the result that a note was found by, for the chunk that is quoted."""
    document = quotation.document
    if result.chunk == document.id:
        return result
    return replace(
        to_result(document, Hit(document.id, "", 0.0), result.score),
        line=quotation.line,
        scores=result.scores,
        duplicates=result.duplicates,
        is_borne=result.is_borne,
    )
