"""Everything that commands import, imported at once: what the warm process forks from."""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Iterator
from importlib import import_module

import rag

# No command loads these. Only the making of a collection on a server loads one, whose client takes
# most of a second and 50 MB, and only the process that embeds notes another, with onnxruntime.
_LEFT_OUT = (
    *("__main__", "cli.framework.reference", "daemon.server"),
    *("stores.server.collection", "clients.local.int8_engine"),
)
# Modules of others that commands import when they run.
_OTHERS = (
    "encodings.ascii",
    "encodings.utf_32_le",
    "encodings.utf_8_sig",
    "frontmatter",
    "numpy.ma",
    "pathspec",
    "platformdirs",
    "rapidfuzz.distance",
    "rapidfuzz.process",
    "rich.markdown",
    "rich.padding",
    "rich.progress",
    "rich.table",
    "typer._adapters",
    "typer._click._textwrap",
    "typer._click.decorators",
)
# Libraries of linear algebra start threads as soon as they are imported. None is needed here, and
# none would live on in a forked process.
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def preload() -> None:
    """Import what commands import, and build what does not depend on any of them.

    It starts no thread and leaves no file open, so that a process may fork after it.
    """
    from rich.cells import cell_len

    from rag.clients.factory import load_models
    from rag.index.background import preload as preload_backgrounds
    from rag.search.components.query_vector_cache import share as share_query_vectors

    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    for name in _own_modules():
        if name not in _LEFT_OUT:
            import_module(f"rag.{name}")
    for name in _OTHERS:
        import_module(name)
    load_models()
    preload_backgrounds()
    share_query_vectors()
    cell_len("語")  # the widths of characters, a table that loads with the first wide one
    _build_commands()
    rehearse()


def rehearse() -> None:
    """Do what each search does, whatever it looks for."""
    from rag.cli.rehearsal import search_nothing

    search_nothing()


def _own_modules() -> Iterator[str]:
    return (
        module.name.removeprefix("rag.") for module in pkgutil.walk_packages(rag.__path__, "rag.")
    )


def _build_commands() -> None:
    """Build the command line, down to what checks its options."""
    from rag.cli.app import program
    from rag.cli.framework.lazy_group import COMMANDS, load_command
    from rag.cli.framework.typer_parameters import parameters

    for command in (program(), *map(load_command, COMMANDS)):
        for parameter in parameters(command):
            getattr(parameter.get_runtime_param(), "checks", None)
