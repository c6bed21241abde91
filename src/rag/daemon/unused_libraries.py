"""What libraries import and this program never uses, or seldom: it need not be loaded.

Haystack imports the client of its telemetry, which is switched off, what draws pipelines, what
calls tools and what checks their arguments; httpx imports its command line, networkx all that there
is to do with a graph. Together they take as long to import as all the rest that a search needs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import SimpleNamespace

from rag.daemon.deferred_imports import DeferringLoader

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
        "networkx.algorithms",
        "networkx.convert_matrix",
        "networkx.drawing",
        "networkx.generators",
        "networkx.linalg",
        "networkx.readwrite",
    ),
    "networkx.utils.backends": (),
}
_REPLACED = {
    # It looks through all that is installed for further implementations of its algorithms.
    "networkx.utils.backends": {
        "importlib.metadata": SimpleNamespace(entry_points=lambda group: ())
    },
}


class _UnusedLibraries:
    """Finds these modules before anything else does."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        if name == _MISSING:
            raise ModuleNotFoundError(f"{name} is not loaded", name=name)
        if name not in _PUT_OFF:
            return None
        found = PathFinder.find_spec(name, path)
        if found and type(found.loader) is SourceFileLoader and found.origin:
            found.loader = DeferringLoader(
                name, found.origin, _PUT_OFF[name], _REPLACED.get(name, {})
            )
        return found


def leave_out_unused() -> None:
    """Load no such module from now on, or only when something of it is used.

    It is for programs of our own: another that uses this library may use those too.
    """
    if _UnusedLibraries not in sys.meta_path:
        sys.meta_path.insert(0, _UnusedLibraries)
