"""The page: its files, the parts of it that are made here, and pictures of the vaults."""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache, partial
from importlib.resources import files
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from unicodedata import normalize

from jinja2 import Environment, FunctionLoader
from markupsafe import Markup, escape
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from rag.app.index_state import FILE, OBSIDIAN, link_to
from rag.app.notes import Limits, NoteReport, get_note
from rag.app.related import related
from rag.app.requests import RelatedRequest
from rag.app.search import search
from rag.app.status import read_status
from rag.exceptions import NotFoundError, RAGError
from rag.search.matching_line import excerpt
from rag.search.results import QueryFilters
from rag.support.regular_files import open_file
from rag.text.messages import visible
from rag.vault.markdown import page_starts
from rag.web import requests
from rag.web.markdown import PICTURES, is_picture, note_address, render

if TYPE_CHECKING:
    from rag.app.workspace import Workspace
    from rag.search.results import SearchResult
    from rag.web.app import Api

_FILES = {"app.css": "text/css", "app.js": "text/javascript", "icon.svg": "image/svg+xml"}
_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self';"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_OF_PICTURES = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_SNIPPET = 220  # characters
_LIMITS = Limits(lines=10_000, bytes=1 << 20)
_LARGEST_PICTURE = 20 << 20  # bytes
_NAMES_KEPT = 30.0  # seconds

# Makes a part of the page out of what was asked; `parts` holds the macros of `parts.html`.
Part = Callable[["Workspace", Any, QueryParams], str]


def page_routes(api: Api) -> list[Route]:
    """Return the routes of the page."""

    async def image(request: Request) -> Response:
        """Return a picture that a note shows."""
        note, name = (request.query_params.get(one, "") for one in ("note", "name"))
        content, kind = await api.read(partial(_picture, note, normalize("NFC", name)))
        headers = {"Content-Security-Policy": _OF_PICTURES, "Cache-Control": "private, max-age=60"}
        if kind == PICTURES[".svg"]:  # in a page it is a picture; by itself it would be a document
            headers["Content-Disposition"] = "attachment"
        return Response(content, headers=headers, media_type=kind)

    def part(make: Part) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            work = partial(_part, make, _language(request), request.query_params)
            return HTMLResponse(await api.read(work))

        return respond

    parts = {"results": _results, "note": _note, "related": _related, "filters": _filters}
    parts["status"] = _status
    return [
        Route("/", _index),
        *(Route(f"/page/{name}", part(make)) for name, make in parts.items()),
        Route("/page/image", image),
        Route("/page/{name}", _file),
    ]


async def _index(request: Request) -> Response:
    """Return the page, in the language of the browser."""
    texts, nonce = _texts()[_language(request)], secrets.token_urlsafe(16)
    html = _templates().get_template("index.html").render(texts, texts=texts, nonce=nonce)
    return HTMLResponse(html, headers={"Content-Security-Policy": _POLICY.format(nonce=nonce)})


async def _file(request: Request) -> Response:
    """Return a file of the page."""
    name = request.path_params["name"]
    if name not in _FILES:
        raise NotFoundError("the page has no such file")
    return Response(_read(name), media_type=_FILES[name])


# -- parts, which readers make ---------------------------------------------------------


def _part(make: Part, language: str, params: QueryParams, workspace: Workspace) -> str:
    return make(workspace, _parts(language), params)


def _results(workspace: Workspace, parts: Any, params: QueryParams) -> str:
    """Return the results of a search; without one, the newest notes."""
    asked = requests.from_query(requests.Search, params)
    if not asked.query.strip() and asked.filters is None:
        asked = replace(asked, filters=QueryFilters(paths=["**"]))
    return str(parts.results(search(workspace, asked)))


def _note(workspace: Workspace, parts: Any, params: QueryParams) -> str:
    """Return a note, at the line that was named or that its name names."""
    name, vault, line = (params.get(one, "") for one in ("note", "in", "line"))
    report = _find(workspace, name, vault)
    row = report.note.row
    whole = get_note(workspace.config, f"{row.vault}/{row.path}", limits=_LIMITS)
    at = int(line) if line.isdecimal() else report.line_start if report.part else 0
    page = render(whole.lines, row.vault, row.path)
    template = workspace.state.uri
    if template in ("", FILE, OBSIDIAN):
        template = "vscode://file{path}:{line}"
    uris = {"obsidian": OBSIDIAN, "editor": template}
    on_page = bisect_right(page_starts(whole.lines), at - 1) if at else 0
    opens = {name: link_to(uri, whole.file, at or 1, page=on_page) for name, uri in uris.items()}
    return str(parts.note(whole, page, at, opens))


