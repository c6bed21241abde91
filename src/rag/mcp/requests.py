"""What each tool takes: the requests of `rag.app` with the bounds, and the words, that agents get.

By these types pydantic checks arguments and describes them to clients. Imported with the first list
or call of tools, for pydantic takes longer than a client has to wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from functools import cache
from inspect import cleandoc
from typing import Annotated, Any, ClassVar, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from rag.app.filter_text import FilterText
from rag.app.requests import AskRequest, RelatedRequest, SearchRequest
from rag.mcp.calls import ArgumentError

Text = Annotated[str, Field(max_length=10_000)]
Names = Annotated[tuple[Annotated[str, Field(max_length=1_000)], ...], Field(max_length=20)]
Limit = Annotated[int, Field(ge=1, le=50)]
Mode = Literal["auto", "lexical", "dense", "hybrid"]
_FILTERS = tuple(field.name for field in fields(FilterText))


@dataclass(frozen=True)
class Search(FilterText, SearchRequest):
    """Find notes by words and meaning, best first, each with path, line and snippet. Use it first;
    read a note with get before you rely on it. Query syntax: "exact phrase", -without, begin*,
    tag:x, vault:x, path:x, title:x, property:value. Without a query the filters list notes, newest
    first. Where several wordings may do, give them all as queries."""

    title: ClassVar = "Search notes"
    takes: ClassVar = (
        *("query", "queries", "text", "tasks", *_FILTERS),
        *("order", "top_k", "mode", "plan", "cursor"),
    )
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
    order: Annotated[Literal["", "score", "created", "modified", "title"], Field(alias="sort")] = ""
    top_k: Annotated[Limit, Field(alias="limit")] = 10
    mode: Annotated[Mode | None, Field(description="dense: by meaning alone")] = None
    plan: Annotated[bool | None, Field(description="read filters and dates out of the query")] = (
        None
    )
    cursor: Annotated[Text, Field(description="from the last page, all else the same")] = ""


@dataclass(frozen=True)
class Get:
    """Read a note, or a section or lines of it, with line numbers; or its outline: the headings
    with their lines, and the properties. A name that no note has is answered with those near."""

    title: ClassVar = "Read a note"
    note: Annotated[Text, Field(description="path, vault/path, title, alias or rag:// URI")]
    heading: Annotated[Text, Field(description="read this section only")] = ""
    from_line: Annotated[int, Field(ge=1)] = 0
    max_lines: Annotated[int, Field(ge=1)] = 2_000
    outline: bool = False


@dataclass(frozen=True)
class GetMany:
    """Read up to 20 notes at once, named or by a glob of paths. They share max_chars; a note that
    cannot be read does not stop the others."""

    title: ClassVar = "Read several notes"
    notes: Names = ()
    glob: Annotated[Text, Field(description="daily/2026-11-*")] = ""
    max_chars: Annotated[int, Field(ge=500, le=20_000)] = 20_000


@dataclass(frozen=True)
class Related(RelatedRequest):
    """Notes like a note in words or meaning, with passages, why, and a [[link]]; those linked with
    it are left out, and other vaults unless all_vaults. With links: what its links lead to."""

    title: ClassVar = "Related notes"
    takes: ClassVar = (
        *("note", "limit", "include_linked", "all_vaults", "min_score", "links", "depth"),
    )
    note: Text
    limit: Limit = 10
    min_score: Annotated[float | None, Field(description="a probability")] = None
    links: Literal["", "out", "in", "both"] = ""
    depth: Annotated[int, Field(ge=1, le=3)] = 0


@dataclass(frozen=True, kw_only=True)
class Ask(FilterText, AskRequest):
    """Answer a question from the notes: sentences that were checked against them, each with [n] and
    the lines it is from, or that the notes do not hold the answer. Use it for one fact; search and
    get to read and judge yourself. Filters as in search."""

    title: ClassVar = "Ask the notes"
    takes: ClassVar = ("question", *_FILTERS, "model")
    question: Text
    model: Annotated[Text, Field(description="a chat model, or none to quote")] = ""


@dataclass(frozen=True)
class Status:
    """Which vaults there are, how many notes, whether the index is up to date and knows meaning,
    and what could not be read. With list: the tags, properties or folders with how many notes have
    each; with of, the values of a property, or the tags and folders below one."""

    title: ClassVar = "State of the index"
    list: Literal["", "tags", "properties", "folders"] = ""
    of: Text = ""


_TOOLS: dict[str, type] = {
    "search": Search,
    "get": Get,
    "get_many": GetMany,
    "related": Related,
    "ask": Ask,
    "status": Status,
}
NAMES = tuple(_TOOLS)


@cache
def tool_definitions() -> tuple[dict[str, Any], ...]:
    """Return what clients are told of the tools; it is short, since models get it with every
    conversation."""
    described: set[str] = set()
    return tuple(
        {
            "name": name,
            "title": kind.title,  # type: ignore[attr-defined]
            "description": " ".join(cleandoc(kind.__doc__ or "").split()),
            "inputSchema": _schema(kind, described),
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }
        for name, kind in _TOOLS.items()
    )


def checked(tool: str, arguments: object) -> Any:
    """Return the request that arguments of a tool are.

    :raises ArgumentError: where they do not fit, in words from which a model learns what to send.
    """
    if not isinstance(arguments, dict):
        raise ArgumentError("arguments must be an object")
    kind = _TOOLS[tool]
    model = _model(kind)
    try:
        given = model.model_validate({k: v for k, v in arguments.items() if v is not None})
    except ValidationError as error:
        names = [field.alias or name for name, field in model.model_fields.items()]
        raise ArgumentError(_worded(error.errors(include_url=False)[0], names)) from error
    return kind(**{name: getattr(given, name) for name in given.model_fields_set})


@cache
def _model(kind: type) -> type[BaseModel]:
    """Return what checks and describes the arguments of a tool: of its request the fields that it
    takes."""
    # Types of fields that no agent gives are not loaded.
    unused = {"QueryFilters": Any, "Path": Any}
    bounds = {"Field": Field, "Text": Text, "Names": Names}
    hints = get_type_hints(kind, localns={**unused, **bounds}, include_extras=True)
    defaults = {one.name: ... if one.default is MISSING else one.default for one in fields(kind)}
    taken = {name: (hints[name], defaults[name]) for name in getattr(kind, "takes", defaults)}
    config = ConfigDict(extra="forbid")
    return create_model(kind.__name__, __config__=config, **taken)  # type: ignore[call-overload, no-any-return]


def _schema(kind: type, described: set[str]) -> dict[str, Any]:
    """Return the schema of a tool without what tells a model nothing: titles, lengths, what a
    description said before of the same argument, and that nothing may be an empty choice."""
    whole = _model(kind).model_json_schema()
    properties = {name: _cleaned(schema) for name, schema in whole["properties"].items()}
    for name, schema in properties.items():
        if name in described:
            schema.pop("description", None)
        described.add(name)
    required = {"required": whole["required"]} if "required" in whole else {}
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
    if error["type"] == "extra_forbidden":
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
