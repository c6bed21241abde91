"""The routes: each takes a request of `rag.web.requests` and gives a report of `rag.app`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from rag import __version__
from rag.app.ask import AnswerReport
from rag.app.ask import ask as answer
from rag.app.chat import Chat, TurnReport
from rag.app.notes import Limits, get_note, get_notes
from rag.app.related import related
from rag.app.search import search
from rag.app.status import read_status
from rag.app.sync import sync
from rag.app.workspace import Workspace
from rag.config import RAGConfig
from rag.exceptions import RAGError
from rag.mcp.library import Library
from rag.web import requests
from rag.web.access import COOKIE_SECONDS, Access
from rag.web.answers import Listener, answered
from rag.web.mcp import Endpoint
from rag.web.openapi import describe
from rag.web.reports import RequestError, error_response, report_response

T = TypeVar("T")
_READERS, _WRITERS = 3, 2  # threads for searches, and for answers
_LOOK = 3.0  # seconds between two looks for changed notes
_PAUSE, _LATEST = 0.5, 15.0  # without a request before one; after which nobody waits for a pause
_LINE = 10_000  # lines of one note


class Api:
    """Answers requests for the notes of one configuration, which a library reads."""

    def __init__(self, config: RAGConfig, library: Library, access: Access, cookie: str) -> None:
        self._config, self.library, self._access, self._cookie = config, library, access, cookie
        self._read_pool = ThreadPoolExecutor(_READERS, "read")
        self._answer_pool = ThreadPoolExecutor(_WRITERS, "answer")
        self._look_pool = ThreadPoolExecutor(1, "look")
        self._index_pool = ThreadPoolExecutor(1, "index")
        mcp = Endpoint(library, ThreadPoolExecutor(_WRITERS, "mcp"))
        self._looked = 0.0
        self._look_timer: asyncio.TimerHandle | None = None
        self.routes = [
            Route("/health", self.health),
            Route("/open", self.open),
            Route("/openapi.json", self.openapi),
            Route("/v1/search", self.search),
            Route("/v1/status", self.status),
            Route("/v1/notes:batch", self.batch, methods=["POST"]),
            Route("/v1/notes/{id:path}/related", self.related),
            Route("/v1/notes/{id:path}", self.note),
            Route("/v1/ask", self.ask, methods=["POST"]),
            Route("/v1/chat", self.chat, methods=["POST"]),
            Route("/v1/index", self.index, methods=["POST"]),
            Route("/mcp", mcp.answer, methods=["POST"]),
        ]

    async def read(self, work: Callable[[Workspace], T]) -> T:
        """Do something with a reader of the newest snapshot, in a thread.

        Whether notes changed is found out every few seconds, between two requests.
        """
        loop = asyncio.get_running_loop()
        if self._look_timer:
            self._look_timer.cancel()
        due = max(_PAUSE, self._looked + _LOOK - loop.time())
        is_late = loop.time() - self._looked > _LATEST
        self._look_timer = loop.call_later(0 if is_late else due, self._begin_look)

        def run() -> T:
            self.library.wait_for_notes()
            with self.library.reader(is_fresh=False) as workspace:
                return work(workspace)

        return await loop.run_in_executor(self._read_pool, run)

    def _begin_look(self) -> None:
        """Have a thread look for changed notes, and index them where they are few."""

        def look() -> None:
            self.library.wait_for_notes()
            with self.library.reader():
                pass

        self._looked = asyncio.get_running_loop().time()
        self._look_pool.submit(look)

    async def health(self, request: Request) -> Response:
        """Return that the server is up; nothing of the notes."""
        return JSONResponse({"schema": 1, "status": "ok", "version": __version__})

    async def open(self, request: Request) -> Response:
        """Give a browser that opens a one-time link its cookie."""
        if not self._access.use_link(request.query_params.get("once", "")):
            hint = "`rag serve --http --open` makes a new one."
            raise RequestError(401, "unauthorized", "this link was used, or is too old", hint)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self._cookie,
            self._access.cookie,
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
        )
        return answer

    async def openapi(self, request: Request) -> Response:
        """Return the description of the API."""
        return JSONResponse(describe(self.routes))

    async def search(self, request: Request) -> Response:
        """Search."""
        asked = requests.from_query(requests.Search, request.query_params)
        return report_response(await self.read(lambda workspace: search(workspace, asked)))

    async def note(self, request: Request) -> Response:
        """Read a note."""
        requests.from_query(requests.Note, request.query_params)
        name, limits = request.path_params["id"], Limits(_LINE)
        report = await self.read(lambda one: get_note(one.config, name, limits=limits))
        return report_response(report)

    async def related(self, request: Request) -> Response:
        """Find related notes."""
        asked = requests.from_query(
            requests.Related, request.query_params, note=request.path_params["id"]
        )
        return report_response(await self.read(lambda workspace: related(workspace, asked)))

    async def status(self, request: Request) -> Response:
        """Return the state of the index."""
        asked = requests.from_query(requests.Status, request.query_params)
        report = await self.read(lambda one: read_status(one.config, asked.links, asked.vectors))
        return report_response(report)

    async def batch(self, request: Request) -> Response:
        """Read several notes."""
        asked = requests.from_body(requests.Batch, await request.body())
        limits = Limits(asked.lines)
        report = await self.read(lambda one: get_notes(one.config, asked.notes, limits=limits))
        return report_response(report)

    async def ask(self, request: Request) -> Response:
        """Answer a question, as events."""
        asked = requests.from_body(requests.Ask, await request.body())

        def work(to: Listener) -> AnswerReport:
            with self.library.reader(is_fresh=False) as workspace:
                return answer(
                    workspace,
                    asked,
                    on_text=to.on_text,
                    on_progress=to.on_progress,
                    on_piece=to.on_piece,
                )

        return self._stream(work, asked.question)

    async def chat(self, request: Request) -> Response:
        """Answer a question of a conversation, as events."""
        asked = requests.from_body(requests.Chat, await request.body())

        def work(to: Listener) -> TurnReport:
            with Chat(self._config, asked) as chat:
                return chat.ask(asked.question, on_text=to.on_text, on_progress=to.on_progress)

        return self._stream(work, asked.question)

    def _stream(
        self, work: Callable[[Listener], AnswerReport | TurnReport], question: str
    ) -> Response:
        def run(listener: Listener) -> AnswerReport | TurnReport:
            self.library.wait_for_answers()
            return work(listener)

        events = answered(run, question, self._answer_pool)
        return StreamingResponse(events, media_type="text/event-stream")

    async def index(self, request: Request) -> Response:
        """Index what changed."""
        asked = requests.from_body(requests.Index, await request.body())

        def run() -> object:
            self.library.wait_for_notes()
            return sync(self._config, asked)

        loop = asyncio.get_running_loop()
        report = await loop.run_in_executor(self._index_pool, run)
        self._looked = 0.0
        return report_response(report)


def make_app(api: Api, pages: Sequence[Route] = ()) -> Starlette:
    """Return the application that answers requests which have passed the gate."""

    async def refuse(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            kind, told, hint = "usage", "the request cannot be read", "`/openapi.json` lists all."
            if error.status_code == 404:
                kind, told = "not_found", "there is no such address"
            elif error.status_code == 405:
                methods = " or ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
                told, hint = "this address is not asked like that", f"Ask it with {methods}."
            error = RequestError(error.status_code, kind, told, hint)
        elif not isinstance(error, RAGError):
            hint = "Its output says more; `rag doctor` checks the index."
            error = RequestError(500, "error", "the server failed at this request", hint)
        return error_response(error, request)

    handlers = dict.fromkeys((HTTPException, RAGError, Exception), refuse)
    return Starlette(routes=[*api.routes, *pages], exception_handlers=handlers)
