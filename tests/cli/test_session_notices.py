"""What is said once on a terminal, and not at every command."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

AWAY = "Ollama does not answer"
BY_NOBODY = "No model wrote this"
QUESTION = "How long do we keep backups?"


@pytest.fixture
def said(library, environment) -> Callable[..., str]:
    """Run a command whose stderr is a terminal, and return what it says there."""

    def run(terminal: int, *arguments: str, **settings: str) -> str:
        subprocess.run(
            [sys.executable, "-m", "rag", *arguments],
            env={**environment, **settings, "COLUMNS": "300"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=terminal,
            check=True,
        )
        os.set_blocking(SIDES[terminal], False)
        try:
            return os.read(SIDES[terminal], 65536).decode()
        except BlockingIOError:
            return ""

    return run


SIDES: dict[int, int] = {}


@contextmanager
def opened_terminal() -> Iterator[int]:
    ours, theirs = os.openpty()
    SIDES[theirs] = ours
    try:
        yield theirs
    finally:
        os.close(theirs)
        os.close(ours)


def test_that_no_model_wrote_an_answer_is_said_in_full_once(said):
    with opened_terminal() as terminal:
        assert BY_NOBODY in said(terminal, "ask", QUESTION)
        again = said(terminal, "ask", "How long does rolling back take?")
        assert BY_NOBODY not in again
        assert "Quoted from your notes (confidence" in again
