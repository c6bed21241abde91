"""The page: its files, the parts of it that are made here, and pictures of the vaults."""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from rag.app.index_state import FILE, OBSIDIAN, link_to
from rag.app.notes import Limits, get_note
from rag.app.related import related
from rag.app.requests import RelatedRequest
from rag.app.search import search
from rag.app.status import read_status
from rag.exceptions import NotFoundError, RAGError
from rag.search.matching_line import excerpt
from rag.search.results import QueryFilters
from rag.support.regular_files import open_file
from rag.text.messages import visible
from rag.web import requests
from rag.web.markdown import PICTURES, Page, is_picture, note_address, render

if TYPE_CHECKING:
    from rag.app.notes import NoteReport
    from rag.app.related import RelatedReport
    from rag.app.search import SearchReport
    from rag.app.status import StatusReport
    from rag.app.workspace import Workspace
    from rag.search.results import SearchResult
    from rag.web.app import Api

Texts = dict[str, str]
_FILES = {"app.css": "text/css", "app.js": "text/javascript", "icon.svg": "image/svg+xml"}
_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self';"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_OF_PICTURES = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_SNIPPET = 220  # characters
_MOST_TAGS, _FIRST_TAGS = 60, 8
_LIMITS = Limits(lines=10_000, bytes=1 << 20)
_LARGEST_PICTURE = 20 << 20  # bytes
_NAMES_KEPT = 30.0  # seconds


def page_routes(api: Api) -> list[Route]:
    """Return the routes of the page."""
    pages = _Pages(api)
    return [
        Route("/", pages.index),
        Route("/page/results", pages.results),
        Route("/page/note", pages.note),
        Route("/page/related", pages.related),
        Route("/page/filters", pages.filters),
        Route("/page/status", pages.status),
        Route("/page/image", pages.image),
        Route("/page/{name}", pages.file),
    ]


