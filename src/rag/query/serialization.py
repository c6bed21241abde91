"""Callables in the serialised form of a component.

A function goes by its name; an object that can be called goes by its own `to_dict`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from haystack import default_from_dict
from haystack.core.component import Component
from haystack.core.errors import SerializationError
from haystack.core.serialization import component_to_dict, import_class_by_name
from haystack.core.serialization_security import allow_deserialization_module
from haystack.utils import deserialize_callable, serialize_callable

# Our own classes load without leave; the callbacks of other modules need it.
for _room in ("query", "context"):
    allow_deserialization_module(f"rag.{_room}")


class QueryComponent:
    """What components with callables among their arguments share: `from_dict`, and a signature
    that can be looked up, which Haystack's metaclass hides."""

    _callables: ClassVar[tuple[str, ...]] = ()  # the names of those arguments

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        _, *parameters = inspect.signature(cls.__init__).parameters.values()
        cls.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        return default_from_dict(cls, with_callables(data, *cls._callables))


def check_callable(function: object, name: str) -> None:
    """Refuse what cannot be called.

    :raises TypeError: naming the argument.
    """
    if not callable(function):
        raise TypeError(f"{name} must be callable, not {type(function).__name__}")


def to_serialised(function: Any) -> str | dict[str, Any]:
    """Return the serialised form of a callable, transformer or component.

    :raises haystack.core.errors.SerializationError: for a lambda, a nested function or a method,
        and for an object without `to_dict`.
    """
    kind = type(function).__name__
    if hasattr(function, "to_dict") or isinstance(function, Component):
        return component_to_dict(function, kind)
    if not hasattr(function, "__qualname__"):
        raise SerializationError(f"{kind} cannot be serialised: it has no to_dict and from_dict.")
    return serialize_callable(function)


def from_serialised(data: str | dict[str, Any]) -> Callable[..., Any]:
    """Make the callable, transformer or other object that `to_serialised` gave.

    :raises haystack.core.errors.DeserializationError: when its module is not trusted.
    """
    if isinstance(data, str):
        return deserialize_callable(data)
    home: Any = import_class_by_name(data["type"])
    made: Callable[..., Any]
    made = home.from_dict(data) if hasattr(home, "from_dict") else default_from_dict(home, data)
    return made


def with_callables(data: dict[str, Any], *names: str) -> dict[str, Any]:
    """Make the callables, and lists of them, among a component's serialised arguments."""
    parameters = dict(data["init_parameters"])
    for name in names:
        given = parameters.get(name)
        if isinstance(given, list):
            parameters[name] = [from_serialised(one) for one in given]
        elif given is not None:
            parameters[name] = from_serialised(given)
    return {**data, "init_parameters": parameters}
