"""Loading what commands need."""

import importlib
import pkgutil


def preload() -> None:
    """Import every module."""
    import rag

    for m in pkgutil.walk_packages(rag.__path__, "rag."):
        if m.name not in ("rag.__main__",):
            importlib.import_module(m.name)
