"""The function that runs the question answering pipeline."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from haystack import Document, Pipeline

from rag.answers.evidence import Evidence
from rag.answers.language import language_of
from rag.answers.notices import notice
from rag.answers.prompt_injection import without_instructions
from rag.context.memory import MemoryManager
from rag.context.models import ContextItem
from rag.context.protocols import MemoryProvider
from rag.exceptions import QueryError, Remedy, StorageError, with_hint
from rag.qa.answer import Answer, Citation, Quote
from rag.qa.answer_stream import AnswerStream, OnText
from rag.qa.context_report import WindowReport
from rag.qa.pipeline import CHECKER, GENERATOR, PROMPT, share_model
from rag.query.syntax import parse_query
from rag.search.components.query_analyzer import check_top_k
from rag.search.modes import SearchMode
from rag.search.planning import ANALYZER, Planned, planned
from rag.search.query_understanding import understand
from rag.search.relaxation import Attempt, attempts, in_a_mode
from rag.search.results import QueryFilters, SearchResponse
from rag.search.run import TOLD, analysed, open_store, tell_found, to_response
from rag.support.pipeline_errors import own_errors
from rag.support.pipeline_parts import component_of, takes

if TYPE_CHECKING:
    from rag.qa.answer_checker import Written
    from rag.qa.prompt_builder import AnswerPrompt
    from rag.search.planned_query import Intent


def ask(
    pipeline: Pipeline,
    question: str,
    filters: QueryFilters | None = None,
    top_k: int = 5,
    *,
    mode: str = SearchMode.AUTO,
    keep_mode: bool = False,
    on_text: OnText | None = None,
    on_thinking: OnText | None = None,
    memory: MemoryProvider | None = None,
    told: set[str] | None = None,
    intent: Intent | None = None,
) -> Answer:
    """Answer a question from the notes.

    :param pipeline: from `create_qa_pipeline`.
    :param top_k: how many notes the answer may draw on.
    :param mode: how notes are searched, as in `search`.
    :param keep_mode: let no route change the mode, as in `search`.
    :param on_text: called with what may be shown of a model's answer, as it is verified; Ctrl-C
        then ends the answer, and what there is of it is returned. Quotations do not stream.
    :param on_thinking: called with the model's reasoning as it comes.
    :param memory: what a model is to know beside the notes: facts that the user told, and what
        was said before, such as `rag.context.MemoryManager`. Nothing of it bears out an answer.
    :param told: what a search said before and need not say again; it is added to.
    :param intent: what the question and the filters mean, as in `search`.
    :returns: the answer; `found` is false, and the text says so, when the notes hold none.
    :raises QueryError: when the question is empty or the search fails.
    :raises IndexUnavailableError: when there is no index, or it is damaged.
    :raises ConnectionError: when a model that must answer does not; see `create_qa_pipeline`.
    """
    if not question.strip():
        raise QueryError(
            "the question is empty", hint="Ask something.", remedy=Remedy.TYPE_QUESTION
        )
    check_top_k(top_k)
    store, generator = open_store(pipeline), generator_of(pipeline)
    started = time.monotonic()
    remembered, forgotten = _remembered(memory if generator else None)
    if generator is not None:
        share_model(pipeline)
    stream, language = AnswerStream(on_text, on_thinking), language_of(question)
    with store.pinned(), _caller_errors(stream), own_errors(QueryError, "the search failed"):
        for attempt in attempts(question, filters, mode, keep_mode, intent, language=language):
            understood = understand(store, attempt.query, attempt.filters, attempt.lists)
            asked = parse_query(question).text if intent else understood.text
            analysis = {
                **analysed(understood, attempt, top_k),
                "question": asked,
                "lists": attempt.lists,
                "relaxed": attempt.relaxed,
            }
            inputs = {ANALYZER: analysis, **(_writing(generator, remembered, stream))}
            output, searched = _answered(pipeline, inputs, attempt)
            if output["loader"]["documents"]:
                break
        written: Written | None = output.get(CHECKER, {}).get("written")
        while written and written.prompt:
            written = _shorter(pipeline, output["loader"]["documents"], inputs, written.prompt)
        response = to_response(output["loader"], understood, searched, attempt, question)
        tell_found(store, response, output["loader"]["hits"], searched)
    if told is not None:
        response.notices = [notice for notice in response.notices if notice not in told]
        told.update(response.notices)
    quotes = [q for q in output["answerer"]["quotes"] if _is_for_readers(q, response)]
    if not written or not response.results:
        return replace(
            _quoted(quotes, response), notices=response.notices, timings=response.timings
        )
    must = bool(getattr(component_of(pipeline, CHECKER), "must_answer", False))
    answer = _written(written, quotes, response, must)
    answer.notices = [*response.notices, *forgotten, *answer.notices]
    return _timed(answer, response, written.began - started)


def generator_of(pipeline: Pipeline) -> Any | None:
    """Return the chat generator that lets a model answer, if the pipeline has one."""
    return component_of(pipeline, GENERATOR)


@contextmanager
def _caller_errors(stream: AnswerStream) -> Iterator[None]:
    """Raise what a callback of the caller's raised as it is."""
    try:
        yield
    except Exception as error:
        if stream.raised:
            raise stream.raised from error
        raise


def _writing(
    generator: Any | None, remembered: list[ContextItem], stream: AnswerStream
) -> dict[str, Any]:
    """Return what the components that let a model answer are run with."""
    if generator is None:
        return {}
    listening = {"streaming_callback": stream} if takes(generator, "streaming_callback") else {}
    return {
        PROMPT: {"remembered": remembered, "stream": stream},
        GENERATOR: listening,
        CHECKER: {"stream": stream},
    }


