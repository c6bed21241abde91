"""What each tool takes: the requests of `rag.app.arguments`, and what only agents ask for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from rag.app import arguments
from rag.app.arguments import Arguments, Name, Text, model_of


@dataclass(frozen=True)
class Search(arguments.Search):
    """Find notes by words and meaning, best first, each with path, line and snippet. Use it first;
    read a note with get before you rely on it. Query syntax: "exact phrase", -without, begin*,
    tag:x, vault:x, path:x, title:x, property:value. Without a query the filters list notes, newest
    first. Where several wordings may do, give them all as queries."""

    title: ClassVar[str] = "Search notes"
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
    cursor: Annotated[Text, Field(description="from the last page, all else the same")] = ""


@dataclass(frozen=True)
class Get(Arguments):
    """Read a note, or a section or lines of it, with line numbers; or its outline: the headings
    with their lines, and the properties. A name that no note has is answered with those near."""

    title: ClassVar[str] = "Read a note"
    note: Annotated[Text, Field(description="path, vault/path, title, alias or rag:// URI")]
    heading: Annotated[Text, Field(description="read this section only")] = ""
    from_line: Annotated[int, Field(ge=1)] = 0
    max_lines: Annotated[int, Field(ge=1)] = 2_000
    outline: bool = False


@dataclass(frozen=True)
class GetMany(Arguments):
    """Read up to 20 notes at once, named or by a glob of paths. They share max_chars; a note that
    cannot be read does not stop the others."""

    title: ClassVar[str] = "Read several notes"
    notes: Annotated[tuple[Name, ...], Field(max_length=20)] = ()
    glob: Annotated[Text, Field(description="daily/2026-11-*")] = ""
    max_chars: Annotated[int, Field(ge=500, le=20_000)] = 20_000


@dataclass(frozen=True)
class Related(arguments.Related):
    """Notes like a note in words or meaning, with passages, why, and a [[link]]; those linked with
    it are left out, and other vaults unless all_vaults. With links: what its links lead to."""

    title: ClassVar[str] = "Related notes"
    note: Text
    links: Literal["", "out", "in", "both"] = ""
    depth: Annotated[int, Field(ge=1, le=3)] = 0


@dataclass(frozen=True, kw_only=True)
class Ask(arguments.Ask):
    """Answer a question from the notes: sentences that were checked against them, each with [n] and
    the lines it is from, or that the notes do not hold the answer. Use it for one fact; search and
    get to read and judge yourself. Filters as in search."""

    title: ClassVar[str] = "Ask the notes"
    model: Annotated[Text, Field(description="a chat model, or none to quote")] = ""


@dataclass(frozen=True)
class Status(Arguments):
    """Which vaults there are, how many notes, whether the index is up to date and knows meaning,
    and what could not be read. With list: the tags, properties or folders with how many notes have
    each; with of, the values of a property, or the tags and folders below one."""

    title: ClassVar[str] = "State of the index"
    list: Literal["", "tags", "properties", "folders"] = ""
    of: Text = ""


TOOLS: dict[str, Any] = {"search": Search, "get": Get, "get_many": GetMany}
TOOLS |= {"related": Related, "ask": Ask, "status": Status}


@cache
def tool_definitions() -> tuple[dict[str, Any], ...]:
    """Return what clients are told of the tools; it is short, since models get it with every
    conversation."""
    described: set[str] = set()
    return tuple(
        {
            "name": name,
            "title": kind.title,
            "description": " ".join(cleandoc(kind.__doc__).split()),
            "inputSchema": _schema(kind, described),
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }
        for name, kind in TOOLS.items()
    )


def _schema(kind: type, described: set[str]) -> dict[str, Any]:
    """Return the schema of a tool without what tells a model nothing, or was said before."""
    whole = model_of(kind).model_json_schema()
    properties = {name: _cleaned(schema) for name, schema in whole["properties"].items()}
    for name in described & properties.keys():
        properties[name].pop("description", None)
    described |= properties.keys()
    required = {"required": whole["required"]} if "required" in whole else {}
    return {"type": "object", "properties": properties, "additionalProperties": False, **required}


def _cleaned(schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:  # a value or null
        schema = schema["anyOf"][0] | {k: v for k, v in schema.items() if k != "anyOf"}
    unsaid = ("title", "minLength", "maxLength", "propertyNames")
    kept = {k: v for k, v in schema.items() if k not in unsaid}
    if not kept.get("default"):
        kept.pop("default", None)
    if "enum" in kept:
        kept["enum"] = [value for value in kept["enum"] if value]
    for part in ("items", "additionalProperties"):
        if isinstance(kept.get(part), dict):
            kept[part] = _cleaned(kept[part])
    return kept
