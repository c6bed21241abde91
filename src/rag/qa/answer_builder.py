"""The component that makes the answer of quotations."""

from __future__ import annotations

from statistics import fmean
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
    ) -> dict[str, Any]:
        """Return the `answer`, and the `results` that were found, its sources among them.

        :param understood: what the question means to the index.
        :param documents: what was found, best first; `hits` are their scores, and `duplicates`
            those that say the same as each.
        :param quotes: sentences of the documents that answer the question.
        """
        results = to_results(understood, documents, hits, duplicates)
        quotes = [quote for quote in quotes if _is_for_readers(quote, results)]
        answer = _quoted(quotes, results, question)
        answer.searched, answer.tags = understood.searched, understood.tags
        answer.corrections = understood.corrections
        return {"answer": answer, "results": results}


def _is_for_readers(quote: Quote, results: list[SearchResult]) -> bool:
    """Return whether a quotation is no part of prompt injections: that answers nobody."""
    text, planted = without_instructions(results[quote.source - 1].content, "")
    return not planted or Evidence(text).says(quote.text)


def _quoted(quotes: list[Quote], results: list[SearchResult], question: str) -> Answer:
    """Number the sources in the order in which the answer names them."""
    numbers: dict[int, int] = {}
    for quote in quotes:
        numbers.setdefault(quote.source, len(numbers) + 1)
    cited = [Quote(quote.text, numbers[quote.source], quote.line) for quote in quotes]
    sources = [results[source - 1] for source in numbers]
    return Answer(
        text="\n".join(f"{quote.text} [{quote.source}]" for quote in cited)
        or notice(question, "not_found"),
        sources=sources,
        confidence=fmean(source.score for source in sources) if sources else 0.0,
        found=bool(quotes),
        quotes=cited,
    )
