"""What libraries import and this program never uses: it need not be loaded.

Haystack imports the client of its telemetry, which is switched off, and httpx its command line.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader

_LOADED_WHEN_USED = "posthog"
_MISSING = "httpx._main"  # httpx goes without it, as it does where rich is not installed


class _UnusedLibraries:
    """Finds these modules before anything else does."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        if name == _MISSING:
            raise ModuleNotFoundError(f"{name} is not loaded", name=name)
        if name != _LOADED_WHEN_USED:
            return None
        found = PathFinder.find_spec(name, path)
        if found and found.loader:
            found.loader = LazyLoader(found.loader)
        return found


def leave_out_unused() -> None:
    """Load no such module from now on, or only when something of it is used.

    It is for programs of our own: another that uses this library may use those too.
    """
    if _UnusedLibraries not in sys.meta_path:
        sys.meta_path.insert(0, _UnusedLibraries)
