"""The routes of the API and of the page: most take a request of `rag.web.requests` and give a
report of `rag.app`. Nothing here imports what reads notes: that is done in other processes, by
`Readers`."""

from __future__ import annotations

import asyncio
import json
import secrets
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from importlib.resources import files
from pkgutil import resolve_name
from typing import Any, NamedTuple, cast
from unicodedata import normalize
from urllib.parse import unquote

from jinja2 import Environment, FunctionLoader
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from rag import __version__
from rag.app.library import Library
from rag.exceptions import ArgumentError, RAGError
from rag.web.answers import Listener, RequestError, answered, encode, error_response
from rag.web.gate import COOKIE_SECONDS, Access
from rag.web.mcp import Endpoint
from rag.web.readers import Readers

_ANSWERS = 2  # at once; more only wait for each other


class Operation(NamedTuple):
    """A route that takes a request and gives a report.

    :param request: the name of its type in `rag.web.requests`.
    :param work: the function that makes the report, as `module:name`.
    :param gives: what it gives: a report on the newest snapshot; events, of which the last holds
        the report; or a report on what it wrote.
    """

    method: str
    path: str
    request: str
    work: str
    gives: str = "report"


OPERATIONS = (
    Operation("GET", "/v1/search", "Search", "rag.app.search:search"),
    Operation("GET", "/v1/status", "Status", "rag.web.requests:status"),
    Operation("POST", "/v1/notes:batch", "Batch", "rag.web.requests:notes"),
    Operation("GET", "/v1/notes/{id}/related", "Related", "rag.app.related:related"),
    Operation("GET", "/v1/notes/{id}", "Note", "rag.web.requests:note"),
    Operation("POST", "/v1/ask", "Ask", "rag.web.answers:ask", "events"),
    Operation("POST", "/v1/chat", "Chat", "rag.web.answers:chat", "events"),
    Operation("POST", "/v1/index", "Index", "rag.app.sync:sync", "changes"),
)
_FILES = {"app.css": "text/css", "app.js": "text/javascript", "icon.svg": "image/svg+xml"}
_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self';"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_OF_PICTURES = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


def make_app(library: Library, readers: Readers, access: Access) -> Starlette:
    """Return the application that answers requests which have passed the gate."""
    api = _Api(library, readers, access)
    ways = {"report": api.read_report, "events": api.answer, "changes": api.index}
    mcp = Endpoint(library, ThreadPoolExecutor(_ANSWERS, "mcp"))
    routes = [
        Route("/", _index_page),
        Route("/page/image", api.picture),
        Route("/page/{name}", api.part),
        Route("/health", _health),
        Route("/open", api.open),
        Route("/openapi.json", api.describe),
        Route("/mcp", mcp.answer, methods=["POST"]),
    ]
    for operation in OPERATIONS:
        path = operation.path.replace("{id}", "{note:path}")
        respond = partial(ways[operation.gives], operation)
        routes.append(Route(path, respond, methods=[operation.method]))
    handlers = dict.fromkeys((HTTPException, RAGError, Exception), _refuse)
    return Starlette(routes=routes, exception_handlers=handlers)


