"""Callables in the serialised form of a component.

A function goes by its name; an object that can be called goes by its own `to_dict`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from haystack.core.serialization import import_class_by_name
from haystack.utils import deserialize_callable, serialize_callable


def check_callable(function: object, name: str) -> None:
    """Refuse what cannot be called.

    :raises TypeError: naming the argument.
    """
    if not callable(function):
        raise TypeError(f"{name} must be callable, not {type(function).__name__}")


def to_serialised(function: Any) -> str | dict[str, Any]:
    """Return the serialised form of a callable.

    :raises haystack.core.errors.SerializationError: for a lambda, a nested function or a method.
    """
    if hasattr(function, "to_dict"):
        made: dict[str, Any] = function.to_dict()
        return made
    return serialize_callable(function)


def from_serialised(data: str | dict[str, Any]) -> Callable[..., Any]:
    """Make the callable, transformer or other object that `to_serialised` gave.

    :raises haystack.core.errors.DeserializationError: when its module is not trusted.
    """
    if isinstance(data, str):
        return deserialize_callable(data)
    home: Any = import_class_by_name(data["type"])
    made: Callable[..., Any] = home.from_dict(data)
    return made


def with_callables(data: dict[str, Any], *names: str) -> dict[str, Any]:
    """Make the callables among a component's serialised arguments."""
    parameters = dict(data["init_parameters"])
    for name in names:
        if parameters.get(name) is not None:
            parameters[name] = from_serialised(parameters[name])
    return {**data, "init_parameters": parameters}