class _Pages:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._pictures: dict[Path, tuple[float, dict[str, str]]] = {}

    async def index(self, request: Request) -> Response:
        """Return the page, in the language of the browser."""
        texts, nonce = _texts(request), secrets.token_urlsafe(16)
        page = _read("index.html")
        filled = {name: escape(text) for name, text in texts.items()} | {
            "nonce": nonce,
            "texts": json.dumps(texts, ensure_ascii=False).replace("<", "\\u003c"),
        }
        for name, text in filled.items():
            page = page.replace(f"{{{{{name}}}}}", text)
        return HTMLResponse(page, headers={"Content-Security-Policy": _POLICY.format(nonce=nonce)})

    async def file(self, request: Request) -> Response:
        """Return a file of the page."""
        name = request.path_params["name"]
        if name not in _FILES:
            raise NotFoundError("the page has no such file")
        return Response(_read(name), media_type=_FILES[name])

    async def results(self, request: Request) -> Response:
        """Return the results of a search."""
        asked = requests.from_query(requests.Search, request.query_params)
        if not asked.query.strip() and asked.filters is None:
            asked = replace(asked, filters=QueryFilters(paths=["**"]))  # the newest of all
        return await self._part(request, lambda one, texts: _results(search(one, asked), texts))

    async def note(self, request: Request) -> Response:
        """Return a note."""
        asked = request.query_params
        line = int(asked["line"]) if asked.get("line", "").isdecimal() else 0

        def make(workspace: Workspace, texts: Texts) -> Iterator[str]:
            report = _find(workspace, asked.get("note", ""), asked.get("in", ""))
            row = report.note.row
            whole = get_note(workspace.config, f"{row.vault}/{row.path}", limits=_LIMITS)
            at = line or (report.line_start if report.part else 0)
            return _note(whole, render(whole.lines, row.vault, row.path), at, workspace, texts)

        return await self._part(request, make)

    async def related(self, request: Request) -> Response:
        """Return the notes related to one."""
        asked = RelatedRequest(request.query_params.get("note", ""), top_k=6)
        return await self._part(request, lambda one, texts: _related(related(one, asked), texts))

    async def filters(self, request: Request) -> Response:
        """Return the vaults, tags and times that can be chosen."""

        def make(workspace: Workspace, texts: Texts) -> Iterator[str]:
            vaults, tags = workspace.count_notes("vaults"), workspace.count_notes("tags")
            return _filters([*vaults], [*tags][:_MOST_TAGS], texts)

        return await self._part(request, make)

    async def status(self, request: Request) -> Response:
        """Return the state of the index."""
        return await self._part(request, lambda one, texts: _status(read_status(one.config), texts))

    async def _part(
        self, request: Request, make: Callable[[Workspace, Texts], Iterator[str]]
    ) -> Response:
        """Return a part of the page, made in a thread, in the language of the browser."""
        texts = _texts(request)
        return HTMLResponse(await self._api.read(lambda one: "".join(make(one, texts))))

    async def image(self, request: Request) -> Response:
        """Return a picture that a note shows."""
        note, name = request.query_params.get("note", ""), request.query_params.get("name", "")

        def work(workspace: Workspace) -> tuple[bytes, str]:
            found = get_note(workspace.config, note, limits=Limits(0)).note
            return self._picture(found.root, Path(found.row.path).parent, normalize("NFC", name))

        content, kind = await self._api.read(work)
        headers = {"Content-Security-Policy": _OF_PICTURES, "Cache-Control": "private, max-age=60"}
        if kind == PICTURES[".svg"]:  # in a page it is a picture; by itself it would be a document
            headers["Content-Disposition"] = "attachment"
        return Response(content, headers=headers, media_type=kind)

    def _picture(self, root: Path, folder: Path, name: str) -> tuple[bytes, str]:
        """Return a picture of a vault, and its kind: by its path from the note or from the vault,
        or by its name, as Obsidian finds it.

        :raises NotFoundError: for anything else.
        """
        missing = NotFoundError("the vault has no such picture")
        names = self._names(root)
        wanted = (os.path.normpath(folder / name), os.path.normpath(name), Path(name).name)
        path = next((names[one] for one in wanted if one in names), "")
        file, base = root / path, root.resolve()
        try:
            if not path or not file.resolve().is_relative_to(base):
                raise missing
            with open_file(file) as stream:
                content = stream.read(_LARGEST_PICTURE + 1)
        except OSError as error:
            raise missing from error
        if len(content) > _LARGEST_PICTURE:
            raise NotFoundError("the picture is too large to be shown")
        return content, PICTURES[file.suffix.lower()]

    def _names(self, root: Path) -> dict[str, str]:
        """Return where the pictures of a vault are, by path and by name; hidden folders have
        none."""
        seen, names = self._pictures.get(root, (0.0, {}))
        if names and time.monotonic() - seen < _NAMES_KEPT:
            return names
        names = {}
        for folder, folders, found in os.walk(root):
            folders[:] = [one for one in folders if not one.startswith(".")]
            for one in found:
                if is_picture(one) and not one.startswith("."):
                    path = os.path.relpath(Path(folder, one), root)
                    names[normalize("NFC", path)] = path
                    names.setdefault(normalize("NFC", one), path)
        self._pictures[root] = time.monotonic(), names
        return names


def _find(workspace: Workspace, name: str, vault: str) -> NoteReport:
    """Return what is called so, in a vault first."""
    if vault:
        try:
            return get_note(workspace.config, name, [vault], limits=Limits(0))
        except RAGError:
            pass
    return get_note(workspace.config, name, limits=Limits(0))


@cache
def _read(name: str) -> str:
    return files("rag.web").joinpath("page", name).read_text("utf-8")


@cache
def _all_texts() -> dict[str, Texts]:
    texts: dict[str, Texts] = json.loads(_read("texts.json"))
    return texts


def _texts(request: Request) -> Texts:
    """Return the texts in the first language of a browser that there are texts in."""
    for language in request.headers.get("accept-language", "").lower().split(","):
        if (name := language.strip()[:2]) in _all_texts():
            return _all_texts()[name]
    return _all_texts()["en"]


# -- parts of the page -----------------------------------------------------------------


def _shown(text: str) -> str:
    """Return a name as HTML, every character of it seen."""
    return escape(visible(text))


def _counted(texts: Texts, name: str, count: int) -> str:
    return texts[name].replace("{n}", f"{count:,}")


