"""Answering: planning and what is remembered of the user included."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rag.app.index_state import IndexState, check_vaults
from rag.app.requests import AskRequest, ChatRequest, with_model
from rag.app.results import Plan, copied, placed, plan_of, unmatched
from rag.app.workspace import Workspace
from rag.qa.answer import Citation, NotesAsked, Quote
from rag.qa.pipeline import ask as run_ask
from rag.qa.pipeline import create_qa_pipeline
from rag.qa.sessions import open_memory
from rag.query.planner.words import may_ask_of_notes
from rag.search.relaxation import intent_of, is_name
from rag.search.results import QueryFilters, SearchResult
from rag.support.json_reports import hidden, inline, nullable, optional

if TYPE_CHECKING:
    from rag.config import RAGConfig
    from rag.exceptions import RAGError
    from rag.qa.answer import Answer
    from rag.qa.prompt import WindowReport
    from rag.query.note_questions import NoteQuestion
    from rag.search.planned_query import Intent
    from rag.search.results import SearchedVariant
    from rag.stores.base.document_store import BaseDocumentStore


@dataclass(frozen=True, kw_only=True)
class ModelWork:
    """What there is to tell of a model that was asked.

    :param verified: the share of its `sentences` that carry a source which supports them.
    :param struck: what was taken out.
    :param partial: whether the answer lacks its end.
    :param finish_reason: then `length`, `interrupted` or `error`.
    :param usage: `prompt_tokens`, `tokens` and `num_ctx`.
    :param timings: milliseconds by step.
    """

    verified: float
    sentences: int
    citations: list[Citation]
    struck: list[str]
    partial: bool
    finish_reason: str
    usage: dict[str, int | None]
    timings: dict[str, float]
    thinking: str | None = optional(None)
    error: RAGError | None = optional(None)


@dataclass(frozen=True, kw_only=True)
class WrittenAnswer:
    """An answer, and what it rests on.

    :param found: false when the notes hold no answer.
    :param model: that wrote it; `null`: it is all quotation.
    :param confidence: the probability that the first quotation answers the question; of what a
        model wrote, the mean score of its sources.
    :param near: where the notes hold no answer, those nearest to the question.
    :param notes: set where the question was about the notes themselves, which are the sources.
    :param corrections: words that no note holds, with what was searched for instead.
    """

    answer: str
    found: bool
    model: str = nullable()
    confidence: float
    quotes: list[Quote]
    sources: list[SearchResult]
    near: list[SearchResult] = optional(factory=list)
    notes: NotesAsked | None = optional(None)
    corrections: dict[str, str]
    notices: list[str]
    route: str = optional("")
    variants: list[SearchedVariant] = optional(factory=list)
    work: ModelWork | None = inline(None)


@dataclass(frozen=True, kw_only=True)
class AnswerReport:
    """A question, and its answer."""

    question: str
    written: WrittenAnswer = inline()
    elapsed_ms: int
    index: IndexState
    plan: Plan | None = optional(None)
    context: ShownContext | None = inline(None)
    answer: Answer = hidden()


@dataclass(frozen=True)
class ShownContext:
    """What a model was shown; `null` when none was asked."""

    context: WindowReport | None


def ask(
    workspace: Workspace,
    request: AskRequest,
    on_plan: Callable[[Intent], None] | None = None,
    **listeners: Any,
) -> AnswerReport:
    """Answer a question from the notes, by a chat model or by quotation.

    :param on_plan: is given how the question was planned, before it is answered.
    :param listeners: `on_text`, `on_thinking`, `on_progress`, `on_piece` of `rag.qa.pipeline.ask`.
    """
    started = time.monotonic()
    store, state, names = workspace.store, workspace.state, request.transforms
    config = with_model(workspace.config, request.no_model, request.think)
    filters = request.filters or QueryFilters()
    check_vaults(config, filters.vaults, state.roots)
    pipeline = workspace.pipeline(
        lambda: create_qa_pipeline(store, config, request.model, names),
        *("ask", request.model, request.no_model, request.think, repr(names)),
    )
    read = read_question(store, config, request.question, request)
    if read.plan and on_plan:
        on_plan(read.plan)
    answer = run_ask(
        pipeline,
        request.question,
        filters,
        request.top_k,
        mode=config.search.mode,
        memory=open_memory(config.data_dir),
        intent=read.plan,
        about=read.about,
        **listeners,
    )
    state.mark_gone([*answer.sources, *answer.near])
    answer.notices = [*read.notices, *answer.notices]
    if not answer.found:
        with workspace.manifest() as manifest:
            question, plan = request.question, read.plan
            answer.notices += unmatched(manifest, question, filters, answer.tags, plan, state)
    return AnswerReport(
        question=request.question,
        written=written_answer(answer, state, request.think),
        elapsed_ms=round((time.monotonic() - started) * 1000),
        index=state,
        plan=plan_of(read.plan, answer.relaxed),
        context=ShownContext(answer.context) if request.explain else None,
        answer=answer,
    )


class Reading(NamedTuple):
    """What a question filters by, what it asks of the notes themselves, and why it does not."""

    plan: Intent | None
    about: NoteQuestion | None
    notices: list[str]


def read_question(
    store: BaseDocumentStore,
    config: RAGConfig,
    question: str,
    request: AskRequest | ChatRequest,
    is_planned: bool = False,
) -> Reading:
    """Return what a question means. A model that is named is to answer whatever is asked.

    :param is_planned: whether the question goes on from one that was planned.
    """
    about, may_plan = None, request.plan is not False and config.planner.plan != "never"
    if may_plan and not request.model and may_ask_of_notes(question):
        from rag.query.note_questions import note_question

        about = None if is_name(store, question) else note_question(question)
    of_notes = may_plan and (is_planned or about is not None)
    filters = request.filters or QueryFilters()
    plan, notices = intent_of(store, config, question, filters, request.plan, of_notes)
    return Reading(plan, about, notices)


def written_answer(answer: Answer, index: IndexState, think: bool) -> WrittenAnswer:
    """Return an answer as schema 1 has it; with `think`, the model's reasoning too."""
    thinking, error = answer.thinking if think else None, answer.failure
    work = copied(ModelWork, answer, thinking=thinking, error=error) if answer.usage else None
    return copied(
        WrittenAnswer,
        answer,
        answer=answer.text,
        sources=[placed(source, index, number=n) for n, source in enumerate(answer.sources, 1)],
        near=[placed(hit, index) for hit in answer.near],
        work=work,
    )
