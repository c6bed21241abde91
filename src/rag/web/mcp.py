"""The Model Context Protocol over streamable HTTP, in both eras.

No session is kept: of a client up to 2025-11-25 a header names the revision that was agreed on, and
since 2026-07-28 each request does.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import AsyncIterator
from concurrent.futures import Executor
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from rag.mcp.calls import Call
from rag.mcp.library import Library
from rag.mcp.protocol import (
    HANDSHAKE,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MODERN,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    Connection,
    Dispatcher,
    Message,
    ProtocolError,
    error_message,
)
from rag.web.reports import event

_HEADER_MISMATCH = -32020
_WITHOUT_HEADER = "2025-03-26"  # what a client speaks that names no revision
# Errors of the modern era that are one of the request, not of what it asks.
_STATUS = {
    INVALID_REQUEST: 400,
    METHOD_NOT_FOUND: 404,
    UNSUPPORTED_VERSION: 400,
    _HEADER_MISMATCH: 400,
}
_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Endpoint:
    """Answers the messages of clients.

    :param library: the notes.
    :param pool: where messages are answered.
    """

    def __init__(self, library: Library, pool: Executor) -> None:
        self._dispatcher, self._pool = Dispatcher(library), pool

    async def __call__(self, request: Request) -> Response:
        """Answer a message, with events before the answer where it wants to hear of progress."""
        try:
            message = json.loads(await request.body())
        except (ValueError, RecursionError):
            parse_error = error_message(None, ProtocolError(PARSE_ERROR, "Parse error"))
            return JSONResponse(parse_error, 400)
        meta = _meta(message)
        is_modern = "io.modelcontextprotocol/protocolVersion" in meta
        wrong = _mismatch(request, message) if is_modern else _unknown_revision(request)
        if wrong:
            id_ = message.get("id") if isinstance(message, dict) else None
            return JSONResponse(error_message(id_, wrong), 400)
        revision = request.headers.get("mcp-protocol-version", _WITHOUT_HEADER)
        connection = Connection("" if is_modern else revision)
        if "progressToken" in meta:
            events = self._events(message, connection)
            return StreamingResponse(events, media_type="text/event-stream")
        call = Call()
        answer: Any = None
        try:
            loop = asyncio.get_running_loop()
            handle = self._dispatcher.handle
            answer = await loop.run_in_executor(self._pool, handle, message, connection, call)
        finally:
            call.cancel()
        if answer is None:
            return Response(status_code=202)
        return JSONResponse(answer, _status(answer) if is_modern else 200)

    async def _events(self, message: Message, connection: Connection) -> AsyncIterator[bytes]:
        loop, queue, call = asyncio.get_running_loop(), asyncio.Queue[Any](), Call()

        def put(one: object) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, one)

        def work() -> None:
            try:
                put(self._dispatcher.handle(message, connection, call, put))
            finally:
                put(None)

        job = self._pool.submit(work)
        try:
            while (one := await queue.get()) is not None:
                yield event("message", one)
        finally:
            job.cancel()
            call.cancel()


def _meta(message: object) -> dict[str, Any]:
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


def _unknown_revision(request: Request) -> ProtocolError | None:
    """Return what is wrong with the revision that a client of the older era names."""
    named = request.headers.get("mcp-protocol-version", _WITHOUT_HEADER)
    if named in (*HANDSHAKE, MODERN):
        return None
    return ProtocolError(INVALID_REQUEST, "Unsupported protocol version", {"supported": HANDSHAKE})


def _mismatch(request: Request, message: Message) -> ProtocolError | None:
    """Return which header says another thing than the message, in the modern era."""
    params, method = message.get("params", {}), message.get("method")
    expected = {
        "mcp-protocol-version": _meta(message)["io.modelcontextprotocol/protocolVersion"],
        "mcp-method": method,
    }
    if method in _NAMES:
        expected["mcp-name"] = params.get(_NAMES[method])
    for name, value in expected.items():
        if _decoded(request.headers.get(name, "")) != value:
            return ProtocolError(_HEADER_MISMATCH, f"{name} does not match the message")
    return None


def _decoded(value: str) -> str:
    """Return the value of a header; what is not ASCII comes as `=?base64?…?=`."""
    if value.startswith("=?base64?") and value.endswith("?="):
        try:
            return base64.b64decode(value[9:-2], validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return value


def _status(answer: Message) -> int:
    return _STATUS.get(answer.get("error", {}).get("code"), 200)
