"""What each route takes: the requests of `rag.app.arguments`, and what only HTTP has; and how those
who read notes answer it. pydantic is imported with it, and what reads notes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from starlette.datastructures import QueryParams

from rag.app import arguments
from rag.app.arguments import Arguments, Name, Text, check
from rag.app.notes import Limits, NoteReport, NotesReport, get_note, get_notes
from rag.app.requests import ChatRequest, SyncRequest
from rag.app.status import StatusReport, read_status
from rag.app.workspace import Workspace
from rag.exceptions import ArgumentError
from rag.web.answers import encode

if TYPE_CHECKING:
    from rag.web.app import Operation

Given = QueryParams | bytes  # the query of an address, or a body
LISTS = frozenset(("vaults", "tags", "paths", "where"))  # may stand in an address several times


@dataclass(frozen=True)
class Search(arguments.Search):
    """Find notes by words and meaning, best first. Without a query the filters list notes, the
    newest first."""

    chunks: Annotated[bool, Field(description="list chunks, not notes")] = False
    explain: bool = False
    context: Annotated[
        int | None, Field(ge=0, le=50, description="lines before and after the best one")
    ] = None
    min_score: Annotated[float, Field(ge=0, le=1)] = 0.0


@dataclass(frozen=True)
class _OfNote:
    note: str = ""  # from the address


@dataclass(frozen=True)
class Note(Arguments, _OfNote):
    """Read a note, or a part of it: `{id}` is its id, `vault/path`, a title or an alias, with
    `#heading` or `:10-20` behind it. A slash in it may be written `%2F`."""


@dataclass(frozen=True)
class Related(arguments.Filters, arguments.Related):
    """Notes related to a note in words or meaning, with passages and why; those that it is linked
    with are left out, and other vaults unless `all_vaults`."""


@dataclass(frozen=True)
class Status(Arguments):
    """What the index holds, how old it is, and what was wrong with notes."""

    links: Annotated[bool, Field(description="list links that lead to no one note too")] = False
    vectors: Annotated[bool, Field(description="count chunks without a vector too")] = False


@dataclass(frozen=True)
class Batch(Arguments):
    """Read several notes, each once; a name may be a glob of paths (`daily/2026-11-*`)."""

    notes: Annotated[tuple[Name, ...], Field(min_length=1, max_length=50)]
    lines: Annotated[int, Field(ge=1, le=10_000, description="of each note at most")] = 2_000


@dataclass(frozen=True)
class _Answering(Arguments):
    """What routes take that answer a question."""

    top_k: Annotated[int | None, Field(ge=1, le=100)] = None
    model: Annotated[Text, Field(description="a chat model; without, that of the settings")] = ""
    no_model: Annotated[bool, Field(description="ask none, and quote")] = False
    plan: bool | None = None
    explain: bool = False


@dataclass(frozen=True, kw_only=True)
class Ask(_Answering, arguments.Ask):
    """Answer a question from the notes. Events: `sentence` (its text, `verdict`, `sources`),
    `citation` (a source), `notice`, and last `done` (the report) or `error`."""


@dataclass(frozen=True, kw_only=True)
class Chat(_Answering, arguments.Filters, ChatRequest):
    """Ask a question of a conversation, which may lean on what was said before. The events are
    those of `/v1/ask`; `done` names the `session` to go on with."""

    question: arguments.Question
    session: Annotated[Text, Field(description="the conversation to go on with")] = ""


@dataclass(frozen=True)
class Index(Arguments, SyncRequest):
    """Bring the index up to date with the notes."""

    prune: Annotated[
        bool, Field(strict=True, description="forget notes of empty or missing folders")
    ] = False


def answer(workspace: Workspace, asked: Operation, given: Given, named: Mapping[str, str]) -> bytes:
    """Return the report that an operation makes, as JSON; `given` and `named` are as in `parse`."""
    return encode(resolve_name(asked.work)(workspace, parse(asked.request, given, **named)))


def parse(request: str, given: Given, **named: str) -> Any:
    """Return the request that an address or a body makes.

    :param request: the name of its type.
    :param given: in the query of an address `tags=a&tags=b` are two of a list.
    :param named: what else the address says.
    :raises ArgumentError: where it is none.
    """
    arguments: Any = {}
    if isinstance(given, bytes):
        try:
            arguments = json.loads(given or b"{}")
        except (ValueError, RecursionError) as error:
            raise ArgumentError("the body is not JSON", str(error)[:200]) from error
        if not isinstance(arguments, dict):
            raise ArgumentError("the body must be a JSON object")
    else:
        for name in given:
            values = given.getlist(name)
            if len(values) > 1 and name not in LISTS:
                raise ArgumentError(f"{name} is given more than once")
            arguments[name] = values if name in LISTS else values[0]
    return check(globals()[request], arguments, **named)


def status(workspace: Workspace, asked: Status) -> StatusReport:
    """Read the state of the index."""
    return read_status(workspace.config, asked.links, asked.vectors)


def notes(workspace: Workspace, asked: Batch) -> NotesReport:
    """Read several notes."""
    return get_notes(workspace.config, asked.notes, limits=Limits(asked.lines))


def note(workspace: Workspace, asked: Note) -> NoteReport:
    """Read a note."""
    return get_note(workspace.config, asked.note, limits=Limits(10_000))