class _Api:
    """Answers requests for the notes of a library."""

    def __init__(self, library: Library, readers: Readers, access: Access) -> None:
        self._library, self._read, self._access = library, readers.read, access
        self._answer_pool = ThreadPoolExecutor(_ANSWERS, "answer")
        self._index_pool = ThreadPoolExecutor(1, "index")

    async def read_report(self, operation: Operation, request: Request) -> Response:
        """Give a report on the newest snapshot."""
        given = await request.body() if operation.method == "POST" else _query(request)
        named = request.path_params
        report = await self._read("rag.web.requests:answer", operation, given, named)
        return Response(report, media_type="application/json")

    async def answer(self, operation: Operation, request: Request) -> Response:
        """Give the events of an answer."""
        asked = await asyncio.to_thread(self._parse, operation, await request.body())

        def run(listener: Listener) -> Any:
            self._library.wait_for_answers()
            return resolve_name(operation.work)(self._library, asked, listener)

        events = answered(run, asked.question, self._answer_pool)
        return StreamingResponse(events, media_type="text/event-stream")

    async def index(self, operation: Operation, request: Request) -> Response:
        """Write the index, and give a report on that."""

        def run() -> bytes:
            asked = self._parse(operation, body)
            return encode(resolve_name(operation.work)(self._library.config, asked))

        body, loop = await request.body(), asyncio.get_running_loop()
        report = await loop.run_in_executor(self._index_pool, run)
        return Response(report, media_type="application/json")

    def _parse(self, operation: Operation, body: bytes) -> Any:
        self._library.wait_for_notes()
        return resolve_name("rag.web.requests:parse")(operation.request, body)

    async def describe(self, request: Request) -> Response:
        """Give the OpenAPI description."""
        return JSONResponse(await self._read("rag.web.openapi:describe", OPERATIONS))

    async def open(self, request: Request) -> Response:
        """Give a browser that opens a one-time link its cookie."""
        if not self._access.use_link(request.query_params.get("once", "")):
            hint = "`rag serve --http --open` makes a new one."
            raise RequestError(401, "unauthorized", "this link was used, or is too old", hint)
        reply = RedirectResponse("/", 303)
        name, value = self._access.cookie_name, self._access.cookie
        reply.set_cookie(name, value, COOKIE_SECONDS, httponly=True, samesite="strict")
        return reply

    async def part(self, request: Request) -> Response:
        """Give a file of the page, or a part of it."""
        name = request.path_params["name"]
        if name in _FILES:
            return Response(read_file(name), media_type=_FILES[name])
        asked = name, _language(request), request.query_params
        return Response(await self._read("rag.web.parts:part", *asked), media_type="text/html")

    async def picture(self, request: Request) -> Response:
        """Give a picture that a note shows."""
        note, name = (request.query_params.get(key, "") for key in ("note", "name"))
        content, kind = await self._read("rag.web.parts:picture", note, normalize("NFC", name))
        headers = {"Content-Security-Policy": _OF_PICTURES, "Cache-Control": "private, max-age=60"}
        if kind == _FILES["icon.svg"]:  # by itself it would be a document, in a page it is none
            headers["Content-Disposition"] = "attachment"
        return Response(content, headers=headers, media_type=kind)


async def _health(request: Request) -> Response:
    """Give that the server is up; nothing of the notes."""
    return JSONResponse({"schema": 1, "status": "ok", "version": __version__})


async def _index_page(request: Request) -> Response:
    """Give the page, in the language of the browser."""
    texts, nonce = all_texts()[_language(request)], secrets.token_urlsafe(16)
    templates = Environment(loader=FunctionLoader(read_file), autoescape=True)
    html = templates.get_template("index.html").render(texts, texts=texts, nonce=nonce)
    policy = {"Content-Security-Policy": _POLICY.format(nonce=nonce)}
    return Response(html, headers=policy, media_type="text/html")


def _language(request: Request) -> str:
    """Return the first language of a browser that there are texts in."""
    accepted = request.headers.get("accept-language", "").lower().split(",")
    return next((name for one in accepted if (name := one.strip()[:2]) in all_texts()), "en")


def _query(request: Request) -> QueryParams:
    """Return what is asked for in an address.

    :raises ArgumentError: where its bytes are no text: they would be read as other characters.
    """
    try:
        unquote(request.url.query, errors="strict")
    except UnicodeDecodeError as error:
        hint = "Encode it as UTF-8, and each byte as %XX."
        raise ArgumentError("the query of the address is not UTF-8", hint=hint) from error
    return request.query_params


async def _refuse(request: Request, error: Exception) -> Response:
    """Give what went wrong."""
    if isinstance(error, HTTPException) and error.status_code == 404:
        hint = "`/openapi.json` lists all."
        error = RequestError(404, "not_found", "there is no such address", hint)
    elif isinstance(error, HTTPException):
        hint = f"Ask it with {' or '.join(sorted((error.headers or {})['Allow'].split(', ')))}."
        error = RequestError(405, "usage", "this address is not asked like that", hint)
    elif not isinstance(error, RAGError):
        hint = "Its output says more; `rag doctor` checks the index."
        error = RequestError(500, "error", "the server failed at this request", hint)
    return error_response(error, request)


@cache
def read_file(name: str) -> str:
    """Return a file of the page."""
    return files("rag.web").joinpath("page", name).read_text("utf-8")


@cache
def all_texts() -> dict[str, dict[str, str]]:
    """Return the texts of the page, by language."""
    return cast("dict[str, dict[str, str]]", json.loads(read_file("texts.json")))
