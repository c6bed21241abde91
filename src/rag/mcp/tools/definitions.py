"""What clients are told of the tools: it is short, since models get it with every conversation."""

from __future__ import annotations

from typing import Any

Definition = dict[str, Any]

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_NUMBER, _COUNT = {"type": "number"}, {"type": "integer"}
_NAMES = {"type": "array", "items": _TEXT, "maxItems": 20}
_FILTERS: dict[str, Any] = {
    "vaults": {**_NAMES, "description": "any of these"},
    "tags": {**_NAMES, "description": "all of these"},
    "from": {**_TEXT, "description": "created since: 2026-01-31, 2026-01, last week"},
    "to": {**_TEXT, "description": "created until"},
    "paths": {**_NAMES, "description": "globs, any of these: projects/**"},
    "where": {
        "type": "object",
        "additionalProperties": _TEXT,
        "description": "front matter: status: done, price: >200",
    },
}
# Where a tool with the same filters has said what they mean.
_SAME_FILTERS = {
    name: {key: value for key, value in schema.items() if key != "description"}
    for name, schema in _FILTERS.items()
}


def _schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    made = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**made, "required": [*required]} if required else made


def _output(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*required]}


def _tool(name: str, title: str, description: str, takes: Definition, gives: Definition) -> Any:
    return {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": takes,
        "outputSchema": gives,
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }


_OBJECTS = {"type": "array", "items": {"type": "object"}}
_NOTE_NAME = {**_TEXT, "description": "path, vault/path, title, alias, id or rag:// URI"}
_RESULT = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("id", "vault", "path", "title", "snippet", "uri"), _TEXT),
        "line": _COUNT,
        "score": _NUMBER,
    },
}

TOOLS: tuple[Definition, ...] = (
    _tool(
        "search",
        "Search notes",
        "Find notes by words and meaning, best first, each with path, line and snippet."
        " Use it first; read a note with get before you rely on it."
        ' Query syntax: "exact phrase", -without, begin*, tag:x, vault:x, path:x, title:x,'
        " property:value. Without a query the filters list notes, newest first."
        " Where several wordings may do, give them all as queries.",
        _schema(
            {
                "query": _TEXT,
                "queries": {
                    "type": "array",
                    "items": _TEXT,
                    "maxItems": 4,
                    "description": "other wordings; each note counts once, by its best",
                },
                **_FILTERS,
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 50,
                    "description": "default 10",
                },
                "mode": {
                    "type": "string",
                    "enum": ["auto", "lexical", "dense", "hybrid"],
                    "description": "dense: by meaning alone",
                },
                "plan": {
                    "type": "boolean",
                    "description": "read filters and dates out of the query",
                },
                "cursor": {**_TEXT, "description": "from the last page, all else the same"},
            }
        ),
        _output(
            {
                "results": {"type": "array", "items": _RESULT},
                "notices": _TEXTS,
                "cursor": _TEXT,
            },
            "results",
        ),
    ),
    _tool(
        "get",
        "Read a note",
        "Read a note, or a section or lines of it, with line numbers. A name that no note has is"
        " answered with those that are near.",
        _schema(
            {
                "note": _NOTE_NAME,
                "heading": {**_TEXT, "description": "read this section only"},
                "from_line": {"type": "integer", "minimum": 1},
                "max_lines": {"type": "integer", "minimum": 1},
            },
            "note",
        ),
        _output(
            {
                **dict.fromkeys(("vault", "path", "title", "content"), _TEXT),
                "next_line": _COUNT,
            },
            "path",
            "content",
        ),
    ),
    _tool(
        "get_many",
        "Read several notes",
        "Read up to 20 notes at once, named or by a glob of paths. They share max_chars; a note"
        " that cannot be read does not stop the others.",
        _schema(
            {
                "notes": {"type": "array", "items": _TEXT, "maxItems": 20},
                "glob": {**_TEXT, "description": "daily/2026-11-*"},
                "max_chars": {"type": "integer", "minimum": 500, "maximum": 20000},
            }
        ),
        _output({"notes": _OBJECTS, "total": _COUNT}, "notes"),
    ),
    _tool(
        "related",
        "Related notes",
        "Notes like a note in words or meaning, with passages, why, and a [[link]]; those linked"
        " with it are left out, and other vaults unless all_vaults. With links: what its links lead"
        " to.",
        _schema(
            {
                "note": _TEXT,
                "limit": {**_COUNT, "minimum": 1, "maximum": 50},
                "include_linked": {"type": "boolean"},
                "all_vaults": {"type": "boolean"},
                "min_score": {**_NUMBER, "description": "a probability"},
                "links": {"type": "string", "enum": ["out", "in", "both"]},
                "depth": {**_COUNT, "minimum": 1, "maximum": 3},
            },
            "note",
        ),
        _output({"results": _OBJECTS, "links": _OBJECTS}, "results"),
    ),
    _tool(
        "ask",
        "Ask the notes",
        "Answer a question from the notes: sentences that were checked against them, each with [n]"
        " and the lines it is from, or that the notes do not hold the answer. Use it for one"
        " fact; search and get to read and judge yourself. Filters as in search.",
        _schema(
            {
                "question": _TEXT,
                **_SAME_FILTERS,
                "model": {**_TEXT, "description": "a chat model, or none to quote"},
            },
            "question",
        ),
        _output(
            {
                "answer": _TEXT,
                "found": {"type": "boolean"},
                "sources": _OBJECTS,
            },
            "answer",
            "found",
        ),
    ),
    _tool(
        "status",
        "State of the index",
        "Which vaults there are, how many notes, whether the index is up to date and knows"
        " meaning, and what could not be read.",
        _schema({}),
        _output(
            {"index": {"type": "object"}, "vaults": {"type": "object"}},
            "index",
            "vaults",
        ),
    ),
)

BY_NAME = {tool["name"]: tool for tool in TOOLS}
