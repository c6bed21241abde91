"""The Model Context Protocol over streamable HTTP, in both eras.

No session is kept: of a client up to 2025-11-25 a header names the revision that was agreed on, and
since 2026-07-28 each request does.
"""

from __future__ import annotations

import asyncio
import base64
import json
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from rag.app.library import Library
from rag.mcp import protocol
from rag.mcp.protocol import INVALID_REQUEST, VERSION, Call, Message, ProtocolError, meta_of
from rag.web.answers import Put, event, stream

_HEADER_MISMATCH = -32020
_SPOKEN = (*protocol.HANDSHAKE, protocol.MODERN)
_WITHOUT_HEADER = "2025-03-26"  # what a client speaks that names no revision
# Errors of the modern era that are one of the request, not of what it asks.
_STATUS = {
    protocol.METHOD_NOT_FOUND: 404,
    **dict.fromkeys((INVALID_REQUEST, protocol.UNSUPPORTED_VERSION, _HEADER_MISMATCH), 400),
}
_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Endpoint:
    """Answers the messages of clients, in threads of a pool."""

    def __init__(self, library: Library, pool: Executor) -> None:
        self._dispatcher, self._pool = protocol.Dispatcher(library), pool

    async def answer(self, request: Request) -> Response:
        """Answer a message, with events before the answer where it wants to hear of progress."""
        message: Any = None
        try:
            message = json.loads(await request.body())
            _check_headers(request, message)
        except (ValueError, RecursionError, ProtocolError) as error:
            if not isinstance(error, ProtocolError):
                error = ProtocolError(protocol.PARSE_ERROR, "Parse error")
            id_ = protocol.as_object(message).get("id")
            return JSONResponse(protocol.error_message(id_, error), 400)
        call = Call()
        if "progressToken" in meta_of(message):

            def work(put: Put) -> None:
                def send(message: Message) -> None:
                    put(event("message", message))

                if answer := self._dispatcher.handle(message, call, send):
                    send(answer)

            events = stream(work, self._pool, call.cancel)
            return StreamingResponse(events, media_type="text/event-stream")
        handle = partial(self._dispatcher.handle, message, call)
        try:
            answer = await asyncio.get_running_loop().run_in_executor(self._pool, handle)
        finally:
            call.is_cancelled = True
        if answer is None:
            return Response(status_code=202)
        code = answer.get("error", {}).get("code", 0) if VERSION in meta_of(message) else 0
        return JSONResponse(answer, _STATUS.get(code, 200))


def _check_headers(request: Request, message: Message) -> None:
    """Make sure that headers say what the message says, in the modern era.

    :raises ProtocolError: where they do not, and for a revision that is not spoken.
    """
    meta, headers = meta_of(message), request.headers
    if VERSION not in meta:
        if headers.get("mcp-protocol-version", _WITHOUT_HEADER) not in _SPOKEN:
            data = {"supported": protocol.HANDSHAKE}
            raise ProtocolError(INVALID_REQUEST, "Unsupported protocol version", data)
        return
    params, method = message.get("params", {}), message.get("method")
    expected = {"mcp-protocol-version": meta[VERSION], "mcp-method": method}
    if isinstance(method, str) and method in _NAMES:
        expected["mcp-name"] = params.get(_NAMES[method])
    for name, value in expected.items():
        if _decoded(headers.get(name, "")) != value:
            raise ProtocolError(_HEADER_MISMATCH, f"{name} does not match the message")


def _decoded(value: str) -> str:
    """Return the value of a header; what is not ASCII comes as `=?base64?…?=`."""
    if value.startswith("=?base64?") and value.endswith("?="):
        with suppress(ValueError):
            return base64.b64decode(value[9:-2], validate=True).decode("utf-8")
        return ""
    return value
