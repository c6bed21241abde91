"""The description of the API, made from the types of its requests and reports."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import cleandoc, getsource, isclass
from types import ModuleType
from typing import Any

from starlette.routing import Route

from rag import __version__
from rag.app.arguments import model_of
from rag.app.ask import AnswerReport
from rag.app.chat import TurnReport
from rag.app.notes import NoteReport, NotesReport
from rag.app.related import RelatedReport
from rag.app.search import SearchReport
from rag.app.status import StatusReport
from rag.app.sync import SyncReport
from rag.support.json_reports import HIDDEN, INLINE, NULLABLE, OPTIONAL, mark_of
from rag.web import requests

_JSON, _EVENTS = "application/json", "text/event-stream"
# Address -> what it takes, and what it gives; of events, what the last one holds.
_TYPES: dict[str, tuple[type, type, str]] = {
    "/v1/search": (requests.Search, SearchReport, _JSON),
    "/v1/status": (requests.Status, StatusReport, _JSON),
    "/v1/notes:batch": (requests.Batch, NotesReport, _JSON),
    "/v1/notes/{id}": (requests.Note, NoteReport, _JSON),
    "/v1/notes/{id}/related": (requests.Related, RelatedReport, _JSON),
    "/v1/ask": (requests.Ask, AnswerReport, _EVENTS),
    "/v1/chat": (requests.Chat, TurnReport, _EVENTS),
    "/v1/index": (requests.Index, SyncReport, _JSON),
}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_PLAIN = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "None": {"type": "null"},
    **{name: {"type": "string"} for name in ("str", "Path", "date", "datetime")},
}
_SCHEMAS: dict[str, Any] = {
    "Error": {
        "type": "object",
        "properties": {
            "schema": {"const": 1},
            "error": {
                "type": "object",
                "properties": {
                    "kind": {"type": "string"},
                    "message": {"type": "string"},
                    "hint": {"type": "string"},
                    "suggestions": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["kind", "message", "hint"],
            },
        },
        "required": ["schema", "error"],
    },
}


def describe(routes: Iterable[Route]) -> dict[str, Any]:
    """Return the OpenAPI description of some routes, as far as they have types."""
    paths: dict[str, Any] = {}
    schemas = {**_SCHEMAS}
    for route in routes:
        path = route.path.replace(":path}", "}")
        if path in _TYPES:
            method = "post" if "POST" in (route.methods or ()) else "get"
            paths[path] = {method: _operation(path, method, *_TYPES[path], schemas)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "rag", "version": __version__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(
    path: str, method: str, kind: type, report: type, media: str, schemas: dict[str, Any]
) -> dict[str, Any]:
    told = "the report" if media == _JSON else "events; `done` holds the report"
    content = {media: {"schema": _described(report, schemas)}}
    schema = model_of(kind).model_json_schema()
    described: dict[str, Any] = {
        "operationId": kind.__name__.lower(),
        "description": " ".join(cleandoc(kind.__doc__ or "").split()),
        "responses": {
            "200": {"description": told, "content": content},
            "default": {
                "description": "what went wrong",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
    in_path = [_parameter("id", "path", {"type": "string"})] if "{id}" in path else []
    if method == "post":
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    else:
        in_query = [
            _parameter(n, "query", _TEXTS if requests.is_repeated(s) else s)
            for n, s in schema.get("properties", {}).items()
        ]
        described["parameters"] = [*in_path, *in_query]
    return described


def _parameter(name: str, place: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": place, "required": place == "path", "schema": schema}


def _described(kind: type, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type of reports, by its name; it is added to `schemas`."""
    name = kind.__name__
    if name not in schemas:
        text = cleandoc(kind.__doc__ or "").partition(":param ")[0]
        schema = schemas[name] = {"type": "object", "description": " ".join(text.split())}
        if is_dataclass(kind) and not hasattr(kind, "to_json"):
            schema |= {"properties": {}, "required": []}
            for one in fields(kind):
                mark, held = mark_of(one), _of_annotation(str(one.type), kind, schemas)
                if mark == HIDDEN:
                    continue
                if mark == INLINE:
                    inner = held.get("anyOf", [held])[0].get("$ref", "").rpartition("/")[2]
                    schema["properties"] |= schemas[inner].get("properties", {})
                    continue
                nullable = mark == NULLABLE
                schema["properties"][one.name] = _or_null(held) if nullable else held
                if mark != OPTIONAL:
                    schema["required"].append(one.name)
    return {"$ref": f"#/components/schemas/{name}"}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, _PLAIN["None"]]}


def _of_annotation(text: str, kind: type, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an annotation of a field, as it is written."""

    def of(node: ast.expr) -> dict[str, Any]:
        match node:
            case ast.Constant():
                return {"const": node.value} if node.value is not None else _PLAIN["None"]
            case ast.BinOp():
                return {"anyOf": [of(node.left), of(node.right)]}
            case ast.Subscript(slice=ast.Tuple(elts=parts)) | ast.Subscript(slice=parts):
                parts = parts if isinstance(parts, list) else [parts]
                outer = ast.unparse(node.value)
                if outer == "Literal":
                    return {"enum": [ast.literal_eval(part) for part in parts]}
                if outer in ("dict", "Mapping"):
                    return {"type": "object", "additionalProperties": of(parts[-1])}
                return {"type": "array", "items": of(parts[0])}
            case ast.Name(id=name) if name in _PLAIN:
                return _PLAIN[name]
            case ast.Name(id=name):
                named = class_named(name, sys.modules[kind.__module__])
                is_ours = named is not None and named.__module__.startswith("rag.")
                return _described(named, schemas) if named and is_ours else {}
        return {}

    return of(ast.parse(text, mode="eval").body)


def class_named(name: str, module: ModuleType) -> type | None:
    """Return a class that a name means in a module, be it imported for type checkers alone."""
    if isclass(named := getattr(module, name, None)):
        return named
    line = rf"from (rag[\w.]*) import (?:\([^)]*|[^(\n]*)\b{name}\b"
    found = re.search(line, getsource(module))
    return getattr(import_module(found[1]), name) if found else None
