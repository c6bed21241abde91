"""Fixtures: a warm process that most tests share, and a place for one of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from warm_house import RAG, House, Terminal


@pytest.fixture
def warm(warm_house: House) -> House:
    """The warm process that most tests share: they may not end it."""
    warm_house.ask()
    return warm_house


@pytest.fixture
def house() -> Iterator[House]:
    """A runtime folder of the test's own, where nothing runs yet."""
    house = House()
    try:
        yield house
    finally:
        house.clear()


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    """Run a program at a terminal: `terminal(house, "search", "words")`."""
    opened: list[Terminal] = []

    def run(
        house: House,
        *arguments: str | Path,
        command: list[str] = RAG,
        columns: int = 100,
        **variables: str,
    ):
        env = house.environment(**{"TERM": "xterm-256color", **variables})
        opened.append(Terminal([*command, *map(str, arguments)], env, columns))
        return opened[-1]

    try:
        yield run
    finally:
        for one in opened:
            one.close()
