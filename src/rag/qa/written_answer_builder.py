"""The component that makes the answer of what a model wrote."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import Any

from haystack import component
from haystack.dataclasses import Document

from rag.answers.notices import notice
from rag.exceptions import ConnectionError, RAGError, Standing, UnfinishedError
from rag.qa.answer import Answer, Citation, Quote
from rag.qa.answer_builder import OUTPUTS, AnswerBuilder
from rag.qa.answer_checker import Written
from rag.search.components.note_ranker import Hits
from rag.search.results import SearchResult
from rag.search.understanding.query_understanding import Understood


@component
class WrittenAnswerBuilder(AnswerBuilder):
    """Make an answer of what a model wrote and the notes support; else of quotations.

    What kept a model from answering is in the answer's `notices`, and an error in its `failure`.
    """

    @component.output_types(**OUTPUTS)
    def run(  # type: ignore[override]
        self,
        question: str,
        understood: Understood,
        documents: list[Document],
        hits: Hits,
        duplicates: list[list[Document]],
        quotes: list[Quote],
        places: list[list[Document]],
        confidence: float,
        written: Written | None,
    ) -> dict[str, Any]:
        """Return the `answer`, and the `results` that were found, its sources among them.

        :param written: what became of a model's work; `None` where none is asked.

        The other parameters are those of `AnswerBuilder`.
        """
        found = (documents, hits, duplicates, quotes, places, confidence)
        made = AnswerBuilder.run(self, question, understood, *found)
        if written and made["results"]:
            made["answer"] = _written(written, made["answer"], made["results"], question)
        return made


def _written(
    written: Written, quotations: Answer, results: list[SearchResult], question: str
) -> Answer:
    """Make the answer of what a model wrote; where that is nothing, of quotations."""
    found, model = written.verification, written.model
    common: dict[str, Any] = _facts(written)
    if found.unverified:
        common["notices"].append(notice(question, "unverified", model=model))
    if found.believed or found.unverified:
        return _generated(written, quotations, results, common)
    if written.interrupted:
        return replace(_without_quotes(quotations, question), **common, partial=True, model=model)
    if found.refused and not written.failure:
        return replace(_without_quotes(quotations, question), **common, model=model)
    why = _why_not(written, question)
    common["notices"] = [*common["notices"], why]
    if not quotations.found and _says_nothing(written):
        common["failure"] = UnfinishedError(why)
    if not quotations.found and common["failure"] and _was_asked(written, common["failure"]):
        common["text"] = str(common["failure"])
    return replace(quotations, **common)


def _was_asked(written: Written, failure: RAGError) -> bool:
    """Return whether a model was at work; one that cannot be reached has broken nothing off."""
    return bool(written.response.num_ctx) or isinstance(failure, UnfinishedError)


def _says_nothing(written: Written) -> bool:
    """Return whether a model was asked, and its answer is empty."""
    response = written.response
    return bool(not written.failure and response.finish_reason and not response.text.strip())


def _without_quotes(quotations: Answer, question: str) -> Answer:
    text = notice(question, "not_found")
    return replace(quotations, text=text, sources=[], confidence=0.0, found=False, quotes=[])


def _why_not(written: Written, question: str) -> str:
    """Say in one line why quotations stand in for a model, and what mends it."""
    if error := written.failure:
        why = error.as_notice()
        return Standing(why) if isinstance(error, ConnectionError) else why
    if not written.response.text.strip():
        return notice(question, "no_answer", model=written.model)
    return notice(question, "not_supported", model=written.model)


def _facts(written: Written) -> dict[str, Any]:
    """Return what there is to tell of a model's work, whatever became of it."""
    response = written.response
    reason = response.finish_reason
    if written.interrupted:
        reason = "interrupted"
    elif written.failure:
        reason = "error"
    elif written.stopped:
        reason = "stopped"
    return {
        "struck": written.verification.removed,
        "thinking": response.thinking,
        "finish_reason": reason or ("length" if response.text else ""),
        "failure": written.failure,
        "usage": {
            "prompt_tokens": response.prompt_tokens,
            "tokens": response.tokens,
            "num_ctx": response.num_ctx,
        },
        "timings": {
            "load": round(response.load_seconds * 1000, 1),
            "generation": round(response.seconds * 1000, 1),
        },
        "context": written.context and written.context.with_cited(written.verification.order),
        "notices": list(written.notices),
    }


def _generated(
    written: Written, quotations: Answer, results: list[SearchResult], common: dict[str, Any]
) -> Answer:
    found = written.verification
    sources = [results[written.ranks[number - 1] - 1] for number in found.order]
    return replace(
        quotations,
        text=found.text.strip(),
        sources=sources,
        confidence=fmean(source.score for source in sources) if sources else 0.0,
        found=True,
        quotes=[],
        near=[],
        model=written.model,
        verified=found.verified,
        sentences=len(found.claims),
        citations=[
            Citation(number, claim.text, claim.supported, claim.doubt)
            for claim in found.claims
            for number in claim.sources
        ],
        partial=common["finish_reason"] != "stop",
        **common,
    )
