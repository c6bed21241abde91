"""The routes of the API: each takes a request of `rag.web.requests` and gives a report of
`rag.app`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from rag import __version__
from rag.app.ask import AnswerReport
from rag.app.ask import ask as answer
from rag.app.chat import Chat, TurnReport
from rag.app.library import Library
from rag.app.notes import Limits, NoteReport, NotesReport, get_note, get_notes
from rag.app.related import RelatedReport, related
from rag.app.search import SearchReport, search
from rag.app.status import StatusReport, read_status
from rag.app.sync import SyncReport, sync
from rag.app.watch_state import is_watched
from rag.app.workspace import Workspace
from rag.exceptions import RAGError
from rag.web import requests
from rag.web.access import COOKIE_SECONDS, Access
from rag.web.answers import (
    Listener,
    RequestError,
    answered,
    encode,
    error_response,
    json_response,
)
from rag.web.mcp import Endpoint
from rag.web.openapi import describe
from rag.web.readers import Readers
from rag.web.requests import Operation

T = TypeVar("T")
_ANSWERS = 2  # at once; more only wait for each other
_LOOK = 3.0  # seconds between two looks for changed notes
_PAUSE, _LATEST = 0.5, 15.0  # without a request before one; after which nobody waits for a pause
_LINES = 10_000  # of one note


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
        reading, answering, note = self._reading, self._answering, "/v1/notes/{id}"
        self.operations = [
            Operation("GET", "/v1/search", requests.Search, SearchReport, reading(search)),
            Operation("GET", "/v1/status", requests.Status, StatusReport, reading(_status)),
            Operation("POST", "/v1/notes:batch", requests.Batch, NotesReport, reading(_batch)),
            Operation("GET", f"{note}/related", requests.Related, RelatedReport, reading(related)),
            Operation("GET", note, requests.Note, NoteReport, reading(_note)),
            Operation("POST", "/v1/ask", requests.Ask, AnswerReport, answering(self._ask), True),
            Operation("POST", "/v1/chat", requests.Chat, TurnReport, answering(self._chat), True),
            Operation("POST", "/v1/index", requests.Index, SyncReport, self._index),
        ]
        mcp = Endpoint(library, ThreadPoolExecutor(_ANSWERS, "mcp"))
        self.routes = [
            Route("/health", self._health),
            Route("/open", self._open),
            Route("/openapi.json", self._openapi),
            Route("/mcp", mcp.answer, methods=["POST"]),
            *(
                Route(one.path.replace("{id}", "{id:path}"), one.handle, methods=[one.method])
                for one in self.operations
            ),
        ]

    async def read(self, work: Callable[[Workspace], T]) -> T:
        """Return what work does with a reader of the newest snapshot; see `Readers.read`.

        Whether notes changed is found out every few seconds, between two requests; not where a
        watcher does that.
        """
        loop = asyncio.get_running_loop()
        if self._look_timer:
            self._look_timer.cancel()
        due = max(_PAUSE, self._looked + _LOOK - loop.time())
        is_late = loop.time() - self._looked > _LATEST
        self._look_timer = loop.call_later(0 if is_late else due, self._begin_look)
        return await self._readers.read(work)

    def _begin_look(self) -> None:
        """Have a thread look for changed notes, and index them where they are few."""

        def look() -> None:
            if not is_watched(self._library.config):
                self._library.wait_for_notes()
                with self._library.reader():
                    pass

        self._looked = asyncio.get_running_loop().time()
        self._index_pool.submit(look)

    def _reading(self, work: Callable[[Workspace, Any], object]) -> Callable[..., Any]:
        """Return what responds with a report on the newest snapshot."""

        async def respond(asked: Any) -> Response:
            return json_response(await self.read(partial(_read, work, asked)))

        return respond

    def _answering(
        self, work: Callable[[Any, Listener], AnswerReport | TurnReport]
    ) -> Callable[..., Any]:
        """Return what responds with the events of an answer."""

        async def respond(asked: Any) -> Response:
            def run(listener: Listener) -> AnswerReport | TurnReport:
                self._library.wait_for_answers()
                return work(asked, listener)

            events = answered(run, asked.question, self._answer_pool)
            return StreamingResponse(events, media_type="text/event-stream")

        return respond

    def _ask(self, asked: requests.Ask, to: Listener) -> AnswerReport:
        with self._library.reader(is_fresh=False) as workspace:
            return answer(
                workspace,
                asked,
                on_text=to.on_text,
                on_progress=to.on_progress,
                on_piece=to.on_piece,
            )

    def _chat(self, asked: requests.Chat, to: Listener) -> TurnReport:
        with Chat(self._library.config, asked) as chat:
            return chat.ask(asked.question, on_text=to.on_text, on_progress=to.on_progress)

    async def _index(self, asked: requests.Index) -> Response:
        def run() -> SyncReport:
            self._library.wait_for_notes()
            return sync(self._library.config, asked)

        loop = asyncio.get_running_loop()
        report = await loop.run_in_executor(self._index_pool, run)
        self._looked = 0.0
        return json_response(encode(report))

    async def _health(self, request: Request) -> Response:
        """Return that the server is up; nothing of the notes."""
        return JSONResponse({"schema": 1, "status": "ok", "version": __version__})

    def _openapi(self, request: Request) -> Response:  # in a thread: it reads all types
        return JSONResponse(describe(self.operations))

    async def _open(self, request: Request) -> Response:
        """Give a browser that opens a one-time link its cookie."""
        if not self._access.use_link(request.query_params.get("once", "")):
            hint = "`rag serve --http --open` makes a new one."
            raise RequestError(401, "unauthorized", "this link was used, or is too old", hint)
        reply = RedirectResponse("/", 303)
        name, value = self._cookie, self._access.cookie
        reply.set_cookie(name, value, COOKIE_SECONDS, httponly=True, samesite="strict")
        return reply


def _read(work: Callable[[Workspace, T], object], asked: T, workspace: Workspace) -> bytes:
    return encode(work(workspace, asked))


def _status(workspace: Workspace, asked: requests.Status) -> StatusReport:
    return read_status(workspace.config, asked.links, asked.vectors)


def _batch(workspace: Workspace, asked: requests.Batch) -> NotesReport:
    return get_notes(workspace.config, asked.notes, limits=Limits(asked.lines))


def _note(workspace: Workspace, asked: requests.Note) -> NoteReport:
    return get_note(workspace.config, asked.note, limits=Limits(_LINES))


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
