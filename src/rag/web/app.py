"""The routes of the API: each takes a request of `rag.web.requests` and gives a report of
`rag.app`. Nothing here imports what reads notes: that is done in other processes, by `Readers`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from rag import __version__
from rag.app.library import Library
from rag.app.watch_state import is_watched
from rag.exceptions import RAGError
from rag.web.access import COOKIE_SECONDS, Access
from rag.web.answers import Listener, RequestError, answered, encode, error_response
from rag.web.mcp import Endpoint
from rag.web.readers import Readers, function_named

if TYPE_CHECKING:
    from rag.app.ask import AnswerReport
    from rag.app.chat import TurnReport

Respond = Callable[[Request], Awaitable[Response]]
_ANSWERS = 2  # at once; more only wait for each other
_LOOK = 3.0  # seconds between two looks for changed notes
_PAUSE, _LATEST = 0.5, 15.0  # without a request before one; after which nobody waits for a pause


@dataclass(frozen=True)
class Operation:
    """A route that takes a request and gives a report.

    :param request: the name of its type in `rag.web.requests`.
    :param work: the function that makes the report, as `module:name`.
    :param is_streamed: whether it gives events, of which the last holds the report.
    """

    method: str
    path: str
    request: str
    work: str
    is_streamed: bool = False


OPERATIONS = (
    Operation("GET", "/v1/search", "Search", "rag.app.search:search"),
    Operation("GET", "/v1/status", "Status", "rag.web.requests:status"),
    Operation("POST", "/v1/notes:batch", "Batch", "rag.web.requests:notes"),
    Operation("GET", "/v1/notes/{id}/related", "Related", "rag.app.related:related"),
    Operation("GET", "/v1/notes/{id}", "Note", "rag.web.requests:note"),
    Operation("POST", "/v1/ask", "Ask", "rag.web.answers:ask", True),
    Operation("POST", "/v1/chat", "Chat", "rag.web.answers:chat", True),
    Operation("POST", "/v1/index", "Index", "rag.app.sync:sync"),
)


class Api:
    """Answers requests for the notes of a library.

    :param cookie: the name of the cookie.
    """

    def __init__(self, library: Library, readers: Readers, access: Access, cookie: str) -> None:
        self._library, self._readers = library, readers
        self._access, self._cookie = access, cookie
        self._answer_pool = ThreadPoolExecutor(_ANSWERS, "answer")
        self._index_pool = ThreadPoolExecutor(1, "index")
        self._looked = 0.0
        self._look_timer: asyncio.TimerHandle | None = None
        mcp = Endpoint(library, ThreadPoolExecutor(_ANSWERS, "mcp"))
        self.routes = [
            Route("/health", self._health),
            Route("/open", self._open),
            Route("/openapi.json", self._openapi),
            Route("/mcp", mcp.answer, methods=["POST"]),
        ]
        for op in OPERATIONS:
            make = self._answering if op.is_streamed else self._reading
            respond = self._indexing(op) if op.path == "/v1/index" else make(op)
            path = op.path.replace("{id}", "{id:path}")
            self.routes.append(Route(path, respond, methods=[op.method]))

    async def read(self, work: str, *given: Any) -> Any:
        """Return what a function makes of the newest snapshot; see `Readers.read`.

        Whether notes changed is found out every few seconds, between two requests; not where a
        watcher does that.
        """
        loop = asyncio.get_running_loop()
        if self._look_timer:
            self._look_timer.cancel()
        due = max(_PAUSE, self._looked + _LOOK - loop.time())
        is_late = loop.time() - self._looked > _LATEST
        self._look_timer = loop.call_later(0 if is_late else due, self._begin_look)
        return await self._readers.read(work, *given)

    def _begin_look(self) -> None:
        """Have a thread look for changed notes, and index them where they are few."""

        def look() -> None:
            if not is_watched(self._library.config):
                self._library.wait_for_notes()
                with self._library.reader():
                    pass

        self._looked = asyncio.get_running_loop().time()
        self._index_pool.submit(look)

    def _reading(self, operation: Operation) -> Respond:
        """Return what responds with a report on the newest snapshot."""

        async def respond(request: Request) -> Response:
            given = await request.body() if operation.method == "POST" else request.query_params
            named = {"note": request.path_params["id"]} if request.path_params else {}
            names = operation.request, operation.work
            report = await self.read("rag.web.requests:answer", *names, given, named)
            return Response(report, media_type="application/json")

        return respond

    def _answering(self, operation: Operation) -> Respond:
        """Return what responds with the events of an answer."""

        async def respond(request: Request) -> Response:
            asked = await asyncio.to_thread(self._parse, operation, await request.body())

            def run(listener: Listener) -> AnswerReport | TurnReport:
                self._library.wait_for_answers()
                return function_named(operation.work)(self._library, asked, listener)  # type: ignore[no-any-return]

            events = answered(run, asked.question, self._answer_pool)
            return StreamingResponse(events, media_type="text/event-stream")

        return respond

    def _parse(self, operation: Operation, body: bytes) -> Any:
        self._library.wait_for_notes()
        from rag.web import requests

        return requests.parse(operation.request, body)

    def _indexing(self, operation: Operation) -> Respond:
        async def respond(request: Request) -> Response:
            def run() -> bytes:
                asked = self._parse(operation, body)
                return encode(function_named(operation.work)(self._library.config, asked))

            body, loop = await request.body(), asyncio.get_running_loop()
            report = await loop.run_in_executor(self._index_pool, run)
            self._looked = 0.0
            return Response(report, media_type="application/json")

        return respond

    async def _health(self, request: Request) -> Response:
        """Return that the server is up; nothing of the notes."""
        return JSONResponse({"schema": 1, "status": "ok", "version": __version__})

    async def _openapi(self, request: Request) -> Response:
        return JSONResponse(await self.read("rag.web.openapi:describe", OPERATIONS))

    async def _open(self, request: Request) -> Response:
        """Give a browser that opens a one-time link its cookie."""
        if not self._access.use_link(request.query_params.get("once", "")):
            hint = "`rag serve --http --open` makes a new one."
            raise RequestError(401, "unauthorized", "this link was used, or is too old", hint)
        reply = RedirectResponse("/", 303)
        name, value = self._cookie, self._access.cookie
        reply.set_cookie(name, value, COOKIE_SECONDS, httponly=True, samesite="strict")
        return reply


def make_app(api: Api, pages: Sequence[Route] = ()) -> Starlette:
    """Return the application that answers requests which have passed the gate."""

    async def refuse(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            kind, message = "usage", "the request cannot be read"
            hint = "`/openapi.json` lists all."
            if error.status_code == 404:
                kind, message = "not_found", "there is no such address"
            elif error.status_code == 405:
                methods = " or ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
                message, hint = "this address is not asked like that", f"Ask it with {methods}."
            error = RequestError(error.status_code, kind, message, hint)
        elif not isinstance(error, RAGError):
            hint = "Its output says more; `rag doctor` checks the index."
            error = RequestError(500, "error", "the server failed at this request", hint)
        return error_response(error, request)

    handlers = dict.fromkeys((HTTPException, RAGError, Exception), refuse)
    return Starlette(routes=[*api.routes, *pages], exception_handlers=handlers)
