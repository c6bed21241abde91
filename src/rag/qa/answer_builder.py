"""The component that makes the answer of quotations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from haystack import component
from haystack.dataclasses import Document

from rag.answers.evidence import Evidence
from rag.answers.notices import notice
from rag.answers.prompt_injection import without_instructions
from rag.qa.answer import Answer, Place, Quote
from rag.qa.extractive_answerer import Quotation, Quotations
from rag.search.query import Hit
from rag.search.results import SearchResult
from rag.search.run import to_result, to_results

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
        sources: dict[str, SearchResult] = {}

        def placed(one: Quotation) -> Place:
            """Number the sources in the order in which the answer names them."""
            key = one.document.id
            sources.setdefault(key, _source(results[one.rank - 1], one))
            return Place([*sources].index(key) + 1, one.line)

        shown = [places for places in quotations.quotes if is_for_readers(*places[0])]
        quotes = [Quote(best.text, *placed(best)) for best, *_ in shown]
        for quote, (_, *others) in zip(quotes, shown, strict=True):
            quote.also = [*map(placed, others)]
        answer = Answer(
            text="\n".join(f"{quote.text} [{quote.source}]" for quote in quotes)
            or notice(query.question, "not_found"),
            sources=[*sources.values()],
            confidence=quotations.confidence if quotes else 0.0,
            found=bool(quotes),
            quotes=quotes,
            near=[] if quotes else results[:_NEAREST],
            searched=query.searched,
            tags=query.tags,
            corrections=query.corrections,
        )
        return {"answer": answer, "results": results}


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
