"""A `repr` of objects with settings: the class, and the arguments that it was made with.

    QueryTransformer(mode='default', confidence_threshold=0.7, max_tool_iterations=2)

A nested object is shown by its own `repr` of this kind, or by its class alone: what it holds may
be long or private.
"""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

_LONGEST = 80  # characters of a value
_MISSING = object()

C = TypeVar("C", bound=type)


def settings_repr(self: object) -> str:
    """Return the class of an object and its settings: the arguments of `__init__` that it keeps
    under their names, with or without an underscore in front."""
    _, *parameters = inspect.signature(type(self).__init__).parameters.values()
    held = vars(self)
    given = {p.name: held.get(p.name, held.get(f"_{p.name}", _MISSING)) for p in parameters}
    settings = (f"{n}={_shown(value)}" for n, value in given.items() if value is not _MISSING)
    return f"{type(self).__name__}({', '.join(settings)})"


def with_settings_repr(cls: C) -> C:
    """Give a class `settings_repr`; above `@component`, which gives every class a `repr`."""
    cls.__repr__ = settings_repr  # type: ignore[assignment]
    return cls


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        text = f"[{', '.join(map(_shown, value))}]"
    elif value is None or isinstance(value, (str, bool, int, float, dict)):
        text = repr(value)
    elif getattr(type(value), "__repr__", None) is settings_repr:
        return repr(value)
    else:
        text = getattr(value, "__qualname__", "") or type(value).__name__
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
