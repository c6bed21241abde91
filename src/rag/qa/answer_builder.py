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
from rag.qa.answer import Answer, Quote
from rag.search.components.note_ranker import Hits
from rag.search.results import SearchResult
from rag.search.run import to_results
from rag.search.understanding.query_understanding import Understood

_NEAREST = 3  # notes that are named where none answers
OUTPUTS = {"answer": Answer, "results": list[SearchResult]}


@component
class AnswerBuilder:
    """Make an answer of quotations, each with its source."""

    @component.output_types(**OUTPUTS)
    def run(
        self,
        question: str,
        understood: Understood,
        documents: list[Document],
        hits: Hits,
        duplicates: list[list[Document]],
        quotes: list[Quote],
        places: list[Document],
        confidence: float,
    ) -> dict[str, Any]:
        """Return the `answer`, and the `results` that were found, its sources among them.

        :param understood: what the question means to the index.
        :param documents: what was found, best first; `hits` are their scores, and `duplicates`
            those that say the same as each.
        :param quotes: parts of the notes that answer the question.
        :param places: the chunk of each quote.
        :param confidence: how sure it is that the first quote answers the question.
        """
        results = to_results(understood, documents, hits, duplicates)
        pairs = zip(quotes, places, strict=True)
        shown = [(quote, place) for quote, place in pairs if _is_for_readers(quote, place)]
        answer = _quoted(shown, results, question, confidence)
        answer.searched, answer.tags = understood.searched, understood.tags
        answer.corrections = understood.corrections
        return {"answer": answer, "results": results}


def _is_for_readers(quote: Quote, place: Document) -> bool:
    """Return whether a quotation is no part of prompt injections: that answers nobody."""
    text, planted = without_instructions(place.content or "", "")
    return not planted or Evidence(text).says(quote.text)


def _quoted(
    quotes: Sequence[tuple[Quote, Document]],
    results: list[SearchResult],
    question: str,
    confidence: float,
) -> Answer:
    """Number the sources in the order in which the answer names them."""
    sources: dict[str, SearchResult] = {}
    cited: list[Quote] = []
    for quote, place in quotes:
        sources.setdefault(place.id, _source(results[quote.source - 1], place, quote.line))
        cited.append(replace(quote, source=[*sources].index(place.id) + 1))
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
        chunk=place.id,
    )