def _results(report: SearchReport, texts: Texts) -> Iterator[str]:
    response = report.response
    if not response.results:
        yield f'<div class="empty"><p>{texts["none"]}</p><p>{texts["noneHint"]}</p></div>'
    else:
        count = len(response.results)
        found = texts["foundOne"] if count == 1 else _counted(texts, "found", count)
        heading = found if response.query.strip() else texts["recent"]
        yield f'<h2 class="count" data-said="{escape(heading)}">{escape(heading)}</h2>'
    own = [
        texts["corrected"].replace("{meant}", meant).replace("{word}", word)
        for word, meant in report.corrections.items()
    ]
    if report.missing:
        own.append(texts["missing"].replace("{words}", ", ".join(report.missing)))
    yield from (_notice(one, language=texts["lang"]) for one in own)
    for notice in response.notices:
        yield _notice(notice, texts["notice"])
    yield "<ol>"
    for result in response.results:
        yield _result(result, response.searched, texts)
    yield "</ol>"
    if report.nearest:
        yield f'<h2 class="count">{texts["nearest"]}</h2><ol class="near">'
        yield from (_result(result, response.searched, texts) for result in report.nearest)
        yield "</ol>"


def _notice(text: str, label: str = "", language: str = "en") -> str:
    """Return what there is to know as HTML, `code` of it as code.

    :param label: in the language of the page, before what the program says.
    """
    told = re.sub("`([^`]+)`", r"<code>\1</code>", _shown(text))
    return f'<p class="notice">{label}<span lang="{language}">{told}</span></p>'


def _result(result: SearchResult, searched: str, texts: Texts) -> str:
    text, spans = excerpt(result, searched, _SNIPPET)
    marked, at = [], 0
    for start, end in spans:
        marked += [escape(text[at:start]), f"<mark>{escape(text[start:end])}</mark>"]
        at = end
    marked.append(escape(text[at:]))
    note = f"{result.vault}/{result.file_path}"
    folder = "/".join([result.vault, *Path(result.file_path).parts[:-1]])
    heading = [part for part in result.heading if part != result.title]
    where = " › ".join([folder.replace("/", " / "), *heading])
    tags = "".join(f"<i>#{_shown(tag)}</i>" for tag in result.tags[:3])
    tags += f'<b class="stale">{texts["gone"]}</b>' if result.gone else ""
    day = f"<time>{escape(result.created[:10])}</time>" if result.created else ""
    return (
        f'<li><a href="{escape(note_address(note, line=result.line))}">'
        f"<strong>{_shown(result.title)}</strong>"
        f'<span class="where">{_shown(where)}</span>'
        f'<span class="snippet">{"".join(marked)}</span>'
        f'<span class="facts">{tags}{day}</span></a></li>'
    )


def _note(
    report: NoteReport, page: Page, line: int, workspace: Workspace, texts: Texts
) -> Iterator[str]:
    row = report.note.row
    where = f"{row.vault} / {row.path.replace('/', ' / ')}"
    yield (
        f'<div class="bar"><button type="button" class="back quiet" aria-label="{texts["back"]}">'
        f'<span aria-hidden="true">←</span></button><span class="where">{_shown(where)}</span>'
        f'<span class="opens">{_opens(report, line, workspace, texts)}</span></div>'
    )
    has_title = any(one.level == 1 for one in page.headings[:1])
    title = "" if has_title else f"<h1>{_shown(row.title)}</h1>"
    facts = [
        f'<a class="tag" href="/?{urlencode({"tag": tag})}">#{_shown(tag)}</a>' for tag in row.tags
    ]
    facts += [f"<time>{texts['created']} {escape(row.created[:10])}</time>"] if row.created else []
    yield f'<div class="columns"><article data-line="{line}" data-title="{_shown(row.title)}">'
    yield f'{title}<p class="facts">{"".join(facts)}</p>'
    yield _properties(page, texts)
    yield page.html
    if report.notice or report.more:
        yield f'<p class="notice">{escape(report.notice) or texts["tooLong"]}</p>'
    yield "</article><aside>"
    if len(page.headings) > 1:
        yield f"<details open><summary>{texts['contents']}</summary><nav><ul>"
        for one in page.headings[:100]:
            target = f'<a href="#" data-to="{one.line}">{_shown(one.text)}</a>'
            yield f'<li class="level-{one.level}">{target}</li>'
        yield "</ul></nav></details>"
    if report.backlinks:
        yield f"<details open><summary>{texts['backlinks']}</summary><ul>"
        for link in report.backlinks[:50]:
            source = link.source
            href = note_address(f"{source.vault}/{source.path}", line=link.line)
            yield f'<li><a href="{escape(href)}">{_shown(source.title)}</a></li>'
        yield "</ul></details>"
    place = escape(f"{row.vault}/{row.path}")
    yield f'<div class="related" data-note="{place}"></div></aside></div>'


