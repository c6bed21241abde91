"""What each route takes: the requests of `rag.app.arguments`, and what only HTTP has; and how those
who read notes answer it. pydantic is imported with it, and what reads notes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, TypeVar, cast

from pydantic import Field
from starlette.datastructures import QueryParams

from rag.app import arguments
from rag.app.arguments import Arguments, Name, Text, check, model_of
from rag.app.notes import Limits, NoteReport, NotesReport, get_note, get_notes
from rag.app.requests import ChatRequest, SyncRequest
from rag.app.status import StatusReport, read_status
from rag.app.workspace import Workspace
from rag.exceptions import ArgumentError
from rag.web.answers import encode
from rag.web.readers import function_named

T = TypeVar("T")
_LINES = 10_000  # of one note


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

    prune: Annotated[bool, Field(description="forget notes of empty or missing folders")] = False


def answer(
    workspace: Workspace,
    request: str,
    work: str,
    given: QueryParams | bytes,
    named: Mapping[str, str],
) -> bytes:
    """Return the report on a request, as JSON.

    :param request: the name of its type.
    :param work: the name of the function that makes the report.
    :param given: the query of an address, or a body.
    :param named: what else the address says.
    """
    return encode(function_named(work)(workspace, parse(request, given, named)))


def parse(request: str, given: QueryParams | bytes, named: Mapping[str, str] | None = None) -> Any:
    """Return the request that an address or a body makes; parameters are those of `answer`."""
    kind: type[Any] = globals()[request]
    if isinstance(given, bytes):
        return from_body(kind, given)
    return from_query(kind, given, **(named or {}))


def status(workspace: Workspace, asked: Status) -> StatusReport:
    """Read the state of the index."""
    return read_status(workspace.config, asked.links, asked.vectors)


def notes(workspace: Workspace, asked: Batch) -> NotesReport:
    """Read several notes."""
    return get_notes(workspace.config, asked.notes, limits=Limits(asked.lines))


def note(workspace: Workspace, asked: Note) -> NoteReport:
    """Read a note."""
    return get_note(workspace.config, asked.note, limits=Limits(_LINES))


def from_query(kind: type[T], params: QueryParams, **more: Any) -> T:
    """Return the request that the query of an address is: `tags=a&tags=b` are two of a list.

    :param more: fields that are no arguments.
    :raises ArgumentError: where it is none.
    """
    given: dict[str, Any] = {}
    for name in params:
        values, is_list = params.getlist(name), name in _lists(cast("Any", kind))
        if len(values) > 1 and not is_list:
            raise ArgumentError(f"{name} is given more than once")
        given[name] = values if is_list else values[0]
    return check(kind, given, **more)


@cache
def _lists(kind: Any) -> frozenset[str]:
    """Return the arguments of a request that may stand in an address several times."""
    properties = model_of(kind).model_json_schema().get("properties", {})
    return frozenset(name for name, schema in properties.items() if is_repeated(schema))


def is_repeated(schema: dict[str, Any]) -> bool:
    """Return whether an argument is a list, or conditions."""
    kinds = {one.get("type") for one in schema.get("anyOf", [schema])}
    return bool(kinds & {"array", "object"})


def from_body(kind: type[T], body: bytes) -> T:
    """Return the request that a body is.

    :raises ArgumentError: where it is none.
    """
    try:
        given = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise ArgumentError("the body is not JSON", str(error)[:200]) from error
    if not isinstance(given, dict):
        raise ArgumentError("the body must be a JSON object")
    return check(kind, given)
