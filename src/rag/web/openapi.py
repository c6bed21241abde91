"""The description of the API, made from the types of its requests and reports."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from inspect import cleandoc, getsource, isclass
from pkgutil import resolve_name
from types import ModuleType
from typing import Any, get_args

from pydantic import BaseModel, Field, create_model
from pydantic.json_schema import models_json_schema

from rag import __version__
from rag.app.arguments import model_of
from rag.support.json_reports import INLINE, NULLABLE, OPTIONAL, written_fields
from rag.web import requests
from rag.web.app import Operation

Schema = dict[str, Any]
_REF = "#/components/schemas/{model}"
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_ERROR: Schema = {
    "type": "object",
    "properties": {"kind": _TEXT, "message": _TEXT, "hint": _TEXT, "suggestions": _TEXTS},
    "required": ["kind", "message", "hint"],
}


def describe(workspace: object, operations: Iterable[Operation]) -> Schema:
    """Return the OpenAPI description of some routes; no notes are read for it."""
    paths, models = {}, list[Any]()
    for operation in operations:
        work = resolve_name(operation.work)
        report = class_named(work.__annotations__["return"], sys.modules[work.__module__])
        assert report
        models.append((_model(report), "validation"))
        paths[operation.path] = {operation.method.lower(): _operation(operation, report.__name__)}
    error = {"type": "object", "properties": {"schema": {"const": 1}, "error": _ERROR}}
    defined = models_json_schema(models, ref_template=_REF)[1]["$defs"]
    return {
        "openapi": "3.1.0",
        "info": {"title": "rag", "version": __version__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {"Error": error, **defined},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(operation: Operation, report: str) -> Schema:
    request, gives, media = getattr(requests, operation.request), "the report", "application/json"
    if operation.gives == "events":
        gives, media = "events; `done` holds the report", "text/event-stream"
    reply, error = ({"$ref": _REF.format(model=name)} for name in (report, "Error"))
    described: Schema = {
        "operationId": operation.request.lower(),
        "description": _described(request),
        "responses": {
            "200": _content(reply, media, description=gives),
            "default": _content(error, description="what went wrong"),
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


@cache
def _model(kind: type) -> type[BaseModel]:
    """Return a type of reports as a model of pydantic, with the fields that its JSON has."""
    taken: dict[str, Any] = {}
    has_fields = is_dataclass(kind) and not hasattr(kind, "to_json")
    for name, item, mark in written_fields(kind) if has_fields else ():
        home = next(base for base in kind.__mro__ if item.name in base.__annotations__)
        held = eval(str(item.type), {}, _Types(sys.modules[home.__module__]))
        may_lack = mark == OPTIONAL or (mark == INLINE and item.default is None)
        default: Any = Field(default_factory=lambda: None) if may_lack else ...
        if mark == INLINE:
            inner = next(iter(get_args(held)), held).model_fields
            taken |= {key: (f.annotation, default if may_lack else f) for key, f in inner.items()}
        else:
            taken[name] = (held | None if mark == NULLABLE else held, default)
    return create_model(kind.__name__, __doc__=_described(kind), **taken)


class _Types(dict[str, Any]):
    """What names in annotations of a module mean; of our types, their models."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __missing__(self, name: str) -> Any:
        meant = class_named(name, self._module) or getattr(self._module, name, None)
        if meant is None:
            raise KeyError(name)  # it is of Python
        is_ours = isclass(meant) and meant.__module__.startswith("rag.")
        return _model(meant) if is_ours and not issubclass(meant, BaseModel) else meant


def class_named(name: str, module: ModuleType) -> type | None:
    """Return a class that a name means in a module, be it imported for type checkers alone."""
    if isclass(named := getattr(module, name, None)):
        return named
    line = rf"from (rag[\w.]*) import (?:\([^)]*|[^(\n]*)\b{name}\b"
    match = re.search(line, getsource(module))
    return getattr(import_module(match[1]), name) if match else None
