"""The description of the API, made from the types of its requests."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import cleandoc
from typing import Any

from starlette.routing import Route

from rag import __version__
from rag.web import requests

_REPORT = {"$ref": "#/components/schemas/Report"}
# Address -> what it takes, and what it gives.
_TYPES: dict[str, tuple[type, str]] = {
    "/v1/search": (requests.Search, "application/json"),
    "/v1/status": (requests.Status, "application/json"),
    "/v1/notes:batch": (requests.Batch, "application/json"),
    "/v1/notes/{id}": (requests.Note, "application/json"),
    "/v1/notes/{id}/related": (requests.Related, "application/json"),
    "/v1/ask": (requests.Ask, "text/event-stream"),
    "/v1/chat": (requests.Chat, "text/event-stream"),
    "/v1/index": (requests.Index, "application/json"),
}
_SCHEMAS = {
    "Report": {
        "type": "object",
        "description": "What `--json` prints of the same command: docs/commands.md.",
        "properties": {"schema": {"const": 1}},
        "required": ["schema"],
    },
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
    for route in routes:
        path = route.path.replace(":path}", "}")
        if path in _TYPES:
            method = "post" if "POST" in (route.methods or ()) else "get"
            paths[path] = {method: _operation(path, method, *_TYPES[path])}
    return {
        "openapi": "3.1.0",
        "info": {"title": "rag", "version": __version__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(path: str, method: str, kind: type, media: str) -> dict[str, Any]:
    schema = requests.adapter(kind).json_schema()
    described: dict[str, Any] = {
        "operationId": kind.__name__.lower(),
        "description": " ".join(cleandoc(kind.__doc__ or "").split()),
        "responses": {
            "200": {"description": "the report", "content": {media: {"schema": _REPORT}}},
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
        in_query = [_parameter(n, "query", s) for n, s in schema["properties"].items()]
        described["parameters"] = [*in_path, *in_query]
    return described


def _parameter(name: str, place: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": place, "required": place == "path", "schema": schema}
