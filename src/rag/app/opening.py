"""How a search and a question begin: the model is chosen, the vaults are checked, the query is read
and planned."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from rag.app.index_state import IndexState, check_vaults
from rag.app.requests import AskRequest, ChatRequest, SearchRequest, names_of
from rag.app.workspace import Workspace
from rag.config import RAGConfig
from rag.query.note_hints import may_ask_of_notes
from rag.search.relaxation import intent_of, is_name
from rag.search.results import QueryFilters

if TYPE_CHECKING:
    from haystack import Pipeline

    from rag.query.note_questions import NoteQuestion
    from rag.search.planned_query import Intent
    from rag.stores.base.document_store import BaseDocumentStore


@dataclass(frozen=True)
class Opening:
    """What a request is run with.

    :param plan: how its words were planned, if they were; `notices` say why not.
    :param about: what is asked of the notes themselves, if that is asked.
    """

    state: IndexState
    pipeline: Pipeline
    filters: QueryFilters
    plan: Intent | None
    notices: list[str]
    about: NoteQuestion | None = None


class Reading(NamedTuple):
    """What the words of a request mean; see `Opening`."""

    plan: Intent | None
    about: NoteQuestion | None
    notices: list[str]


def begin(
    workspace: Workspace,
    config: RAGConfig,
    request: SearchRequest | AskRequest,
    words: str,
    make_pipeline: Callable[[list[str] | None], Pipeline],
    *key: Hashable,
) -> Opening:
    """Check a request, open its pipeline and plan its words.

    :param words: the query, or the question.
    :param make_pipeline: is given the names of the transforms that were chosen, if any were.
    :param key: what pipelines of this kind differ by, transforms aside.
    :raises UsageError: for a vault or a transform that does not exist.
    """
    filters = request.filters or QueryFilters()
    check_vaults(filters.vaults, workspace.state.roots)
    transforms = names_of(request.transforms)
    chosen = (None,) if transforms is None else transforms
    pipeline = workspace.pipeline(lambda: make_pipeline(transforms), *key, *chosen)
    if isinstance(request, AskRequest):
        read = read_question(workspace.store, config, words, filters, request)
    else:
        plan, notices = intent_of(workspace.store, config, words, filters, request.plan)
        read = Reading(plan, None, notices)
    return Opening(workspace.state, pipeline, filters, read.plan, read.notices, read.about)


def with_model(config: RAGConfig, model: str, no_model: bool, think: bool) -> RAGConfig:
    """Return the settings with the model that was chosen for a question.

    :param model: which must answer; "" for that of the settings.
    :param no_model: ask none.
    """
    from rag.clients.factory import chat_provider  # a list of conversations does without

    if model:  # whoever insists on one wants it asked, whatever was found a minute ago
        chat_provider(config).forget_silence()
    if no_model:
        config = chat_provider(config).with_model(config, "")
    return replace(config, ask=replace(config.ask, think=think or config.ask.think))


def read_question(
    store: BaseDocumentStore,
    config: RAGConfig,
    question: str,
    filters: QueryFilters,
    request: AskRequest | ChatRequest,
    is_planned: bool = False,
) -> Reading:
    """Return what a question filters by, and what it asks of the notes themselves.

    Where the request names a model, that is to answer whatever is asked; without planning words
    mean nothing but themselves.

    :param is_planned: whether the question goes on from one that was planned.
    """
    about, may_plan = None, request.plan is not False and config.planner.plan != "never"
    if may_plan and not request.model and may_ask_of_notes(question):
        from rag.query.note_questions import note_question

        about = None if is_name(store, question) else note_question(question)
    of_notes = may_plan and (is_planned or about is not None)
    plan, notices = intent_of(store, config, question, filters, request.plan, of_notes)
    return Reading(plan, about, notices)
