"""A conversation about the notes: questions that lean on what was said before."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from haystack import Pipeline
from haystack.dataclasses import ChatMessage

from rag.answers.follow_ups import Exchange, expanded, is_accepted, is_small_talk
from rag.context.memory import MemoryManager
from rag.exceptions import StorageError, UsageError
from rag.qa.answer import Answer
from rag.qa.pipeline import GENERATOR, ask
from rag.qa.sessions import Session, Turn, chat_history, new_session, open_memory, recall
from rag.query.llm import TEXT, schema_of, texts_in
from rag.query.models import ConversationTurn
from rag.query.planner.words import may_ask_of_notes
from rag.query.syntax import bounded
from rag.query.transformers import rewriting_prompt
from rag.search.results import QueryFilters, SearchResult
from rag.support.pipeline_parts import component_of

if TYPE_CHECKING:
    from rag.query.note_questions import NoteQuestion
    from rag.search.planned_query import Intent

Read = Callable[[str, bool], tuple["Intent | None", "NoteQuestion | None", list[str]]]
_LOOKS_BACK = 4  # turns, for the question that others went on from
_LONGEST = 200  # tokens of a rewritten question


class Conversation:
    """Ask questions one after the other, and keep them.

    :param session: what was said so far; what is said now is added to it, and to the `memory`.
    :param mode: how notes are searched, as in `search`.
    :param read: says what a question filters by, what it asks of the notes themselves, and what
        there is to tell of that; it is told whether the question goes on from the one before.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        session: Session,
        filters: QueryFilters | None = None,
        top_k: int | None = None,
        mode: str | None = None,
        memory: MemoryManager | None = None,
        read: Read | None = None,
    ) -> None:
        self.pipeline, self.session = pipeline, session
        self.filters, self.top_k, self.mode = filters, top_k, mode
        self.memory = memory or open_memory(session.data_dir)
        self._read = read
        self._told: set[str] = set()
        for turn in session.turns:
            recall(self.memory, turn)

    def ask(
        self, question: str, on_question: Callable[[str], Any] | None = None, **callbacks: Any
    ) -> Answer:
        """Answer a question; the callbacks and errors are those of `rag.pipelines.ask`.

        What a search has said in this conversation it does not say again.

        :param on_question: called with the question as it was understood, when that is another.
        """
        asked = self.understood(question)
        if on_question and asked != question:
            on_question(asked)
        read = self._read(asked, asked != question) if self._read else (None, None, [])
        intent, about, notices = read
        answer = ask(
            self.pipeline,
            asked,
            self.filters,
            self.top_k,
            mode=self.mode,
            memory=self.memory,
            told=self._told,
            intent=intent,
            about=about,
            **callbacks,
        )
        answer.notices = [*notices, *answer.notices]
        turn = _turn(question, asked, answer)
        recall(self.memory, turn)
        try:
            self.session.add(turn)
        except (OSError, StorageError, UsageError) as error:
            why = getattr(error, "strerror", "") or error
            answer.notices.append(f"this conversation cannot be kept: {why}")
        return answer

    def clear(self) -> None:
        """Begin another conversation; the old one keeps its file, and facts stay."""
        self.session = new_session(self.session.data_dir)
        self.memory.clear()
        self._told.clear()

    def last_sources(self) -> list[SearchResult] | None:
        """Return the sources of the last answer, in the order of their numbers; what is kept of
        them is where they are. `None` when there is no answer yet."""
        if not self.session.turns:
            return None
        return [
            SearchResult(
                content="",
                score=0.0,
                file_path=source["path"],
                title=source["title"],
                vault=source["vault"],
                position=0,
                line_start=source["line"],
                line=source["line"],
            )
            for source in self.session.turns[-1].sources
        ]

    def understood(self, question: str) -> str:
        """Return the question so that it stands by itself.

        :raises QueryError: when it is too long.
        """
        if not question.strip() or is_small_talk(question):
            return question
        question = bounded(question)
        turns = self.session.turns
        if not turns:
            return question
        if follow_up := self._followed_up(question):
            return follow_up
        history, rewritten = [Exchange(turn.asked, turn.answer) for turn in turns], ""
        if generator := component_of(self.pipeline, GENERATOR):
            with suppress(Exception):  # whoever answers next says what is wrong
                rewritten = _rewritten(generator, question, chat_history(turns))
        is_usable = is_accepted(rewritten, question, history)
        return rewritten if is_usable else expanded(question, history)

    def _followed_up(self, question: str) -> str:
        """Return a question that goes on from one about the notes themselves; empty if it does
        not."""
        for turn in reversed(self.session.turns[-_LOOKS_BACK:]):
            if may_ask_of_notes(turn.asked):
                from rag.qa.note_questions import day_in  # most questions do without them
                from rag.query.note_questions import followed_up

                day = day_in(turn.answer, at_the_start=True)
                if follow_up := followed_up(question, turn.asked, day):
                    return follow_up
            goes_on = turn.asked != turn.question
            if not (goes_on or is_small_talk(turn.question)):
                break
        return ""


def _rewritten(generator: Any, question: str, turns: list[ConversationTurn]) -> str:
    """Let a chat generator rewrite a question, without reasoning first."""
    prompt = rewriting_prompt(question, turns)
    if hasattr(generator, "brief_reply"):
        messages = [
            {"role": "system", "content": prompt.system},
            {"role": "user", "content": prompt.user},
        ]
        reply = generator.brief_reply(messages, schema_of("question", question=TEXT), _LONGEST)
    else:
        asked = [ChatMessage.from_system(prompt.system), ChatMessage.from_user(prompt.user)]
        reply = generator.run(messages=asked)["replies"][0].text or ""
    return next(iter(texts_in(reply, 1, without=prompt.code)), "")


def _turn(question: str, asked: str, answer: Answer) -> Turn:
    lines = answer.quoted_lines
    return Turn(
        question=question,
        asked=asked,
        answer=answer.text,
        found=answer.found,
        model=answer.model,
        partial=answer.partial,
        sources=[
            {
                "number": number,
                "vault": source.vault,
                "path": source.file_path,
                "line": lines.get(number, source.line),
                "title": source.title,
            }
            for number, source in enumerate(answer.sources, 1)
        ],
        at=datetime.now().isoformat(timespec="seconds"),
    )
