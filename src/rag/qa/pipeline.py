"""The question answering pipeline: its wiring, and the function that runs it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from haystack import Pipeline
from haystack.core.errors import PipelineRuntimeError

from rag.answers.follow_ups import is_small_talk, lacks_subject
from rag.answers.notices import notice
from rag.answers.quotation.question import Asked, Question, kind_of
from rag.clients.factory import chat_provider
from rag.clients.protocols import ChatProvider
from rag.config import OllamaConfig, RAGConfig, complete
from rag.context.memory import MemoryManager
from rag.context.models import ContextItem, MemoryProvider
from rag.context.steps import find_step
from rag.exceptions import ModelError, QueryError, RAGError, StorageError
from rag.qa.answer import Answer, AnswerStream, OnProgress, OnText
from rag.qa.extractive_answerer import QuotationAnswerer
from rag.query.syntax import not_text, parse_query
from rag.search.components.query_analyzer import QueryAnalyzer, check_top_k
from rag.search.matching_line import place_results
from rag.search.results import QueryFilters, SearchResponse
from rag.search.run import (
    ANALYZER,
    LOADER,
    Attempt,
    attempts,
    open_store,
    run_attempts,
    search_with,
    to_response,
)
from rag.stores.base.document_store import BaseDocumentStore, own_store
from rag.support.pipeline_parts import component_of, own_errors
from rag.text.messages import brief

if TYPE_CHECKING:
    from rag.qa.prompt_builder import Written
    from rag.query.note_questions import NoteQuestion
    from rag.search.planned_query import Intent


PROMPT, GENERATOR, CHECKER = "prompt_builder", "chat_generator", "answer_checker"
ANSWER = "answer_builder"


def create_qa_pipeline(
    store: BaseDocumentStore,
    config: RAGConfig | OllamaConfig | None = None,
    model: str = "",
    transforms: list[str] | None = None,
    template: str | None = None,
) -> Pipeline:
    """Make the question answering pipeline.

        query_analyzer -> … -> loader (as in the search pipeline)
            -> answer_builder (QuotationAnswerer); or, where a model is configured,
            -> answerer (QuotationAnswerer) -> answer_builder
            -> prompt_builder -> chat_generator -> answer_checker -> answer_builder

    Where the model finds the prompt too long, the answer_checker sends it back to the
    prompt_builder, which makes a shorter one. No server is asked before it runs. It serialises:
    `Pipeline.loads(pipeline.dumps(), allowed_modules=["rag"])`, and of the pipeline that is loaded
    `run({"query_analyzer": {"text": "…"}})["answer_builder"]["answer"]` is the `Answer`. Any chat
    generator of Haystack's may stand in the place of `chat_generator`.

    :param config: without it the settings in force; of an `OllamaConfig` alone, the others are.
        `ask.top_k` and `search.mode` count where a question names none.
    :param model: the chat model that must answer: what fails is then an error, while the
        configured one is stood in for by quotations.
    :param transforms: names of `rag.query.registry`; without it `ask.transforms`.
    :param template: of the prompt, in Jinja; see `AnswerPromptBuilder`.
    :raises UsageError: for a store of another package, a transform that does not exist, or a
        template that is empty or does not parse.
    :raises ConfigError: for such a transform or classifier in the settings.
    """
    store, config = own_store(store), complete(config)
    names = config.ask.transforms
    if names and transforms is None:
        from rag.search.components.query_expander import configured_transforms

        names = configured_transforms(names, "ask.transforms")
    chat = chat_provider(config)
    searching = replace(config, search=replace(config.search, transforms=names))
    if model:
        searching = chat.with_model(searching, model)
    analyzer = QueryAnalyzer(store, config.ask.top_k, config.search.mode, answers=True)
    pipeline = search_with(analyzer, searching, transforms)
    quoting = "answerer" if model or chat.is_configured else ANSWER
    pipeline.add_component(quoting, QuotationAnswerer(store, config.ask.max_quotes))
    pipeline.connect(f"{LOADER}.retrieval", f"{quoting}.retrieval")
    if quoting != ANSWER:
        _let_a_model_answer(pipeline, store, config, chat, model, template)
        pipeline.connect(f"{quoting}.answer", f"{ANSWER}.answer")
    return pipeline


def _let_a_model_answer(
    pipeline: Pipeline,
    store: BaseDocumentStore,
    config: RAGConfig,
    chat: ChatProvider,
    model: str,
    template: str | None,
) -> None:
    # Quotations alone need not wait for the imports of a model.
    from rag.qa.prompt_builder import AnswerPromptBuilder
    from rag.qa.written_answer import AnswerChecker, WrittenAnswerBuilder

    ask = config.ask
    for name in ask.steps:
        find_step(name)  # a name that there is not is an error now, not at the first answer
    tokens = ask.max_answer_tokens
    builder = AnswerPromptBuilder(
        config, model, tokens, steps=ask.steps, template=template, document_store=store
    )
    generator = chat.answer_generator(model, ask.think, ask.temperature, tokens)
    pipeline.add_component(PROMPT, builder)
    pipeline.add_component(GENERATOR, generator)
    pipeline.add_component(CHECKER, AnswerChecker(must_answer=bool(model)))
    pipeline.connect(f"{LOADER}.retrieval", f"{PROMPT}.retrieval")
    pipeline.connect(f"{PROMPT}.messages", f"{GENERATOR}.messages")
    pipeline.connect(f"{PROMPT}.prompt", f"{CHECKER}.prompt")
    pipeline.connect(f"{GENERATOR}.replies", f"{CHECKER}.replies")
    pipeline.connect(f"{CHECKER}.too_long", f"{PROMPT}.too_long")
    pipeline.add_component(ANSWER, WrittenAnswerBuilder())
    pipeline.connect(f"{CHECKER}.written", f"{ANSWER}.written")


# -- a run -----------------------------------------------------------------------------------

_MOST_LISTED = 30  # notes that are looked at where each that states a property may be an answer


def ask(
    pipeline: Pipeline,
    question: str,
    filters: QueryFilters | None = None,
    top_k: int | None = None,
    *,
    mode: str | None = None,
    keep_mode: bool = False,
    on_text: OnText | None = None,
    on_thinking: OnText | None = None,
    on_progress: OnProgress | None = None,
    on_piece: OnText | None = None,
    memory: MemoryProvider | None = None,
    told: set[str] | None = None,
    intent: Intent | None = None,
    about: NoteQuestion | None = None,
) -> Answer:
    """Answer a question from the notes.

    :param top_k: how many notes the answer may draw on; without it that of the settings.
    :param mode: as in `search`, and so are `keep_mode` and `intent`.
    :param on_text: called with what may be shown of a model's answer, as it is verified; Ctrl-C
        then ends the answer, and what there is of it is returned. Quotations do not stream.
    :param on_thinking: called with the model's reasoning as it comes; `on_piece` with each piece
        before it is verified, `on_progress` with how many sentences came and are held back.
    :param memory: facts that the user told, and what was said before; supports no answer.
    :param told: what a search said before and need not say again; it is added to.
    :param about: what the question asks of the notes themselves, from `note_question`: no model is
        asked. By filters alone all notes are listed then, where `top_k` is not given.
    :returns: the answer; `found` is false when the notes hold none. Small talk, and a question word
        alone, are answered without a search.
    :raises QueryError: when the question is empty or no text, or the search fails.
    :raises IndexUnavailableError: when there is no index, or it is damaged.
    :raises ConnectionError: when a model that must answer does not; see `create_qa_pipeline`.
    """
    if not isinstance(question, str):
        raise not_text("question", question)
    if not question.strip():
        raise QueryError("the question is empty", hint='Ask something: `rag ask "What is …?"`')
    if top_k is not None:
        check_top_k(top_k)
    store, generator = open_store(pipeline, ANSWER), component_of(pipeline, GENERATOR)
    analyzer: Any = pipeline.get_component(ANALYZER)
    shown, mode = (
        analyzer.top_k if top_k is None else top_k,
        analyzer.mode if mode is None else mode,
    )
    if is_small_talk(question):
        return Answer(notice(question, "small_talk"), [], 0.0)
    if lacks_subject(question):
        why = [notice(question, "lacks_subject")]
        return Answer(notice(question, "not_found"), [], 0.0, found=False, notices=why)
    if about is not None:
        from rag.qa.note_questions import answer_about_notes  # most questions do without it

        with store.pinned(), own_errors(QueryError, "the search failed"):
            return answer_about_notes(store, question, about, filters, intent, top_k, shown)
    asked_for = kind_of(question)
    may_list = top_k is None and asked_for == Asked.WHICH
    started = time.monotonic()
    remembered, forgotten = _remembered(memory if generator else None)
    stream = AnswerStream(on_text, on_thinking, on_progress, on_piece)
    with store.pinned(), stream.own_errors(), own_errors(QueryError, "the search failed"):
        if asked_for == Asked.HOW_MANY and not _must_answer(pipeline):
            from rag.qa.note_questions import count_stated  # few questions count

            chosen_by = intent.filters if intent else filters
            if counted := count_stated(store, question, chosen_by or QueryFilters(), shown):
                return counted
        if may_list and (manifest := store.manifest()):
            words = Question(question, store.frequencies().idf).weights
            stated = manifest.catalogue.stated_in(question.lower(), words)
            shown = max(shown, _MOST_LISTED) if sum(n for *_, n in stated) > 1 else shown
        writing = _writing(pipeline, remembered, stream)

        def run(attempt: Attempt) -> dict[str, Any]:
            asked = parse_query(question).text if intent else ""
            given = {**attempt.inputs, "top_k": shown, "question": asked}
            return _run(
                pipeline, {ANALYZER: {**given, "relaxed": attempt.relaxed}, **writing}, stream
            )

        tries = attempts(question, filters, mode, keep_mode, intent)
        outcome = run_attempts(tries, run)
        output, retrieval = outcome.outputs, outcome.retrieval
        response = to_response(outcome, question, output[ANSWER]["results"])
        ids = [result.chunk for result in response.results]
        vectors = store.embeddings_of(ids) if retrieval.query.embedding else {}
        place_results(store, response, retrieval, vectors)
    if told is not None:
        response.notices = [notice for notice in response.notices if notice not in told]
        told.update(response.notices)
    written: Written | None = output.get(CHECKER, {}).get("written")
    made: Answer = output[ANSWER]["answer"]
    route, variants, relaxed = response.route, response.variants, response.relaxed
    answer = replace(made, route=route, variants=variants, relaxed=relaxed)
    if not written or not response.results:
        return replace(answer, notices=response.notices, timings=response.timings)
    if answer.failure and not (answer.model or answer.partial) and _must_answer(pipeline):
        raise answer.failure
    answer.notices = [*response.notices, *forgotten, *answer.notices]
    return _timed(answer, response, written.began - started)


def _must_answer(pipeline: Pipeline) -> bool:
    return bool(getattr(component_of(pipeline, CHECKER), "must_answer", False))


def _takes(component: object, name: str) -> bool:
    """Return whether a component has an input of that name."""
    return name in getattr(component, "__haystack_input__", {})


def _writing(
    pipeline: Pipeline, remembered: list[ContextItem], stream: AnswerStream
) -> dict[str, Any]:
    """Return what the components that let a model answer are run with."""
    generator = component_of(pipeline, GENERATOR)
    if generator is None:  # the others may have been taken out of the pipeline
        waits = _takes(pipeline.get_component(ANSWER), "written")
        return {ANSWER: {"written": None}} if waits else {}
    listening = {"streaming_callback": stream} if _takes(generator, "streaming_callback") else {}
    return {
        PROMPT: {"remembered": remembered, "stream": stream},
        GENERATOR: listening,
        CHECKER: {"stream": stream},
    }


def _run(pipeline: Pipeline, inputs: dict[str, Any], stream: AnswerStream) -> dict[str, Any]:
    """Return what the components gave; when the chat generator fails, the others do without it."""
    outputs: dict[str, Any]
    try:
        outputs = pipeline.run(inputs, include_outputs_from={LOADER, CHECKER})
    except PipelineRuntimeError as error:
        if error.component_name != GENERATOR or stream.raised:
            raise
        failure = error.__cause__ or error
        if not isinstance(failure, RAGError):
            from rag.query.llm import name_of  # answers do without its imports

            why = brief(f"{type(failure).__name__}: {failure}")
            name = name_of(component_of(pipeline, GENERATOR))
            failure = ModelError(f"{name} failed", details=why)
        without = {**inputs[PROMPT], "failure": failure}
        outputs = pipeline.run({**inputs, PROMPT: without}, include_outputs_from={LOADER, CHECKER})
    return outputs


def _timed(answer: Answer, response: SearchResponse, seconds: float) -> Answer:
    """Add to an answer, and to the report of its prompt, what came before the model wrote."""
    transforms = response.timings.get("transforms", 0.0)
    answer.timings = {"retrieval": round(seconds * 1000, 1), **response.timings, **answer.timings}
    if report := answer.context:
        for item in (*report.window, *report.overflow):
            item.found_by = response.results[item.rank - 1].found_by if item.rank else []
        search = round(max(0.0, answer.timings["retrieval"] - transforms), 1)
        report.steps.insert(0, {"name": "search", "ms": search})
        if transforms:
            report.steps.insert(0, {"name": "transforms", "ms": transforms})
        report.steps.append({"name": "generation", "ms": answer.timings["generation"]})
    return answer


def _remembered(memory: MemoryProvider | None) -> tuple[list[ContextItem], list[str]]:
    """Return what is remembered, and what there is to say of it: an answer needs no memory."""
    try:
        return ([] if memory is None else memory.get_context_items()), []
    except StorageError as error:
        turns = memory.conversation if isinstance(memory, MemoryManager) else None
        return (turns.to_context_items() if turns else []), [str(error)]
