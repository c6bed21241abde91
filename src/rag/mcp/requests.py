"""What each tool takes, as types: by them pydantic checks arguments and describes them to clients.

Imported with the first list or call of tools, for pydantic takes longer than a client has to wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from inspect import cleandoc
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from rag.mcp.protocol import ArgumentError

T = TypeVar("T")
Text = Annotated[str, Field(max_length=10_000)]
Names = Annotated[tuple[Annotated[str, Field(max_length=1_000)], ...], Field(max_length=20)]
Limit = Annotated[int, Field(ge=1, le=50)]


class _Request:
    __pydantic_config__ = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class _Filters(_Request):
    vaults: Annotated[Names, Field(description="any of these")] = ()
    tags: Annotated[Names, Field(description="all of these")] = ()
    from_: Annotated[
        Text, Field(alias="from", description="created since: 2026-01-31, 2026-01, last week")
    ] = ""
    to: Annotated[Text, Field(description="created until")] = ""
    modified_from: Annotated[Text, Field(description="modified since")] = ""
    modified_to: Text = ""
    paths: Annotated[Names, Field(description="globs, any of these: projects/**")] = ()
    where: Annotated[
        Mapping[Text, Text],
        Field(max_length=20, description="front matter: status: done, price: >200"),
    ] = field(default_factory=dict)


@dataclass(frozen=True)
class _Query(_Request):
    query: Text = ""
    queries: Annotated[
        tuple[Text, ...],
        Field(max_length=4, description="other wordings; each note counts once, by its best"),
    ] = ()
    text: Annotated[
        Text, Field(description="list the lines that hold exactly this, in the place of a query")
    ] = ""
    tasks: Annotated[
        Literal["", "open", "done"], Field(description="list tasks, in the place of a query")
    ] = ""


@dataclass(frozen=True)
class Search(_Filters, _Query):
    """Find notes by words and meaning, best first, each with path, line and snippet. Use it first;
    read a note with get before you rely on it. Query syntax: "exact phrase", -without, begin*,
    tag:x, vault:x, path:x, title:x, property:value. Without a query the filters list notes, newest
    first. Where several wordings may do, give them all as queries."""

    sort: Literal["", "score", "created", "modified", "title"] = ""
    limit: Limit = 10
    mode: Annotated[
        Literal["", "auto", "lexical", "dense", "hybrid"],
        Field(description="dense: by meaning alone"),
    ] = ""
    plan: Annotated[bool | None, Field(description="read filters and dates out of the query")] = (
        None
    )
    cursor: Annotated[Text, Field(description="from the last page, all else the same")] = ""


@dataclass(frozen=True)
class Get(_Request):
    """Read a note, or a section or lines of it, with line numbers; or its outline: the headings
    with their lines, and the properties. A name that no note has is answered with those near."""

    note: Annotated[Text, Field(description="path, vault/path, title, alias or rag:// URI")]
    heading: Annotated[Text, Field(description="read this section only")] = ""
    from_line: Annotated[int, Field(ge=1)] = 0
    max_lines: Annotated[int, Field(ge=1)] = 2_000
    outline: bool = False


@dataclass(frozen=True)
class GetMany(_Request):
    """Read up to 20 notes at once, named or by a glob of paths. They share max_chars; a note that
    cannot be read does not stop the others."""

    notes: Names = ()
    glob: Annotated[Text, Field(description="daily/2026-11-*")] = ""
    max_chars: Annotated[int, Field(ge=500, le=20_000)] = 20_000


@dataclass(frozen=True)
class Related(_Request):
    """Notes like a note in words or meaning, with passages, why, and a [[link]]; those linked with
    it are left out, and other vaults unless all_vaults. With links: what its links lead to."""

    note: Text
    limit: Limit = 10
    include_linked: bool = False
    all_vaults: bool = False
    min_score: Annotated[float | None, Field(description="a probability")] = None
    links: Literal["", "out", "in", "both"] = ""
    depth: Annotated[int, Field(ge=1, le=3)] = 0


@dataclass(frozen=True)
class _Question(_Request):
    question: Text


@dataclass(frozen=True)
class Ask(_Filters, _Question):
    """Answer a question from the notes: sentences that were checked against them, each with [n] and
    the lines it is from, or that the notes do not hold the answer. Use it for one fact; search and
    get to read and judge yourself. Filters as in search."""

    model: Annotated[Text, Field(description="a chat model, or none to quote")] = ""


@dataclass(frozen=True)
class Status(_Request):
    """Which vaults there are, how many notes, whether the index is up to date and knows meaning,
    and what could not be read. With list: the tags, properties or folders with how many notes have
    each; with of, the values of a property, or the tags and folders below one."""

    list: Literal["", "tags", "properties", "folders"] = ""
    of: Text = ""


_TOOLS: dict[str, tuple[str, type]] = {
    "search": ("Search notes", Search),
    "get": ("Read a note", Get),
    "get_many": ("Read several notes", GetMany),
    "related": ("Related notes", Related),
    "ask": ("Ask the notes", Ask),
    "status": ("State of the index", Status),
}
NAMES = tuple(_TOOLS)


@cache
def tool_definitions() -> tuple[dict[str, Any], ...]:
    """Return what clients are told of the tools; it is short, since models get it with every
    conversation."""
    told: set[str] = set()
    return tuple(
        {
            "name": name,
            "title": title,
            "description": " ".join(cleandoc(kind.__doc__ or "").split()),
            "inputSchema": _schema(kind, told),
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }
        for name, (title, kind) in _TOOLS.items()
    )


def checked(tool: str, arguments: object) -> Any:
    """Return the request that arguments of a tool are.

    :raises ArgumentError: where they do not fit, in words from which a model learns what to send.
    """
    if not isinstance(arguments, dict):
        raise ArgumentError("arguments must be an object")
    given = {name: value for name, value in arguments.items() if value is not None}
    kind = _TOOLS[tool][1]
    try:
        return _adapter(kind).validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ArgumentError(_worded(first, [*_described(kind)["properties"]])) from error


@cache
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(kind)


@cache
def _described(kind: type) -> dict[str, Any]:
    return _adapter(kind).json_schema()


def _schema(kind: type, told: set[str]) -> dict[str, Any]:
    """Return the schema of a tool without what tells a model nothing: titles, lengths, what a
    description said before of the same argument, and that nothing may be an empty choice."""
    made = _described(kind)
    properties = {name: _cleaned(schema) for name, schema in made["properties"].items()}
    for name, schema in properties.items():
        if name in told:
            schema.pop("description", None)
        told.add(name)
    required = {"required": made["required"]} if "required" in made else {}
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        **required,
    }


def _cleaned(schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:  # a value or null
        schema = schema["anyOf"][0] | {k: v for k, v in schema.items() if k != "anyOf"}
    kept = {k: v for k, v in schema.items() if k not in ("title", "maxLength", "propertyNames")}
    if not kept.get("default"):
        kept.pop("default", None)
    if "enum" in kept:
        kept["enum"] = [value for value in kept["enum"] if value]
    for part in ("items", "additionalProperties"):
        if isinstance(kept.get(part), dict):
            kept[part] = _cleaned(kept[part])
    return kept


def _worded(error: Mapping[str, Any], names: list[str]) -> str:
    """Return an error of pydantic in words."""
    name = ".".join(map(str, error["loc"]))[:100]
    if error["type"] == "unexpected_keyword_argument":
        near = get_close_matches(name, names, 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        return f"unknown argument {name!r}{meant}; the arguments are: {', '.join(names)}"
    if error["type"] == "missing":
        return f"{name} is missing; the arguments are: {', '.join(names)}"
    message = error["msg"].replace("'', ", "")
    if not message.startswith("Input"):
        return f"{name}: {message}"
    given = f", not {error['input']!r}" if isinstance(error["input"], int | float) else ""
    return f"{name}{message.removeprefix('Input')}{given}"
