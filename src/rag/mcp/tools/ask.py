"""The tool `ask`: an answer from the notes, with the lines it is from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag.app.requests import AskRequest
from rag.mcp.library import Library
from rag.mcp.protocol import ArgumentError, Call
from rag.mcp.remedies import worded
from rag.mcp.results import Result, brief_text, clean, clean_line, listed, noted
from rag.mcp.tools.filters import filters_of
from rag.text.messages import brief, plural

if TYPE_CHECKING:
    from rag.app.ask import AnswerReport
    from rag.mcp.requests import Ask
    from rag.qa.answer import Answer
    from rag.search.results import SearchResult

_NO_MODEL = "none"
_LONGEST_ANSWER = 12_000  # characters; the rest is for its sources


def run(library: Library, asked: Ask, call: Call) -> Result:
    """Answer a question.

    :raises ArgumentError: for a question that is empty.
    :raises RAGError: as `Workspace.ask`.
    """
    if not asked.question.strip():
        raise ArgumentError("question is empty")
    no_model = asked.model == _NO_MODEL
    request = AskRequest(
        asked.question,
        filters_of(asked),
        model="" if no_model else asked.model,
        no_model=no_model,
    )
    written = 0

    def on_piece(text: str) -> None:
        nonlocal written
        if call.is_cancelled:
            raise KeyboardInterrupt  # as at a terminal: the model is told to stop
        written += len(text)
        call.progress(f"the model has written {written:,} characters")

    call.progress("searching the notes", at_once=True)
    with library.reader() as workspace:
        # A model that somebody listens to can be stopped.
        report = workspace.ask(request, on_text=lambda text: None, on_piece=on_piece)
    call.check()
    return _result(report)


def _result(report: AnswerReport) -> Result:
    answer = report.answer
    notices = noted(map(worded, answer.notices))
    if not answer.found:
        head = "Not found in the notes."
        if answer.near:
            head += " These notes are nearest, and do not answer it; search may find more."
        near = listed([_source(number, one) for number, one in enumerate(answer.near, 1)])
        return Result(head, "\n".join(filter(None, (near, notices))))
    text = brief_text(clean(answer.text), _LONGEST_ANSWER)
    sources = listed([_source(number, one) for number, one in enumerate(answer.sources, 1)])
    data = "\n".join(filter(None, (text, sources and f"\n{sources}", notices)))
    return Result(_origin(answer) if answer.sources else "", data)


def _origin(answer: Answer) -> str:
    """Return who says what follows, and how sure that is."""
    if not answer.model:
        sure = answer.confidence
        told = f" (confidence {sure:.2f})" if round(sure, 2) else ""
        return f"Quoted from the notes{told}; cite [n] by its line."
    checked = f"{answer.verified:.0%} of {plural(answer.sentences, 'sentence')} supported"
    return f"Written by {brief(answer.model)} and checked against the notes: {checked}."


def _source(number: int, result: SearchResult) -> str:
    place = clean_line(f"{result.vault}/{result.file_path}")
    return f"[{number}] {brief(clean_line(result.title), 200)}  {place}:{result.line}"
