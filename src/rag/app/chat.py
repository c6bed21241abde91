"""A conversation, the conversations that are kept, and what is remembered of the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rag.app.requests import ChatRequest, with_model
from rag.config import RAGConfig
from rag.qa.sessions import (
    Session,
    forget,
    latest_session,
    list_sessions,
    new_session,
    open_session,
    remember,
)
from rag.support.closing import Closing
from rag.support.json_reports import hidden, inline, optional

# The engine is imported with the first question: conversations are listed without it.
if TYPE_CHECKING:
    from rag.app.ask import Reading, ShownContext
    from rag.app.index_state import IndexState
    from rag.app.results import Plan
    from rag.qa.answer import Answer
    from rag.search.planned_query import Intent
    from rag.search.results import SearchResult


@dataclass(frozen=True, kw_only=True)
class TurnReport:
    """A question of a conversation, as `asked` so that it stands by itself, and its answer."""

    session: str
    question: str
    asked: str
    answer: Answer = inline()
    plan: Plan | None = optional(None)
    context: ShownContext | None = inline(None)


@dataclass(frozen=True)
class KeptSession:
    """A conversation that is kept, and notices of what is wrong with its file."""

    id: str
    questions: list[str]
    notices: list[str]


@dataclass(frozen=True)
class SessionsReport:
    """The conversations that are kept, the latest first."""

    sessions: list[KeptSession]


@dataclass(frozen=True)
class Fact:
    """Something that the user told, and when."""

    number: int
    text: str
    at: str


@dataclass(frozen=True)
class ChatSource:
    """A source of an answer, and the number it has there."""

    number: int
    vault: str
    path: str
    line: int
    title: str


@dataclass(frozen=True)
class Cleared:
    """A conversation that begins.

    :param old: the id of the one before, if it was kept.
    """

    session: str
    old: str | None


@dataclass(frozen=True, kw_only=True)
class CommandReport:
    """What a command in a conversation did or lists.

    :param facts: those of the user, the oldest first.
    :param sources: those of the last answer.
    :param commands: that a front-end knows, and what each does.
    """

    command: str
    facts: list[Fact] | None = optional(None)
    remembered: str = optional("")
    forgotten: str = optional("")
    sources: list[ChatSource] | None = optional(None)
    cleared: Cleared | None = inline(None)
    commands: Mapping[str, str] | None = optional(None)
    results: list[SearchResult] | None = hidden(None)


class Chat(Closing):
    """One conversation. Use it as a context manager; it holds the store and the models."""

    def __init__(self, config: RAGConfig, request: ChatRequest) -> None:
        from rag.app.index_state import check_vaults, open_index, read_state
        from rag.qa.conversation import Conversation
        from rag.qa.pipeline import create_qa_pipeline
        from rag.stores import get_document_store

        config = with_model(config, request.no_model, request.think)
        self._config, self._request = config, request
        self._plan: Intent | None = None  # of the last question
        self._before: Intent | None = None  # of the one before it
        self._on_plan: Callable[[Intent], None] | None = None
        if request.session:
            session = open_session(config.data_dir, request.session)
        else:
            session = (latest_session if request.go_on else new_session)(config.data_dir)
        with open_index(config) as manifest:
            self.state: IndexState = read_state(manifest, config)
        vaults = request.filters.vaults if request.filters else None
        check_vaults(config, vaults, self.state.roots)
        with ExitStack() as opened:  # what was opened is closed if the rest fails
            self._store = opened.enter_context(get_document_store(config))
            pipeline = create_qa_pipeline(self._store, config, request.model, request.transforms)
            opened.enter_context(closing(pipeline))
            self._opened = opened.pop_all()
        asked = (request.filters, request.top_k, config.search.mode)
        self._conversation = Conversation(pipeline, session, *asked, read=self._read)

    def _read(self, question: str, goes_on: bool) -> Reading:
        """Return what a question means; one that goes on from another keeps its time and tags."""
        from rag.app.ask import read_question

        is_planned = goes_on and self._before is not None
        reading = read_question(self._store, self._config, question, self._request, is_planned)
        self._plan = reading.plan
        if reading.plan and self._on_plan:
            self._on_plan(reading.plan)
        return reading

    @property
    def session(self) -> Session:
        """The conversation as it is kept."""
        return self._conversation.session

    def ask(
        self,
        question: str,
        on_question: Callable[[str], None] | None = None,
        on_plan: Callable[[Intent], None] | None = None,
        **listeners: Any,
    ) -> TurnReport:
        """Answer a question, as `Conversation.ask` and `rag.app.ask.ask` do; after an error the
        conversation goes on all the same."""
        from rag.app.ask import ShownContext, complete_answer
        from rag.app.results import plan_of

        self._before, self._plan, self._on_plan = self._plan, None, on_plan
        answer = self._conversation.ask(question, on_question, **listeners)
        complete_answer(answer, self.state, self._request.think)
        return TurnReport(
            session=self.session.id,
            question=question,
            asked=self.session.turns[-1].asked,
            answer=answer,
            plan=plan_of(self._plan, answer.relaxed) if self._plan else None,
            context=ShownContext(answer.context) if self._request.explain else None,
        )

    def facts(self) -> CommandReport:
        """List the facts of the user."""
        facts = enumerate(self._conversation.memory.get_all_facts(), 1)
        listed = [Fact(n, fact.content, fact.created_at.isoformat()) for n, fact in facts]
        return CommandReport(command="facts", facts=listed)

    def remember(self, text: str) -> CommandReport:
        """Keep a fact; see `rag.qa.sessions.remember`."""
        fact = remember(self._conversation.memory, text)
        return CommandReport(command="remember", remembered=fact.content)

    def forget(self, which: str) -> CommandReport:
        """Forget a fact; see `rag.qa.sessions.forget`."""
        fact = forget(self._conversation.memory, which)
        return CommandReport(command="forget", forgotten=fact.content)

    def sources(self) -> CommandReport:
        """List the sources of the last answer."""
        results = self._conversation.last_sources()
        sources = [
            ChatSource(number, source.vault, source.file_path, source.line, source.title)
            for number, source in enumerate(results or [], 1)
        ]
        return CommandReport(command="sources", sources=sources, results=results)

    def clear(self) -> CommandReport:
        """Begin another conversation; facts stay."""
        old = self.session
        self._conversation.clear()
        cleared = Cleared(self.session.id, old.id if old.turns else None)
        return CommandReport(command="clear", cleared=cleared)

    def close(self) -> None:
        """Release the store and the models' connections."""
        self._opened.close()


def kept_sessions(config: RAGConfig) -> SessionsReport:
    """List the conversations that are kept."""
    sessions = list_sessions(config.data_dir)
    asked = [[turn.question for turn in session.turns] for session in sessions]
    kept = zip(sessions, asked, strict=True)
    return SessionsReport([KeptSession(chat.id, texts, chat.notices) for chat, texts in kept])
