"""The component that makes the answer of quotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from haystack import component
from haystack.dataclasses import Document

from rag.answers.evidence import Evidence
from rag.answers.notices import notice
from rag.answers.prompt_injection import without_instructions
from rag.qa.answer import Answer, Place, Quote
from rag.qa.extractive_answerer import Quotations
from rag.search.results import SearchResult
from rag.search.run import to_results
from rag.vault.properties import properties_of

_NEAREST = 3  # notes that are named where none answers
OUTPUTS = {"answer": Answer, "results": list[SearchResult]}


@component
class AnswerBuilder:
    """Make an answer of quotations, each with its source."""

    @component.output_types(**OUTPUTS)
    def run(self, quotations: Quotations) -> dict[str, Any]:
        """Return the `answer`, and the `results` that were found, its sources among them.

        :param quotations: parts of the notes that answer the question.
        """
        query, results = quotations.retrieval.query, to_results(quotations.retrieval)
        pairs = zip(quotations.quotes, quotations.places, strict=True)
        shown = [(quote, chunks) for quote, chunks in pairs if is_for_readers(quote, chunks[0])]
        answer = _quoted(shown, results, query.question, quotations.confidence)
        answer.searched, answer.tags = query.searched, query.tags
        answer.corrections = query.corrections
        return {"answer": answer, "results": results}


def is_for_readers(quote: Quote, place: Document) -> bool:
    """Return whether a quotation is no part of prompt injections: that answers nobody."""
    text = place.content or ""
    if quote.line < int(place.meta.get("line_start", 1)):  # a property stands above it
        text = f"{quote.text}\n{text}"
    text, planted = without_instructions(text, "")
    return not planted or Evidence(text).says(quote.text)


def _quoted(
    quotes: Sequence[tuple[Quote, list[Document]]],
    results: list[SearchResult],
    question: str,
    confidence: float,
) -> Answer:
    """Number the sources in the order in which the answer names them."""
    sources: dict[str, SearchResult] = {}

    def number(rank: int, chunk: Document, line: int) -> int:
        sources.setdefault(chunk.id, _source(results[rank - 1], chunk, line))
        return [*sources].index(chunk.id) + 1

    cited = [
        replace(quote, source=number(quote.source, chunks[0], quote.line))
        for quote, chunks in quotes
    ]
    for quote, (_, chunks) in zip(cited, quotes, strict=True):
        places = zip(quote.also, chunks[1:], strict=True)
        quote.also = [Place(number(rank, chunk, line), line) for (rank, line), chunk in places]
    return Answer(
        text="\n".join(f"{quote.text} [{quote.source}]" for quote in cited)
        or notice(question, "not_found"),
        sources=[*sources.values()],
        confidence=confidence if cited else 0.0,
        found=bool(cited),
        quotes=cited,
        near=[] if cited else results[:_NEAREST],
    )


def _source(result: SearchResult, place: Document, line: int) -> SearchResult:
    """Return the result that a note was found by, for the chunk that is quoted."""
    if result.chunk == place.id:
        return result
    meta = place.meta
    return replace(
        result,
        content=place.content or "",
        position=int(meta.get("position", 0)),
        heading=list(meta.get("heading") or []),
        line_start=int(meta.get("line_start", 1)),
        line_end=int(meta.get("line_end", 1)),
        line=line,
        repeated=int(meta.get("repeated", 0)),
        properties=properties_of(meta),
        chunk=place.id,
    )
