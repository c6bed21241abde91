"""Answering: planning and what is remembered of the user included."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.app.choices import with_model
from rag.app.index_state import IndexState
from rag.app.opening import begin
from rag.app.requests import AskRequest
from rag.app.snapshot import Snapshot
from rag.qa.pipeline import create_qa_pipeline
from rag.qa.run import ask as run_ask
from rag.qa.user_facts import open_memory

if TYPE_CHECKING:
    from haystack import Pipeline

    from rag.answers.verdicts import Progress
    from rag.qa.answer import Answer
    from rag.search.planned_query import Intent

OnText = Callable[[str], None]


@dataclass(frozen=True)
class AnswerReport:
    """An answer; the others are those of a `rag.app.search.SearchReport`."""

    request: AskRequest
    answer: Answer
    plan: Intent | None
    index: IndexState
    milliseconds: int


def ask(
    snapshot: Snapshot,
    request: AskRequest,
    on_text: OnText | None = None,
    on_thinking: OnText | None = None,
    on_plan: Callable[[Intent], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_piece: OnText | None = None,
) -> AnswerReport:
    """Answer from a snapshot; see `Workspace.ask`."""
    started = time.monotonic()
    config = with_model(snapshot.config, request.model, request.no_model, request.think)
    model = request.model

    def make(transforms: list[str] | None) -> Pipeline:
        return create_qa_pipeline(snapshot.store, config, model, transforms)

    key = ("ask", model, request.no_model, request.think)
    opening = begin(snapshot, config, request, request.question, make, *key)
    if opening.plan and on_plan:
        on_plan(opening.plan)
    answer = run_ask(
        opening.pipeline,
        request.question,
        opening.filters,
        request.top_k,
        mode=config.search.mode,
        on_text=on_text,
        on_thinking=on_thinking,
        on_progress=on_progress,
        on_piece=on_piece,
        memory=open_memory(config.data_dir),
        intent=opening.plan,
        about=opening.about,
    )
    opening.state.mark_gone([*answer.sources, *answer.near])
    answer.notices = [*opening.notices, *answer.notices]
    if answer.tags and not answer.found:
        from rag.app.interpretation_text import unknown_tags

        answer.notices += unknown_tags(answer.tags, opening.plan, opening.state)
    milliseconds = round((time.monotonic() - started) * 1000)
    return AnswerReport(request, answer, opening.plan, opening.state, milliseconds)
