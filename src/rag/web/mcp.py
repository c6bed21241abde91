"""The Model Context Protocol over streamable HTTP, in both eras.

No session is kept: of a client up to 2025-11-25 a header names the revision that was agreed on, and
since 2026-07-28 each request does.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from rag.mcp.library import Call, Library
from rag.mcp.protocol import (
    HANDSHAKE,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MODERN,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    VERSION,
    Connection,
    Dispatcher,
    Message,
    ProtocolError,
    as_object,
    error_message,
    meta_of,
)
from rag.web.reports import event, stream

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

    async def answer(self, request: Request) -> Response:
        """Answer a message, with events before the answer where it wants to hear of progress."""
        try:
            message = json.loads(await request.body())
        except (ValueError, RecursionError):
            parse_error = error_message(None, ProtocolError(PARSE_ERROR, "Parse error"))
            return JSONResponse(parse_error, 400)
        meta = meta_of(message)
        is_modern = VERSION in meta
        revision = request.headers.get("mcp-protocol-version", _WITHOUT_HEADER)
        wrong = _mismatch(request, message) if is_modern else None
        if not is_modern and revision not in (*HANDSHAKE, MODERN):
            told = "Unsupported protocol version"
            wrong = ProtocolError(INVALID_REQUEST, told, {"supported": HANDSHAKE})
        if wrong:
            return JSONResponse(error_message(as_object(message).get("id"), wrong), 400)
        connection = Connection("" if is_modern else revision)
        call, handle = Call(), self._dispatcher.handle
        if "progressToken" in meta:

            def work(put: Callable[[bytes], None]) -> None:
                def send(one: Any) -> None:
                    put(event("message", one))

                if answer := handle(message, connection, call, send):
                    send(answer)

            events = stream(work, self._pool, call.cancel)
            return StreamingResponse(events, media_type="text/event-stream")
        try:
            loop = asyncio.get_running_loop()
            answer: Any = await loop.run_in_executor(self._pool, handle, message, connection, call)
        finally:
            call.cancel()
        if answer is None:
            return Response(status_code=202)
        code = answer.get("error", {}).get("code", 0) if is_modern else 0
        return JSONResponse(answer, _STATUS.get(code, 200))


def _mismatch(request: Request, message: Message) -> ProtocolError | None:
    """Return which header says another thing than the message, in the modern era."""
    params, method = message.get("params", {}), message.get("method")
    expected = {
        "mcp-protocol-version": meta_of(message)[VERSION],
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
