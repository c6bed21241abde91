"""The tool `ask`: an answer from the notes, with the lines it is from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag.app.requests import AskRequest
from rag.mcp.arguments import ArgumentError
from rag.mcp.calls import Call
from rag.mcp.library import Library
from rag.mcp.remedies import worded
from rag.mcp.results import LONGEST, ToolResult, as_data, clean, clean_line, uri_of
from rag.mcp.tools.filters import filters_of
from rag.text.messages import plural

if TYPE_CHECKING:
    from rag.app.ask import AnswerReport
    from rag.qa.answer import Answer
    from rag.search.results import SearchResult

_NO_MODEL = "none"
_LONGEST_ANSWER = LONGEST - 8000  # characters; the rest is for its sources


def run(library: Library, arguments: dict[str, Any], call: Call) -> ToolResult:
    """Answer a question.

    :raises ArgumentError: for a question that is empty.
    :raises RAGError: as `Workspace.ask`.
    """
    if not arguments["question"].strip():
        raise ArgumentError("question is empty")
    model = arguments.get("model", "")
    request = AskRequest(
        arguments["question"],
        filters_of(arguments),
        model="" if model == _NO_MODEL else model,
        no_model=model == _NO_MODEL,
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
        report = workspace.ask(request, on_text=_ignore, on_piece=on_piece)
    call.check()
    return _result(report)


def _ignore(text: str) -> None:
    """Take what is verified of an answer: a model that somebody listens to can be stopped."""


def _result(report: AnswerReport) -> ToolResult:
    answer = report.answer
    text = clean(answer.text)[:_LONGEST_ANSWER]
    sources = [_source(number, one) for number, one in enumerate(answer.sources, 1)]
    if answer.found and not answer.sources:
        body = [text]
    elif answer.found:
        shown = "\n".join([text, "", *map(_source_line, sources)])
        body = [_origin(answer), as_data(shown[: LONGEST - 2000])]
    else:
        body = ["Not found in the notes."]
        near = [_source(number, one) for number, one in enumerate(answer.near, 1)]
        if near:
            body.append("These notes are nearest, and do not answer it; search may find more.")
            body.append(as_data("\n".join(map(_source_line, near))))
    notices = [clean_line(worded(notice))[:500] for notice in answer.notices]
    if changed := report.index.changed:
        notices.append(f"{plural(changed, 'note')} changed since the index was made")
    body += [f"Note: {notice}" for notice in notices]
    structured = {
        "answer": text,
        "found": answer.found,
        "model": answer.model,
        "confidence": round(answer.confidence, 3),
        "sources": sources,
        "citations": _citations(answer),
        "notices": notices,
    }
    return ToolResult("\n".join(body), structured)


def _origin(answer: Answer) -> str:
    """Return who says what follows, and how sure that is."""
    if not answer.model:
        return f"Quoted from the notes (confidence {answer.confidence:.2f}); cite [n] by its line."
    checked = f"{answer.verified:.0%} of {plural(answer.sentences, 'sentence')} supported"
    return f"Written by {answer.model} and checked against the notes: {checked}."


def _source(number: int, result: SearchResult) -> dict[str, Any]:
    return {
        "number": number,
        "vault": result.vault,
        "path": result.file_path,
        "title": clean_line(result.title),
        "line": result.line,
        "line_end": result.line_end,
        "uri": uri_of(result.vault, result.file_path),
    }


def _source_line(source: dict[str, Any]) -> str:
    place = clean_line(f"{source['vault']}/{source['path']}")
    return f"[{source['number']}] {source['title']}  {place}:{source['line']}"


def _citations(answer: Answer) -> list[dict[str, Any]]:
    if not answer.model:
        return [{"n": q.source, "sentence": clean(q.text), "line": q.line} for q in answer.quotes]
    return [
        {"n": c.source, "sentence": clean(c.sentence), "supported": c.supported}
        for c in answer.citations
    ]
