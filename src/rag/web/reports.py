"""Reports and errors of `rag.app` as answers: the one place that writes JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from rag.exceptions import RAGError
from rag.support.json_reports import to_json

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


class RequestError(RAGError):
    """A request that is refused for what it is, not for what it asks."""

    def __init__(self, status: int, kind: str, message: str, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.status, self.kind = status, kind


def encode(report: object) -> bytes:
    """Return a report, or an error, as the JSON object of schema 1."""
    text = json.dumps({"schema": 1, **to_json(report)}, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def report_response(report: object) -> Response:
    """Return the answer that a report is."""
    return Response(encode(report), media_type="application/json")


def error_response(error: RAGError, request: Request | None = None) -> Response:
    """Return the answer that an error is, with the status of its kind; to who opens the page in a
    browser, in words."""
    status = error.status if isinstance(error, RequestError) else _STATUS.get(error.kind, 500)
    headers = _HEADERS.get(status, {})
    accepted = request.headers.get("accept", "") if request else ""
    if request and request.url.path in ("/", "/open") and "text/html" in accepted:
        text = _PAGE.format(*map(escape, (str(error), error.hint)))
        return Response(text, status, headers, media_type="text/html")
    return Response(encode(error), status, headers, media_type="application/json")


def event(name: str, content: dict[str, Any] | bytes) -> bytes:
    """Return a server-sent event."""
    if not isinstance(content, bytes):
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        content = text.encode("utf-8", "replace")
    return b"event: " + name.encode() + b"\ndata: " + content + b"\n\n"


async def stream(
    work: Callable[[Callable[[bytes], None]], None], pool: Executor, stop: Callable[[], None]
) -> AsyncIterator[bytes]:
    """Yield what work gives, which is done in a thread.

    :param work: is given where to put events.
    :param stop: is called when all is done, or when the client is gone.
    """
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[bytes | None]()

    def put(one: bytes | None) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, one)

    def run() -> None:
        try:
            work(put)
        finally:
            put(None)

    job = pool.submit(run)
    try:
        while (one := await queue.get()) is not None:
            yield one
    finally:
        job.cancel()
        stop()
