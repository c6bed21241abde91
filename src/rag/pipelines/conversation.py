"""A conversation about the notes: questions that lean on what was said before."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from haystack import Pipeline

from rag.answers.followups import SCHEMA, Exchange, accepted, expanded, rewriting_messages
from rag.answers.sessions import Session, Turn
from rag.clients.generation import ChatModel
from rag.exceptions import RAGError
from rag.pipelines.meaning import AUTO
from rag.pipelines.models import Answer, QueryFilters
from rag.pipelines.qa import ask, writer_of

_LONGEST = 200  # tokens of a rewritten question


class Conversation:
    """Ask questions one after the other, and keep them.

    :param pipeline: from `create_qa_pipeline`.
    :param session: what was said so far; what is said now is added to it.
    :param mode: how notes are searched, as in `search`.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        session: Session,
        filters: QueryFilters | None = None,
        top_k: int = 5,
        mode: str = AUTO,
    ) -> None:
        self.pipeline, self.session = pipeline, session
        self.filters, self.top_k, self.mode = filters, top_k, mode

    def ask(
        self, question: str, on_question: Callable[[str], Any] | None = None, **callbacks: Any
    ) -> Answer:
        """Answer a question; the callbacks and errors are those of `rag.pipelines.ask`.

        :param on_question: called with the question as it was understood, when that is another.
        """
        asked = self.understood(question)
        if on_question and asked != question:
            on_question(asked)
        answer = ask(self.pipeline, asked, self.filters, self.top_k, mode=self.mode, **callbacks)
        try:
            self.session.add(_turn(question, asked, answer))
        except OSError as error:
            answer.notices.append(f"this conversation cannot be kept: {error.strerror or error}")
        return answer

    def understood(self, question: str) -> str:
        """Return the question so that it stands by itself."""
        history = [Exchange(turn.asked, turn.answer) for turn in self.session.turns]
        if not history or not question.strip():
            return question
        return self._rewritten(question, history) or expanded(question, history)

    def _rewritten(self, question: str, history: list[Exchange]) -> str:
        """Let the chat model rewrite a question; empty when it cannot."""
        writer = writer_of(self.pipeline)
        if not writer:
            return ""
        try:
            chat: ChatModel = writer.chat
            response = chat.respond(
                rewriting_messages(question, history),
                format=SCHEMA,
                options={"temperature": 0, "num_predict": _LONGEST},
                seconds=chat.config.query_timeout,
            )
        except RAGError:
            return ""  # whoever answers next says what is wrong
        return accepted(response.text, question, history)


def _turn(question: str, asked: str, answer: Answer) -> Turn:
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
                "line": source.line_start,
                "title": source.title,
            }
            for number, source in enumerate(answer.sources, 1)
        ],
        at=datetime.now().isoformat(timespec="seconds"),
    )