def _find(workspace: Workspace, name: str, vault: str) -> NoteReport:
    """Return what is called so, in a vault first."""
    if vault:
        with suppress(RAGError):
            return get_note(workspace.config, name, [vault], limits=Limits(0))
    return get_note(workspace.config, name, limits=Limits(0))


def _related(workspace: Workspace, parts: Any, params: QueryParams) -> str:
    """Return the notes related to one."""
    asked = RelatedRequest(params.get("note", ""), top_k=6)
    return str(parts.related(related(workspace, asked)))


def _filters(workspace: Workspace, parts: Any, params: QueryParams) -> str:
    """Return the vaults, tags and times that can be chosen."""
    return str(parts.filters(*([*workspace.count_notes(kind)] for kind in ("vaults", "tags"))))


def _status(workspace: Workspace, parts: Any, params: QueryParams) -> str:
    """Return the state of the index."""
    return str(parts.status(read_status(workspace.config)))


# -- pictures --------------------------------------------------------------------------


def _picture(note: str, name: str, workspace: Workspace) -> tuple[bytes, str]:
    """Return a picture of the vault of a note, and its kind: by its path from the note or from the
    vault, or by its name, as Obsidian finds it."""
    holder = get_note(workspace.config, note, limits=Limits(0)).note
    root, folder = holder.root, Path(holder.row.path).parent
    missing = NotFoundError("the vault has no such picture")
    names = _pictures(root, int(time.monotonic() / _NAMES_KEPT))
    wanted = (os.path.normpath(folder / name), os.path.normpath(name), Path(name).name)
    path = next((names[one] for one in wanted if one in names), "")
    file = root / path
    try:
        if not path or not file.resolve().is_relative_to(root.resolve()):
            raise missing
        with open_file(file) as stream:
            content = stream.read(_LARGEST_PICTURE + 1)
    except OSError as error:
        raise missing from error
    if len(content) > _LARGEST_PICTURE:
        raise NotFoundError("the picture is too large to be shown")
    return content, PICTURES[file.suffix.lower()]


@lru_cache(8)
def _pictures(root: Path, moment: int) -> dict[str, str]:
    """Return where the pictures of a vault are, by path and by name; hidden folders have none.

    :param moment: for which they are kept.
    """
    names: dict[str, str] = {}
    for folder, folders, entries in os.walk(root):
        folders[:] = [one for one in folders if not one.startswith(".")]
        for name in entries:
            if is_picture(name) and not name.startswith("."):
                path = os.path.relpath(Path(folder, name), root)
                names[normalize("NFC", path)] = path
                names.setdefault(normalize("NFC", name), path)
    return names


# -- templates -------------------------------------------------------------------------


@cache
def _read(name: str) -> str:
    return files("rag.web").joinpath("page", name).read_text("utf-8")


@cache
def _texts() -> dict[str, dict[str, str]]:
    return cast("dict[str, dict[str, str]]", json.loads(_read("texts.json")))


def _language(request: Request) -> str:
    """Return the first language of a browser that there are texts in."""
    accepted = request.headers.get("accept-language", "").lower().split(",")
    return next((name for one in accepted if (name := one.strip()[:2]) in _texts()), "en")


@cache
def _templates() -> Environment:
    """Return the templates: what they write is escaped, and every character of it seen."""
    made = Environment(
        loader=FunctionLoader(_read),
        autoescape=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
    )
    made.globals["address"] = note_address
    made.filters |= {
        "coded": _coded,
        "count": lambda text, count: text.replace("{n}", f"{count:,}"),
        "folders": lambda place: " / ".join([place[0], *Path(place[1]).parts[:-1]]),
        "pairs": lambda names: [(one, one) for one in names],
        "snippet": _snippet,
    }
    return made


@cache
def _parts(language: str) -> Any:
    return _templates().get_template("parts.html").make_module({"t": _texts()[language]})


def _coded(text: str) -> Markup:
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(visible(text)))))


def _snippet(hit: SearchResult, searched: str) -> Markup:
    """Return the words of a result that match, marked, and those around them."""
    text, spans = excerpt(hit, searched, _SNIPPET)
    cuts: Iterable[int] = [0, *chain.from_iterable(spans), len(text)]
    parts = [escape(text[start:end].replace("`", "")) for start, end in pairwise(cuts)]
    parts[1::2] = [Markup("<mark>{}</mark>").format(part) for part in parts[1::2]]
    return Markup("").join(parts)
