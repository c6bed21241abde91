"""The page: its files, and its parts, which readers make."""

from __future__ import annotations

import json
import secrets
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, cast
from unicodedata import normalize

from jinja2 import Environment, FunctionLoader
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from rag.exceptions import NotFoundError

if TYPE_CHECKING:
    from rag.web.app import Api

_FILES = {"app.css": "text/css", "app.js": "text/javascript", "icon.svg": "image/svg+xml"}
_PARTS = ("results", "note", "related", "filters", "status")  # functions of `rag.web.parts`
_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self';"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_OF_PICTURES = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


def page_routes(api: Api) -> list[Route]:
    """Return the routes of the page."""

    async def named(request: Request) -> Response:
        """Return a part of the page, or a file of it."""
        name = request.path_params["name"]
        if name in _PARTS:
            asked = language_of(request), request.query_params
            return HTMLResponse(await api.read(f"rag.web.parts:{name}", *asked))
        if name not in _FILES:
            raise NotFoundError("the page has no such file")
        return Response(read_file(name), media_type=_FILES[name])

    async def image(request: Request) -> Response:
        """Return a picture that a note shows."""
        note, name = (request.query_params.get(one, "") for one in ("note", "name"))
        content, kind = await api.read("rag.web.parts:picture", note, normalize("NFC", name))
        headers = {"Content-Security-Policy": _OF_PICTURES, "Cache-Control": "private, max-age=60"}
        if (
            kind == _FILES["icon.svg"]
        ):  # in a page it is a picture; by itself it would be a document
            headers["Content-Disposition"] = "attachment"
        return Response(content, headers=headers, media_type=kind)

    routes = {"/": _index, "/page/image": image, "/page/{name}": named}
    return [Route(path, respond) for path, respond in routes.items()]


async def _index(request: Request) -> Response:
    """Return the page, in the language of the browser."""
    texts, nonce = all_texts()[language_of(request)], secrets.token_urlsafe(16)
    templates = Environment(loader=FunctionLoader(read_file), autoescape=True)
    html = templates.get_template("index.html").render(texts, texts=texts, nonce=nonce)
    return HTMLResponse(html, headers={"Content-Security-Policy": _POLICY.format(nonce=nonce)})


@cache
def read_file(name: str) -> str:
    """Return a file of the page."""
    return files("rag.web").joinpath("page", name).read_text("utf-8")


@cache
def all_texts() -> dict[str, dict[str, str]]:
    """Return the texts of the page, by language."""
    return cast("dict[str, dict[str, str]]", json.loads(read_file("texts.json")))


def language_of(request: Request) -> str:
    """Return the first language of a browser that there are texts in."""
    accepted = request.headers.get("accept-language", "").lower().split(",")
    return next((name for one in accepted if (name := one.strip()[:2]) in all_texts()), "en")
