"""Fixtures: a warm process that most tests share, and a place for one of the test's own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from daemon_fixture import RAG, Daemon, Terminal


@pytest.fixture(scope="session")
def shared_daemon() -> Iterator[Daemon]:
    """One warm process, which serves the homes of all tests."""
    daemon = Daemon(is_shared=True)
    try:
        daemon.start()
        yield daemon
    finally:
        daemon.clear()


@pytest.fixture
def warm(shared_daemon) -> Daemon:
    """The warm process that most tests share: they may not end it."""
    shared_daemon.ask()
    return shared_daemon


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    """A runtime folder of the test's own, where nothing runs yet."""
    daemon = Daemon()
    try:
        yield daemon
    finally:
        daemon.clear()


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    """Run a program at a terminal: `terminal(daemon, "search", "words")`."""
    with ExitStack() as opened:

        def run(
            daemon: Daemon,
            *arguments: str | Path,
            command: list[str] = RAG,
            columns: int = 100,
            **variables: str,
        ) -> Terminal:
            env = daemon.environment(**{"TERM": "xterm-256color", **variables})
            started = Terminal([*command, *map(str, arguments)], env, columns)
            return opened.enter_context(closing(started))

        yield run
