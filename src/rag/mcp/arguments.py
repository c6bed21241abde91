"""What a tool takes: its JSON schema, and whether some arguments fit it.

Only the part of JSON Schema that the tools use is known here. What does not fit is refused in words
from which a model learns what to send.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

Schema = Mapping[str, Any]


class ArgumentError(Exception):
    """Arguments that a tool does not take; the message says which it does."""


def check_arguments(arguments: object, schema: Schema) -> dict[str, Any]:
    """Return the arguments of a tool; text in them can be written as UTF-8.

    :raises ArgumentError: when they do not fit its schema.
    """
    if not isinstance(arguments, dict):
        raise ArgumentError("arguments must be an object")
    known = schema["properties"]
    for name in arguments:
        if name not in known:
            from difflib import get_close_matches  # most arguments are known

            near = get_close_matches(str(name), [*known], 1)
            meant = f"; did you mean {near[0]}?" if near else ""
            names = f"the arguments are: {', '.join(known)}" if known else "it takes no arguments"
            raise ArgumentError(f"unknown argument {_brief(name)}{meant}; {names}")
    for name in schema.get("required", ()):
        if arguments.get(name) is None:
            raise ArgumentError(f"{name} is missing; the arguments are: {', '.join(known)}")
    given = {name: value for name, value in arguments.items() if value is not None}
    return {name: _checked(name, value, known[name]) for name, value in given.items()}


def _checked(name: str, value: Any, schema: Schema) -> Any:
    """Return a value that fits a schema.

    :raises ArgumentError: when it does not.
    """
    kind = schema["type"]
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if not _IS[kind](value):
        raise ArgumentError(f"{name} must be {_CALLED[kind]}, not {_brief(value)}")
    if kind == "string":
        return _checked_text(name, value, schema)
    if kind == "array":
        most = schema.get("maxItems", 100)
        if len(value) > most:
            raise ArgumentError(f"{name} takes at most {most} items, not {len(value)}")
        return [_checked(f"{name}[{n}]", item, schema["items"]) for n, item in enumerate(value)]
    if kind == "object":
        items = schema["additionalProperties"]
        return {
            _text(key): _checked(f"{name}.{_text(key)[:40]}", item, items)
            for key, item in value.items()
        }
    low, high = schema.get("minimum", -inf), schema.get("maximum", inf)
    if not low <= value <= high:
        bounds = f"from {low} to {high}" if "maximum" in schema else f"{low} or more"
        raise ArgumentError(f"{name} must be {bounds}, not {_brief(value)}")
    return value


def _checked_text(name: str, value: str, schema: Schema) -> str:
    most = schema.get("maxLength", _LONGEST)
    if len(value) > most:
        raise ArgumentError(f"{name} is longer than {most} characters")
    if "enum" in schema and value not in schema["enum"]:
        raise ArgumentError(f"{name} must be one of {', '.join(schema['enum'])}")
    return _text(value)


_LONGEST = 10_000  # characters of a text that the schema does not bound


def _text(value: str) -> str:
    """Return a text without halves of characters, which JSON can name and UTF-8 cannot hold."""
    return value.encode("utf-8", "replace").decode()


def _brief(value: object) -> str:
    """Return a value as an error names it."""
    shown = _text(repr(value) if not isinstance(value, (list, dict)) else type(value).__name__)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_IS: dict[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": lambda value: _is_integer(value) or isinstance(value, float),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
_CALLED = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
