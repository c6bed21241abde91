"""Answering: planning and what is remembered of the user included."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rag.app.index_state import IndexState, check_vaults
from rag.app.requests import AskRequest, ChatRequest, with_model
from rag.app.results import Plan, copied, plan_of, unmatched
from rag.app.workspace import Workspace
from rag.qa.answer import Answer, ModelWork
from rag.qa.pipeline import ask as run_ask
from rag.qa.pipeline import create_qa_pipeline
from rag.qa.sessions import open_memory
from rag.query.planner.words import may_ask_of_notes
from rag.search.results import QueryFilters
from rag.search.run import intent_of, is_name
from rag.support.json_reports import inline, optional

if TYPE_CHECKING:
    from rag.config import RAGConfig
    from rag.qa.prompt import WindowReport
    from rag.query.note_questions import NoteQuestion
    from rag.search.planned_query import Intent
    from rag.stores.base.document_store import BaseDocumentStore


@dataclass(frozen=True, kw_only=True)
class AnswerReport:
    """A question, and its answer."""

    question: str
    answer: Answer = inline()
    elapsed_ms: int
    index: IndexState
    plan: Plan | None = optional(None)
    context: ShownContext | None = inline(None)


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
    complete_answer(answer, state, request.think)
    answer.notices = [*read.notices, *answer.notices]
    if not answer.found:
        with workspace.manifest() as manifest:
            question, plan = request.question, read.plan
            answer.notices += unmatched(manifest, question, filters, answer.tags, plan, state)
    return AnswerReport(
        question=request.question,
        answer=answer,
        elapsed_ms=round((time.monotonic() - started) * 1000),
        index=state,
        plan=plan_of(read.plan, answer.relaxed) if read.plan else None,
        context=ShownContext(answer.context) if request.explain else None,
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


def complete_answer(answer: Answer, index: IndexState, think: bool) -> None:
    """Add to an answer what schema 1 has of it besides: files and numbers of its sources, and the
    work of a model; with `think`, its reasoning too."""
    index.mark_gone([*answer.sources, *answer.near])
    for hit in (*answer.sources, *answer.near):
        hit.file = str(index.file(hit))
    for number, source in enumerate(answer.sources, 1):
        source.number = number
    if answer.usage:
        thinking = answer.thinking if think else None
        answer.work = copied(ModelWork, answer, thinking=thinking, error=answer.failure)
