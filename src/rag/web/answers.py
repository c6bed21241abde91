"""What requests are answered with: reports and errors as JSON, and answers of a model as events,
sentence by sentence with its verdict.

When the client is gone the model is stopped, as by Ctrl-C at a terminal.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from html import escape
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from rag.answers.notices import marks_for
from rag.answers.verification import BLANK, FENCE, Unit, UnitSplitter
from rag.exceptions import RAGError
from rag.support.json_reports import to_json

if TYPE_CHECKING:
    from rag.app.ask import AnswerReport
    from rag.app.chat import TurnReport
    from rag.app.library import Library

# The status of an error, by its kind; of others it is 500.
_STATUS = {
    **dict.fromkeys(("usage", "query", "config", "context", "budget", "retriever"), 400),
    "not_found": 404,
    "locked": 409,
    "too_long": 413,
    **dict.fromkeys(("connection", "model", "model_missing", "unfinished"), 502),
    "index": 503,
    "disk_full": 507,
}
_HEADERS = {
    401: {"WWW-Authenticate": "Bearer"},
    503: {"Retry-After": "1"},
    408: {"Connection": "close"},  # the body is not read
    413: {"Connection": "close"},
}
_PAGE = (
    '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    "<title>rag</title><h1>{}</h1><p>{}</p>"
)
_MARK, _CODE = re.compile(r"\[(\d{1,3})(\??)\]"), re.compile("`[^`]*`")

Put = Callable[[bytes], None]


class RequestError(RAGError):
    """A request that is refused for what it is, not for what it asks."""

    def __init__(self, status: int, kind: str, message: str, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.status, self.kind = status, kind


def encode(report: object) -> bytes:
    """Return a report, or an error, as the JSON object of schema 1."""
    return _json({"schema": 1, **to_json(report)})


def error_response(error: RAGError, request: Request) -> Response:
    """Return the answer that an error is, with the status of its kind; to who opens the page in a
    browser, in words."""
    status = error.status if isinstance(error, RequestError) else _STATUS.get(error.kind, 500)
    headers = _HEADERS.get(status, {})
    is_page = "text/html" in request.headers.get("accept", "")
    if is_page and request.url.path in ("/", "/open"):
        text = _PAGE.format(*map(escape, (str(error), error.hint)))
        return Response(text, status, headers, media_type="text/html")
    return Response(encode(error), status, headers, media_type="application/json")


def event(name: str, content: Any) -> bytes:
    """Return a server-sent event; its content may be JSON that is written already."""
    data = content if isinstance(content, bytes) else _json(content)
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


async def stream(
    work: Callable[[Put], None], pool: Executor, stop: Callable[[], None]
) -> AsyncIterator[bytes]:
    """Yield what work gives, which is done in a thread.

    :param work: is given where to put events.
    :param stop: is called when all is done, or when the client is gone.
    """
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[bytes | None]()

    def put(data: bytes | None) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, data)

    def run() -> None:
        try:
            work(put)
        finally:
            put(None)

    job = pool.submit(run)
    try:
        while (data := await queue.get()) is not None:
            yield data
    finally:
        job.cancel()
        stop()


def answered(
    work: Callable[[Listener], AnswerReport | TurnReport], question: str, pool: Executor
) -> AsyncIterator[bytes]:
    """Return the events of an answer, which `work` gives who listens; see `stream`."""
    is_gone = threading.Event()

    def run(put: Put) -> None:
        listener = Listener(question, put, is_gone)
        try:
            listener.finish(work(listener))
        except KeyboardInterrupt:  # nobody listens any more
            pass
        except RAGError as error:
            put(event("error", encode(error)))
        except BaseException:
            put(event("error", encode(RAGError("the answer failed"))))
            raise

    return stream(run, pool, is_gone.set)


def ask(library: Library, asked: Any, listener: Listener) -> AnswerReport:
    """Answer a question."""
    from rag.app.ask import ask

    with library.reader(is_fresh=False) as workspace:
        return ask(workspace, asked, **listener.callbacks)


def chat(library: Library, asked: Any, listener: Listener) -> TurnReport:
    """Answer a question of a conversation."""
    from rag.app.chat import Chat

    with Chat(library.config, asked) as conversation:
        return conversation.ask(asked.question, **listener.callbacks)


class Listener:
    """Makes events of one answer while it is written.

    :param is_gone: set when nobody listens any more.
    """

    def __init__(self, question: str, put: Put, is_gone: threading.Event) -> None:
        self._put, self._is_gone = put, is_gone
        self.callbacks: dict[str, Any] = {  # of `rag.app.ask.ask`
            "on_text": self._on_text,
            "on_piece": self._on_piece,
            "on_progress": lambda progress: self._strike(progress.struck),
        }
        self._no_source = marks_for(question).no_source
        self._splitter = UnitSplitter()
        self._struck = 0
        self._has_text = False

    def _on_piece(self, piece: str) -> None:
        if self._is_gone.is_set():
            raise KeyboardInterrupt

    def _on_text(self, text: str) -> None:
        """Put the sentences that are whole now."""
        self._has_text = True
        self._put_units(self._splitter.feed(text))

    def finish(self, report: AnswerReport | TurnReport) -> None:
        """Put the rest: quotations, sources, notices and the report."""
        answer = report.answer
        if not (self._has_text or answer.quotes):
            self._on_text(answer.text)
        self._put_units(self._splitter.end())
        self._strike(answer.struck.count("sentence"))
        for quote in answer.quotes if not self._has_text else ():
            self._put_sentence(quote.text, "quoted", [quote.source], quote.answer)
        for source in to_json(report)["sources"]:
            self._put(event("citation", source))
        for notice in answer.notices:
            self._put(event("notice", {"text": notice}))
        self._put(event("done", encode(report)))

    def _strike(self, count: int) -> None:
        """Put that sentences were taken out: never their words, which nobody should read."""
        for _ in range(count - self._struck):
            self._put_sentence("", "struck", [])
        self._struck = max(self._struck, count)

    def _put_units(self, units: list[Unit]) -> None:
        """Put sentences, what a reader may think of each, and the numbers of its sources."""
        for unit in units:
            if unit.kind == BLANK:
                continue
            text = "" if unit.kind == FENCE else _CODE.sub("", unit.text)
            marks, verdict = _MARK.findall(text), "plain"
            if marks:
                verdict = "doubtful" if all(doubt for _, doubt in marks) else "verified"
            elif self._no_source in text:
                verdict = "unsupported"
            sources = [*dict.fromkeys(int(number) for number, _ in marks)]
            self._put_sentence(unit.text, verdict, sources)

    def _put_sentence(self, text: str, verdict: str, sources: list[int], answer: str = "") -> None:
        sentence = {"text": text, "verdict": verdict, "sources": sources}
        self._put(event("sentence", sentence | ({"answer": answer} if answer else {})))


def _json(content: Any) -> bytes:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")