def _opens(report: NoteReport, line: int, workspace: Workspace, texts: Texts) -> str:
    """Return the links that open a note elsewhere."""
    file, template = report.note.file, workspace.state.uri
    editor = template if template not in ("", FILE, OBSIDIAN) else "vscode://file{path}:{line}"
    links = {"obsidian": OBSIDIAN, "editor": editor}
    return "".join(
        f'<a href="{escape(link_to(kind, file, line or 1))}">{texts[name]}</a>'
        for name, kind in links.items()
    )


def _properties(page: Page, texts: Texts) -> str:
    shown = {
        name: value
        for name, value in page.properties.items()
        if value and name.lower() not in ("tags", "tag", "title", "created", "cssclasses")
    }
    if not shown:
        return ""
    rows = (f"<dt>{_shown(name)}</dt><dd>{_shown(value)}</dd>" for name, value in shown.items())
    head = f'<details class="properties"><summary>{texts["properties"]}</summary>'
    return f"{head}<dl>{''.join(rows)}</dl></details>"


def _related(report: RelatedReport, texts: Texts) -> Iterator[str]:
    yield f"<details open><summary>{texts['related']}</summary>"
    if not report.results:
        yield f"<p>{texts['noRelated']}</p>"
    yield "<ul>"
    for one in report.results:
        line = one.passages[0].line if one.passages else 0
        href = note_address(f"{one.vault}/{one.path}", line=line)
        why = _shown(", ".join(one.reasons.words[:4]))
        yield f'<li><a href="{escape(href)}">{_shown(one.title)}</a><small>{why}</small></li>'
    yield "</ul></details>"


def _filters(vaults: list[str], tags: list[str], texts: Texts) -> Iterator[str]:
    if len(vaults) > 1:
        yield from _buttons("vault", {vault: vault for vault in vaults})
        yield "<hr>"
    times = {"7": texts["week"], "30": texts["month"], "365": texts["year"]}
    yield from _buttons("days", times)
    if tags:
        yield "<hr>"
        yield from _buttons("tag", {tag: f"#{tag}" for tag in tags[:_FIRST_TAGS]})
    if tags[_FIRST_TAGS:]:
        yield f"<details><summary>{texts['moreTags']}</summary><div>"
        yield from _buttons("tag", {tag: f"#{tag}" for tag in tags[_FIRST_TAGS:]})
        yield "</div></details>"


def _buttons(kind: str, choices: dict[str, str]) -> Iterable[str]:
    return (
        f'<button type="button" data-filter="{kind}" data-value="{escape(value)}"'
        f' aria-pressed="false">{_shown(shown)}</button>'
        for value, shown in choices.items()
    )


def _status(report: StatusReport, texts: Texts) -> Iterator[str]:
    index = report.index
    changed, made = index.changed, index.embedding
    age = texts["unknown"] if changed is None else texts["fresh"]
    state = "stale" if changed or changed is None else "fresh"
    if changed:
        age = _counted(texts, "changed", changed)
    facts = [
        _counted(texts, "notes", index.notes),
        f"{texts['indexed']} {index.indexed_at[:16].replace('T', ' ')}",
        f'<b class="{state}">{age}</b>',
        texts["byMeaning"] if made and made.embedded else texts["byWords"],
    ]
    if report.not_indexed:
        names = ", ".join(map(_shown, report.not_indexed))
        facts.append(texts["notIndexed"].replace("{names}", names))
    if report.problems:
        names = "\n".join(f"{one.vault}/{one.path}" for one in report.problems[:20])
        said = _counted(texts, "problems", len(report.problems))
        facts.append(f'<span title="{escape(names)}">{said}</span>')
    yield from (f"<span>{fact}</span>" for fact in facts)
    yield f'<button type="button" id="index-now" class="quiet">{texts["indexNow"]}</button>'
