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

from rag import __version__
from rag.app.arguments import model_of
from rag.support.json_reports import HIDDEN, INLINE, NULLABLE, OPTIONAL, mark_of
from rag.web import requests
from rag.web.app import Operation

Schema = dict[str, Any]
_REF = "#/components/schemas/"
_TEXT, _NULL = {"type": "string"}, {"type": "null"}
_TEXTS = {"type": "array", "items": _TEXT}
_PLAIN = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    **dict.fromkeys(("str", "Path", "date", "datetime"), _TEXT),
}
_ERROR: Schema = {
    "type": "object",
    "properties": {"kind": _TEXT, "message": _TEXT, "hint": _TEXT, "suggestions": _TEXTS},
    "required": ["kind", "message", "hint"],
}


def describe(workspace: object, operations: Iterable[Operation]) -> Schema:
    """Return the OpenAPI description of some routes; no notes are read for it."""
    schemas: dict[str, Schema] = {
        "Error": {"type": "object", "properties": {"schema": {"const": 1}, "error": _ERROR}}
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "rag", "version": __version__},
        "security": [{"token": []}],
        "paths": {one.path: {one.method.lower(): _operation(one, schemas)} for one in operations},
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(operation: Operation, schemas: dict[str, Schema]) -> Schema:
    request = getattr(requests, operation.request)
    module, _, work = operation.work.partition(":")
    returned = getattr(import_module(module), work).__annotations__["return"]
    report = class_named(returned, sys.modules[module])
    assert report
    gives, media = "the report", "application/json"
    if operation.gives == "events":
        gives, media = "events; `done` holds the report", "text/event-stream"
    described: Schema = {
        "operationId": operation.request.lower(),
        "description": _described(request),
        "responses": {
            "200": _content(_report(report, schemas), media, description=gives),
            "default": _content({"$ref": f"{_REF}Error"}, description="what went wrong"),
        },
    }
    schema = model_of(request).model_json_schema()
    if operation.method == "POST":
        return {**described, "requestBody": _content(schema, required=True)}
    described["parameters"] = [
        {"name": name, "in": "query", "schema": _TEXTS if name in requests.LISTS else held}
        for name, held in schema.get("properties", {}).items()
    ]
    if "{id}" in operation.path:
        of_path = {"name": "id", "in": "path", "required": True, "schema": _TEXT}
        described["parameters"].insert(0, of_path)
    return described


def _content(schema: Schema, media: str = "application/json", **more: Any) -> Schema:
    return {**more, "content": {media: {"schema": schema}}}


def _described(kind: type) -> str:
    return " ".join(cleandoc(kind.__doc__ or "").partition(":param ")[0].split())


def _report(kind: type, schemas: dict[str, Schema]) -> Schema:
    """Return the schema of a type of reports, by its name; it is added to `schemas`."""
    name = kind.__name__
    if name not in schemas:
        schema = schemas[name] = {"type": "object", "description": _described(kind)}
        if is_dataclass(kind) and not hasattr(kind, "to_json"):
            schema |= {"properties": {}, "required": []}
            for item in fields(kind):
                mark, held = mark_of(item), _of_annotation(str(item.type), kind, schemas)
                if mark == INLINE:
                    inner = held.get("anyOf", [held])[0].get("$ref", "").removeprefix(_REF)
                    schema["properties"] |= schemas[inner].get("properties", {})
                elif mark != HIDDEN:
                    held = {"anyOf": [held, _NULL]} if mark == NULLABLE else held
                    schema["properties"][item.name] = held
                    if mark != OPTIONAL:
                        schema["required"].append(item.name)
    return {"$ref": f"{_REF}{name}"}


def _of_annotation(text: str, kind: type, schemas: dict[str, Schema]) -> Schema:
    """Return the schema of an annotation of a field, as it is written."""

    def of(node: ast.expr) -> Schema:
        match node:
            case ast.Constant(value=None):
                return _NULL
            case ast.BinOp():
                return {"anyOf": [of(node.left), of(node.right)]}
            case ast.Subscript(value=ast.Name(id="Literal")):
                values = ast.literal_eval(node.slice)
                return {"enum": [*values] if isinstance(values, tuple) else [values]}
            case ast.Subscript(value=ast.Name(id="dict" | "Mapping"), slice=ast.Tuple(elts=parts)):
                return {"type": "object", "additionalProperties": of(parts[-1])}
            case ast.Subscript(slice=ast.Tuple(elts=parts)):
                return {"type": "array", "items": of(parts[0])}
            case ast.Subscript():
                return {"type": "array", "items": of(node.slice)}
            case ast.Name(id=name) if name in _PLAIN:
                return _PLAIN[name]
            case ast.Name(id=name):
                named = class_named(name, sys.modules[kind.__module__])
                if named is not None and named.__module__.startswith("rag."):
                    return _report(named, schemas)
        return {}

    return of(ast.parse(text, mode="eval").body)


def class_named(name: str, module: ModuleType) -> type | None:
    """Return a class that a name means in a module, be it imported for type checkers alone."""
    if isclass(named := getattr(module, name, None)):
        return named
    line = rf"from (rag[\w.]*) import (?:\([^)]*|[^(\n]*)\b{name}\b"
    match = re.search(line, getsource(module))
    return getattr(import_module(match[1]), name) if match else None
