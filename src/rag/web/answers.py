"""Answers that stream: what a model writes, sentence by sentence with its verdict, as events.

When the client is gone the model is stopped, as by Ctrl-C at a terminal.
"""

from __future__ import annotations

import re
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor

from rag.answers.agreement import Progress
from rag.answers.evidence import outside_code
from rag.answers.notices import marks_for
from rag.answers.verification import BLANK, FENCE, Unit, UnitSplitter
from rag.app.ask import AnswerReport
from rag.app.chat import TurnReport
from rag.exceptions import RAGError
from rag.support.json_reports import to_json
from rag.web.reports import encode, event, stream

# Marks of verification behind a sentence, such as `[1?]`, are written as citations while the text
# is cut into sentences: those belong to the one before them.
_DOUBTED, _NO_SOURCE = re.compile(r"\[(\d{1,3})\?\]"), "[^0]"
_MARK = re.compile(r"\[(\^?)(\d{1,3})\]")


def answered(
    work: Callable[[Listener], AnswerReport | TurnReport], question: str, pool: Executor
) -> AsyncIterator[bytes]:
    """Return the events of an answer.

    :param work: answers a question, and is given who listens.
    """
    listener = Listener(question)

    def run(put: Callable[[bytes], None]) -> None:
        listener.put = put
        try:
            listener.finish(work(listener))
        except KeyboardInterrupt:  # nobody listens any more
            pass
        except RAGError as error:
            put(event("error", encode(error)))
        except BaseException:
            put(event("error", encode(RAGError("the answer failed"))))
            raise

    return stream(run, pool, listener.is_gone.set)


class Listener:
    """Makes events of what is said of one answer; see `rag.app.ask.ask`."""

    put: Callable[[bytes], None]

    def __init__(self, question: str) -> None:
        self.is_gone = threading.Event()
        self._no_source = marks_for(question).no_source
        self._splitter = UnitSplitter()
        self._struck = 0
        self._has_text = False

    def on_piece(self, piece: str) -> None:
        """Stop the model where nobody listens.

        :raises KeyboardInterrupt: then.
        """
        if self.is_gone.is_set():
            raise KeyboardInterrupt

    def on_text(self, text: str) -> None:
        """Tell the sentences that are whole now."""
        self._has_text = True
        text = _DOUBTED.sub(r"[^\1]", text.replace(self._no_source, _NO_SOURCE))
        self._tell(self._splitter.feed(text))

    def on_progress(self, progress: Progress) -> None:
        """Tell that sentences were taken out: never their words, which nobody should read."""
        self.on_piece("")
        self._strike(progress.struck)

    def _strike(self, count: int) -> None:
        for _ in range(count - self._struck):
            self._put_sentence("", "struck", [])
        self._struck = max(self._struck, count)

    def finish(self, report: AnswerReport | TurnReport) -> None:
        """Tell the rest: quotations, sources, notices and the report."""
        answer = report.answer
        self._tell(self._splitter.end())
        self._strike(answer.struck.count("sentence"))
        if not self._has_text:
            for quote in answer.quotes:
                self._put_sentence(quote.text, "quoted", [quote.source])
            if not answer.quotes and answer.text:
                self.on_text(answer.text)
                self._tell(self._splitter.end())
        written = to_json(report)
        for source in written["sources"]:
            self.put(event("citation", source))
        for notice in answer.notices:
            self.put(event("notice", {"text": notice}))
        self.put(event("done", encode(report)))

    def _tell(self, units: list[Unit]) -> None:
        for unit in units:
            if unit.kind != BLANK:
                self._sentence(unit)

    def _sentence(self, unit: Unit) -> None:
        """Tell a sentence, what a reader may think of it, and the numbers of its sources."""
        marks: list[tuple[bool, int]] = []

        def note(mark: re.Match[str]) -> str:
            number = int(mark[2])
            marks.append((not mark[1], number))
            return mark[0] if not mark[1] else f"[{number}?]" if number else self._no_source

        text = unit.text
        if unit.kind != FENCE:
            text = outside_code(lambda part: _MARK.sub(note, part), text)
        sources = [*dict.fromkeys(number for _, number in marks if number)]
        if any(is_sure for is_sure, _ in marks):
            verdict = "verified"
        else:
            verdict = "doubtful" if sources else "unsupported" if marks else "plain"
        self._put_sentence(text, verdict, sources)

    def _put_sentence(self, text: str, verdict: str, sources: list[int]) -> None:
        self.put(event("sentence", {"text": text, "verdict": verdict, "sources": sources}))
