"""The parts of the page, which readers make of what was asked, and pictures of the vaults."""

from __future__ import annotations

import os
import re
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any
from unicodedata import normalize

from jinja2 import Environment, FunctionLoader
from markupsafe import Markup, escape
from starlette.datastructures import QueryParams

from rag.app.index_state import FILE, OBSIDIAN, link_to
from rag.app.notes import Limits, get_note
from rag.app.related import related
from rag.app.requests import RelatedRequest
from rag.app.search import search
from rag.app.status import read_status
from rag.app.workspace import Workspace
from rag.exceptions import NotFoundError, RAGError
from rag.search.matching_line import excerpt
from rag.search.results import QueryFilters, SearchResult
from rag.support.files import open_file
from rag.text.messages import visible
from rag.vault.markdown import page_starts
from rag.web import requests
from rag.web.app import all_texts, read_file
from rag.web.markdown import PICTURES, is_picture, note_address, render

_SNIPPET = 220  # characters
_LIMITS = Limits(lines=10_000, bytes=1 << 20)
_LARGEST_PICTURE = 20 << 20  # bytes
_NAMES_KEPT = 30.0  # seconds


def part(workspace: Workspace, name: str, language: str, params: QueryParams) -> str:
    """Return a part of the page as HTML, by a macro of `parts.html`."""
    if name not in _GIVEN:
        raise NotFoundError("the page has no such part")
    return str(getattr(_macros(language), name)(*_GIVEN[name](workspace, params)))


def _results(workspace: Workspace, params: QueryParams) -> tuple[Any, ...]:
    """Search; without a query or a filter, give the newest notes."""
    asked = requests.parse("Search", params)
    if not asked.query.strip() and asked.filters is None:
        asked = replace(asked, filters=QueryFilters(vaults=[*workspace.state.roots]))
    return (search(workspace, asked),)


def _note(workspace: Workspace, params: QueryParams) -> tuple[Any, ...]:
    """Read a note, at the line that was named or that its name names."""
    name, vault, line = (params.get(key, "") for key in ("note", "in", "line"))
    try:
        report = get_note(workspace.config, name, [vault] if vault else (), limits=Limits(0))
    except RAGError:  # it is looked for in this vault first
        report = get_note(workspace.config, name, limits=Limits(0))
    row = report.note.row
    whole = get_note(workspace.config, f"{row.vault}/{row.path}", limits=_LIMITS)
    at = int(line[:9]) if line.isdecimal() else report.line_start if report.part else 0
    html, fields = render(whole.lines, row.vault, row.path)
    template = workspace.state.uri
    if template in ("", FILE, OBSIDIAN):
        template = "vscode://file{path}:{line}"
    uris = {"obsidian": OBSIDIAN, "editor": template}
    on_page = bisect_right(page_starts(whole.lines), at - 1) if at else 0
    opens = {name: link_to(uri, whole.file, at or 1, page=on_page) for name, uri in uris.items()}
    return whole, html, fields, at, opens


# What each macro is given.
_GIVEN: dict[str, Callable[[Workspace, QueryParams], tuple[Any, ...]]] = {
    "results": _results,
    "note": _note,
    "related": lambda workspace, params: (
        related(workspace, RelatedRequest(params.get("note", ""), top_k=6)),
    ),
    "filters": lambda workspace, _: tuple(
        [*workspace.count_notes(kind)] for kind in ("vaults", "tags")
    ),
    "status": lambda workspace, _: (read_status(workspace.config),),
}


# -- pictures --------------------------------------------------------------------------


def picture(workspace: Workspace, note: str, name: str) -> tuple[bytes, str]:
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
def _macros(language: str) -> Any:
    """Return the macros of a language: what they write is escaped, and every character seen."""
    templates = Environment(
        loader=FunctionLoader(read_file),
        autoescape=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
    )
    templates.globals |= {"address": note_address, "t": all_texts()[language]}
    templates.filters |= {
        "coded": _coded,
        "count": lambda text, count: text.replace("{n}", f"{count:,}"),
        "snippet": _snippet,
    }
    return templates.get_template("parts.html").module


def _coded(text: str) -> Markup:
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(visible(text)))))


def _snippet(hit: SearchResult, searched: str) -> Markup:
    """Return the words of a result that match, marked, and those around them."""
    text, spans = excerpt(hit, searched, _SNIPPET)
    cuts: Iterable[int] = [0, *chain.from_iterable(spans), len(text)]
    parts = [escape(text[start:end].replace("`", "")) for start, end in pairwise(cuts)]
    parts[1::2] = [Markup("<mark>{}</mark>").format(part) for part in parts[1::2]]
    return Markup("").join(parts)
