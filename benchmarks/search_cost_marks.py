"""What `search_cost.py` runs: the program, which writes down how long its steps take.

Functions are wrapped when the modules that they are called from have been imported.
"""

from __future__ import annotations

import builtins
import importlib
import os
import sys
import time
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

STARTED = time.monotonic()
MARKS = "SEARCH_COST_MARKS"  # the variable that names the file of marks
START, CLIENT, FORK, TAKE_OVER, IMPORTS = (
    *("Python starts", "client, until it has asked", "parent: look, fork"),
    *("child takes over", "imports"),
)
# What is wrapped: module, name, step.
WRAPPED = (
    ("rag.cli.commands.search", "load_settings", "settings"),
    ("rag.app.workspace", "read_state", "state of the index"),
    ("rag.app.search", "create_search_pipeline", "pipeline made"),
    ("rag.stores.edge.narrow_shard", "_make_folder", "links to the index"),
    ("rag.stores.edge.document_store", "load_shard", "engine opens the index"),
    ("rag.app.search", "run_search", "search"),
    ("rag.cli.commands.search", "_print", "printing"),
)


class Clock:
    """How long each step took, without what is within it."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._within: list[str] = []
        self._since = 0.0

    def begin(self, step: str) -> None:
        self._count()
        self._within.append(step)

    def end(self) -> None:
        self._count()
        self._within.pop()

    def _count(self) -> None:
        now = time.monotonic()
        if self._within:
            step = self._within[-1]
            self.spent[step] = self.spent.get(step, 0.0) + now - self._since
        self._since = now

    def wrapped(self, work: Callable[..., Any], step: str) -> Callable[..., Any]:
        """Return a function that is timed."""

        def timed(*given: Any, **named: Any) -> Any:
            self.begin(step)
            try:
                return work(*given, **named)
            finally:
                self.end()

        return timed

    def write(self) -> None:
        """Add to the file of marks."""
        _add("".join(f"{step} {seconds}\n" for step, seconds in self.spent.items()))


def _add(text: str) -> None:
    # A client imports no `pathlib`.
    with open(os.environ[MARKS], "a", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text)


clock = Clock()


class _Finder:
    """Wraps functions of modules as these are imported."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: object = None) -> ModuleSpec | None:
        wanted = [(function, step) for module, function, step in WRAPPED if module == name]
        found = PathFinder.find_spec(name, path) if wanted else None
        if found is None or found.loader is None:
            return None
        execute = found.loader.exec_module

        def execute_and_wrap(module: ModuleType) -> None:
            execute(module)
            for function, step in wanted:
                setattr(module, function, clock.wrapped(getattr(module, function), step))

        found.loader.exec_module = execute_and_wrap  # type: ignore[method-assign]
        return found


def _time_imports() -> None:
    """Count imports of what is not loaded yet as one step, from the outermost."""
    load, load_named, depth = builtins.__import__, importlib.import_module, [0]

    def outermost(work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(name: str, *given: Any, **named: Any) -> Any:
            if depth[0] or name in sys.modules:
                return work(name, *given, **named)
            depth[0] = 1
            clock.begin(IMPORTS)
            try:
                return work(name, *given, **named)
            finally:
                clock.end()
                depth[0] = 0

        return timed

    builtins.__import__ = outermost(load)
    importlib.import_module = outermost(load_named)


def command() -> None:
    """Be `rag`."""
    leave = os._exit

    def write_and_leave(code: int) -> None:
        clock.write()
        leave(code)

    os._exit = write_and_leave  # type: ignore[assignment]
    _add(f"{START} {STARTED}\n")
    clock.begin(CLIENT)
    from rag.__main__ import main
    from rag.daemon import client

    ask, hand_over = client._ask_for_child, client.hand_over

    def asked(connection: Any) -> int:
        clock.end()
        clock.begin(FORK)
        child = ask(connection)
        clock.end()
        return child

    def handed_over(arguments: list[str]) -> int | None:
        code = hand_over(arguments)
        if code is None:
            clock.end()
            sys.meta_path.insert(0, _Finder)
            _time_imports()
        return code

    client._ask_for_child, client.hand_over = asked, handed_over
    main()


def parent() -> None:
    """Be the warm process."""
    sys.meta_path.insert(0, _Finder)
    from rag.daemon import server

    receive, run, leave = server.receive, server._run_command, server._leave

    def received(connection: Any) -> Any:
        found = receive(connection)
        clock.begin(TAKE_OVER)
        return found

    def ran(arguments: list[str]) -> int:
        clock.end()
        return run(arguments)

    def left(connection: Any, word: str) -> Any:
        clock.write()
        leave(connection, word)

    server.receive, server._run_command, server._leave = received, ran, left
    sys.argv = sys.argv[:1]
    server.main()
