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
from operator import attrgetter
from types import ModuleType, SimpleNamespace
from typing import Any

_MISSING = "httpx._main"  # httpx goes without it, as it does where rich is not installed
# What modules import for functions that are never called here, or seldom.
_PUT_OFF = {
    "haystack.core.pipeline.base": ("haystack.marshal", "haystack.core.pipeline.draw"),
    "haystack.core.pipeline.pipeline": ("asyncio",),
    "haystack.core.pipeline.utils": ("haystack.tools.tool", "haystack.tools.toolset"),
    "haystack.dataclasses.document": ("numpy",),
    "haystack.dataclasses.file_content": ("filetype",),
    "haystack.dataclasses.image_content": ("filetype",),
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
    """Load no such module from now on, or only when something of it is used.

    It is for programs of our own: another that uses this library may use those too.
    """
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


class _Finder:
    """Finds these modules before anything else does."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        if name == _MISSING:
            raise ModuleNotFoundError(f"{name} is not loaded", name=name)
        found = PathFinder.find_spec(name, path) if name in _PUT_OFF else None
        if found and type(found.loader) is SourceFileLoader and found.origin:
            found.loader = _Loader(name, found.origin)
        return found


class _Loader(SourceFileLoader):
    """Loads a module, which is given stand-ins of others that are not loaded yet."""

    def exec_module(self, module: ModuleType) -> None:
        importer = _Importer(module.__name__)
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": importer.find}
        try:
            super().exec_module(module)
        finally:
            importer.is_executing = False
        if importer.starred:
            _look_up_late(module, importer.starred)


class _Importer:
    """What one module imports by.

    `is_executing` until all of the module was executed; `starred` are the modules that it wants all
    names of.
    """

    def __init__(self, module: str) -> None:
        self.is_executing = True
        self.starred: list[str] = []
        self._put_off = _PUT_OFF[module]

    def find(
        self,
        name: str,
        given: dict[str, Any],
        local: object = None,
        wanted: Iterable[str] | None = (),
        level: int = 0,
    ) -> Any:
        """Do as `__import__`, which the interpreter calls with all of these."""
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
            return SimpleNamespace(**{one: self._stand_in(whole, one) for one in wanted})
        return self._stand_in(whole)

    def _stand_in(self, whole: str, name: str = "") -> _StandIn:
        def load() -> Any:
            module = import_module(whole)
            return getattr(module, name) if name else module

        return _StandIn(self, whole, load)

    def _is_put_off(self, whole: str) -> bool:
        return whole in self._put_off and whole not in sys.modules


class _StandIn:
    """Stands for a module, or for something in it.

    :param importer: of the module that was given it.
    :param home: the module.
    :param load: returns what is stood for, and loads the module for it.
    """

    def __init__(self, importer: _Importer, home: str, load: Callable[[], Any]) -> None:
        self._importer, self._home = importer, home
        self._real = cache(load)

    def _after(self, step: Callable[[Any], Any]) -> Any:
        """Return what a step leads to, or a stand-in of it where that will do."""
        if not self._importer.is_executing:
            return step(self._real())
        return _StandIn(self._importer, self._home, lambda: step(self._real()))

    def __getattr__(self, name: str) -> Any:
        return self._after(attrgetter(name)) if name[:2] != "__" else getattr(self._real(), name)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._after(lambda found: found(*given, **named))

    def __getitem__(self, key: Any) -> Any:
        return self._after(lambda found: found[key])

    def __or__(self, other: Any) -> Any:
        return self._after(lambda found: found | other)

    def __ror__(self, other: Any) -> Any:
        return self._after(lambda found: other | found)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self._real(),)

    def __instancecheck__(self, instance: object) -> bool:
        # Of the classes of a module that is not loaded there is no instance.
        return self._home in sys.modules and isinstance(instance, self._real())

    def __subclasscheck__(self, subclass: type) -> bool:
        return self._home in sys.modules and issubclass(subclass, self._real())


def _look_up_late(module: ModuleType, starred: list[str]) -> None:
    """Let a module have all names of others when it is first asked for a name that it has not."""
    names = vars(module)
    its_own = names.get("__getattr__")

    def look_up(name: str) -> Any:
        while starred and not name.startswith("__"):
            found: dict[str, Any] = {}
            exec(f"from {starred.pop(0)} import *", found)
            names.update({key: value for key, value in found.items() if key[:2] != "__"})
        if name in names:
            return names[name]
        if its_own is not None:
            return its_own(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    names["__getattr__"] = look_up
