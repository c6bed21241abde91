"""What libraries import and this program never uses, or seldom: it is not loaded before it is used.

Haystack imports the client of its telemetry, which is switched off, what draws pipelines, what
calls tools and what checks their arguments; httpx imports its command line, networkx all that there
is to do with a graph. With all of it a cold search takes two thirds more of a processor.

A module that imports such things is loaded by `_Loader`: it has an `__import__` of its own, which
hands out stand-ins. A stand-in becomes what it stands for when it is called, subscripted, inherited
from or asked for an attribute. While the module is executed, another stand-in does for most of
that: for annotations and default values.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import resolve_name
from types import ModuleType, SimpleNamespace
from typing import Any

_MISSING = "httpx._main"  # httpx goes without it, as it does where rich is not installed
# What modules import for functions that are never called here, or seldom.
_PUT_OFF = {
    "haystack.core.pipeline.base": ("haystack.marshal", "haystack.core.pipeline.draw"),
    "haystack.core.pipeline.pipeline": ("asyncio",),
    "haystack.core.pipeline.utils": ("haystack.tools.tool", "haystack.tools.toolset"),
    "haystack.dataclasses.document": ("numpy",),
    "haystack.telemetry._telemetry": ("posthog", "yaml"),
    "haystack.utils.async_utils": ("asyncio",),
    "haystack.utils.base_serialization": ("pydantic",),
    "haystack.utils.misc": ("numpy",),
    "networkx": (
        *("networkx.algorithms", "networkx.convert_matrix", "networkx.drawing"),
        *("networkx.generators", "networkx.linalg", "networkx.readwrite"),
    ),
}


def leave_out_unused() -> None:
    """Load no such module from now on, or only when something of it is used: for programs of our
    own, since another that uses this library may use those too."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


class _Finder:
    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        if name == _MISSING:
            raise ModuleNotFoundError(f"{name} is not loaded", name=name)
        spec = PathFinder.find_spec(name, path) if name in _PUT_OFF else None
        if spec and type(spec.loader) is SourceFileLoader and spec.origin:
            spec.loader = _Loader(name, spec.origin)
        return spec


class _Loader(SourceFileLoader):
    """Loads a module, which is given stand-ins of others that are not loaded yet. `starred` are the
    modules that it wants all names of, which it has when it is asked for one that it has not."""

    def exec_module(self, module: ModuleType) -> None:
        self.is_executing, self.starred = True, list[str]()
        names = vars(module)
        names["__builtins__"] = {**vars(builtins), "__import__": self._import}
        try:
            super().exec_module(module)
        finally:
            self.is_executing = False
        if self.starred:
            names["__getattr__"] = lambda name: self._look_up(names, name)

    def _import(
        self,
        name: str,
        given: dict[str, Any],
        local: object = None,
        wanted: Iterable[str] | None = (),
        level: int = 0,
    ) -> Any:
        whole = resolve_name("." * level + name, given["__package__"]) if level else name
        wanted = tuple(wanted or ())
        if not self._is_put_off(whole):
            if whole == given["__name__"]:  # a package that imports what is in it
                for part in filter(lambda part: self._is_put_off(f"{whole}.{part}"), wanted):
                    given[part] = self._stand_in(f"{whole}.{part}")
            return builtins.__import__(name, given, None, wanted, level)
        if "*" in wanted:
            self.starred.append(whole)
            return SimpleNamespace(__all__=())
        if wanted:
            return SimpleNamespace(**{name: self._stand_in(whole, name) for name in wanted})
        return self._stand_in(whole)

    def _stand_in(self, whole: str, name: str = "") -> _StandIn:
        def load() -> Any:
            module = import_module(whole)
            return getattr(module, name) if name else module

        return _StandIn(self, whole, load)

    def _is_put_off(self, whole: str) -> bool:
        return whole in _PUT_OFF[self.name] and whole not in sys.modules

    def _look_up(self, names: dict[str, Any], name: str) -> Any:
        while self.starred and not name.startswith("__"):
            module = import_module(self.starred.pop(0)).__name__
            exec(f"from {module} import *", names)
        if name in names:
            return names[name]
        raise AttributeError(f"module {self.name!r} has no attribute {name!r}")


class _StandIn:
    """Stands for something of the module `home`, which `load` returns; `loader` was given it."""

    def __init__(self, loader: _Loader, home: str, load: Callable[[], Any]) -> None:
        self._loader, self._home, self._real = loader, home, cache(load)

    def __getattr__(self, name: str) -> Any:
        if self._loader.is_executing and name[:2] != "__":
            return _StandIn(self._loader, self._home, lambda: getattr(self._real(), name))
        return getattr(self._real(), name)

    def __call__(self, *given: Any, **named: Any) -> Any:
        if self._loader.is_executing:  # for a default value
            return _StandIn(self._loader, self._home, lambda: self._real()(*given, **named))
        return self._real()(*given, **named)

    def __getitem__(self, _: Any) -> _StandIn:
        return self  # in an annotation

    __or__ = __ror__ = __getitem__

    def __instancecheck__(self, instance: object) -> bool:
        # Of the classes of a module that is not loaded there is no instance.
        return self._home in sys.modules and isinstance(instance, self._real())

    def __subclasscheck__(self, subclass: type) -> bool:
        return self._home in sys.modules and issubclass(subclass, self._real())
