"""Components whose arguments may be callables, in serialised form: a function goes by its name, an
object that can be called by its own `to_dict`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from haystack import default_from_dict, default_to_dict
from haystack.core.component import Component
from haystack.core.errors import SerializationError
from haystack.core.serialization import component_to_dict, import_class_by_name
from haystack.core.serialization_security import allow_deserialization_module
from haystack.utils import deserialize_callable, serialize_callable

# Our own classes load without leave; the callbacks of other modules need it.
for _room in ("query", "context"):
    allow_deserialization_module(f"rag.{_room}")


class QueryComponent:
    """A component that keeps the arguments of `__init__` under their names, with or without an
    underscore in front; those in `_callables` are callables, or lists of them.

    Its signature can be looked up, which Haystack's metaclass hides.
    """

    _callables: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        _, *parameters = inspect.signature(cls.__init__).parameters.values()
        cls.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component.

        :raises haystack.core.errors.SerializationError: for a lambda, a nested function or a
            method, and for an object without `to_dict`.
        """
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        held = {name: vars(self).get(name, vars(self).get(f"_{name}")) for name in names}
        return default_to_dict(self, **held | _converted(held, self._callables, _to_serialised))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave.

        :raises haystack.core.errors.DeserializationError: for a module that is not trusted.
        """
        given = data["init_parameters"]
        made = given | _converted(given, cls._callables, _from_serialised)
        return default_from_dict(cls, {**data, "init_parameters": made})


def check_callable(function: object, name: str) -> None:
    """Refuse what cannot be called.

    :raises TypeError: naming the argument.
    """
    if not callable(function):
        raise TypeError(f"{name} must be callable, not {type(function).__name__}")


def _converted(
    held: dict[str, Any], names: tuple[str, ...], convert: Callable[[Any], Any]
) -> dict[str, Any]:
    values = {name: held[name] for name in names if held.get(name) is not None}
    return {
        name: [*map(convert, value)] if isinstance(value, list) else convert(value)
        for name, value in values.items()
    }


def _to_serialised(function: Any) -> str | dict[str, Any]:
    kind = type(function).__name__
    if hasattr(function, "to_dict") or isinstance(function, Component):
        return component_to_dict(function, kind)
    if not hasattr(function, "__qualname__"):
        raise SerializationError(f"{kind} cannot be serialised: it has no to_dict and from_dict.")
    return serialize_callable(function)


def _from_serialised(data: str | dict[str, Any]) -> Any:
    if isinstance(data, str):
        return deserialize_callable(data)
    home: Any = import_class_by_name(data["type"])
    return home.from_dict(data) if hasattr(home, "from_dict") else default_from_dict(home, data)