def _answered(
    pipeline: Pipeline, inputs: dict[str, Any], attempt: Attempt
) -> tuple[dict[str, Any], Planned]:
    """Return what the components gave, and what there is to tell of how notes were searched."""

    def run(attempt: Attempt) -> dict[str, Any]:
        modes = {"mode": attempt.mode, "keep_mode": attempt.keep_mode}
        given = {**inputs, ANALYZER: {**inputs[ANALYZER], **modes}}
        outputs: dict[str, Any] = pipeline.run(given, include_outputs_from=TOLD)
        return outputs

    output, notices = in_a_mode(attempt, run)
    searched = planned(output)
    return output, searched._replace(notices=[*notices, *searched.notices])


def _shorter(
    pipeline: Pipeline, documents: list[Document], inputs: dict[str, Any], too_long: AnswerPrompt
) -> Written:
    """Ask again with half of the notes that the server found too long."""
    builder, generator, checker = map(pipeline.get_component, (PROMPT, GENERATOR, CHECKER))
    made = builder.run(too_long.question, documents, **inputs[PROMPT], too_long=too_long)
    replies: Mapping[str, Any] = {}
    if "messages" in made:
        replies = generator.run(made["messages"], **inputs[GENERATOR])
    written: Written = checker.run(made["prompt"], **replies, **inputs[CHECKER])["written"]
    return written


def _timed(answer: Answer, response: SearchResponse, seconds: float) -> Answer:
    """Add to an answer what came before the model wrote, and took so long."""
    timings = {"retrieval": round(seconds * 1000, 1), **response.timings, **answer.timings}
    context = answer.context and _completed(answer.context, response, timings)
    return replace(answer, timings=timings, context=context)


def _completed(
    report: WindowReport, response: SearchResponse, timings: dict[str, float]
) -> WindowReport:
    """Tell in the report of the prompt what came before it and after it."""
    transforms = response.timings.get("transforms", 0.0)
    search = round(max(0.0, timings["retrieval"] - transforms), 1)
    before = {**({"transforms": transforms} if transforms else {}), "search": search}
    return report.with_finders([result.found_by for result in response.results]).with_times(
        before, {"generation": timings["generation"]}
    )


def _remembered(memory: MemoryProvider | None) -> tuple[list[ContextItem], list[str]]:
    """Return what is remembered, and what there is to say of it: an answer needs no memory."""
    try:
        return ([] if memory is None else memory.get_context_items()), []
    except StorageError as error:
        said = memory.conversation if isinstance(memory, MemoryManager) else None
        return (said.to_context_items() if said else []), [str(error)]


def _written(written: Written, quotes: list[Quote], response: SearchResponse, must: bool) -> Answer:
    """Make the answer of what a model wrote; where that is nothing, of quotations."""
    found, model = written.verification, written.model
    common: dict[str, Any] = _facts(written)
    if found.believed:
        return _generated(written, response, common)
    if written.interrupted:
        return replace(_not_found(response), **common, partial=True, model=model)
    if written.failure and must:
        raise written.failure
    if found.refused and not written.failure:
        return replace(_not_found(response), **common, model=model)
    why = _why_not(written, response.query)
    common["notices"] = [*common["notices"], why]
    return replace(_quoted(quotes, response), **common)


def _why_not(written: Written, question: str) -> str:
    """Say in one line why quotations stand in for a model, and what mends it."""
    if error := written.failure:
        return with_hint(str(error), error.hint) if error.hint else str(error)
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
    return {
        "struck": written.verification.struck,
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


def _generated(written: Written, response: SearchResponse, common: dict[str, Any]) -> Answer:
    found = written.verification
    sources = [response.results[written.ranks[number - 1] - 1] for number in found.order]
    return Answer(
        text=found.text.strip(),
        sources=sources,
        confidence=fmean(source.score for source in sources),
        model=written.model,
        searched=response.searched,
        corrections=response.corrections,
        tags=response.tags,
        route=response.route,
        variants=response.variants,
        relaxed=response.relaxed,
        verified=found.verified,
        sentences=len(found.claims),
        citations=[
            Citation(number, claim.text, claim.supported)
            for claim in found.claims
            for number in claim.sources
        ],
        partial=common["finish_reason"] != "stop",
        **common,
    )


def _is_for_readers(quote: Quote, response: SearchResponse) -> bool:
    """Tell whether a quotation is no part of what instructs a model: that answers nobody."""
    text, planted = without_instructions(response.results[quote.source - 1].content, "")
    return not planted or Evidence(text).says(quote.text)


def _quoted(quotes: list[Quote], response: SearchResponse) -> Answer:
    """Number the sources in the order in which the answer names them."""
    numbers: dict[int, int] = {}
    for quote in quotes:
        numbers.setdefault(quote.source, len(numbers) + 1)
    cited = [Quote(quote.text, numbers[quote.source], quote.line) for quote in quotes]
    sources = [response.results[source - 1] for source in numbers]
    return Answer(
        text="\n".join(f"{quote.text} [{quote.source}]" for quote in cited)
        or notice(response.query, "not_found"),
        sources=sources,
        confidence=fmean(source.score for source in sources) if sources else 0.0,
        found=bool(quotes),
        quotes=cited,
        searched=response.searched,
        corrections=response.corrections,
        tags=response.tags,
        route=response.route,
        variants=response.variants,
        relaxed=response.relaxed,
    )


def _not_found(response: SearchResponse) -> Answer:
    return _quoted([], response)
