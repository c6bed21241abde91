"""Work in a process of its own, beside this one."""

from __future__ import annotations

import os
import threading

import pytest

from rag.support import process_exit
from rag.support.side_process import SideProcess, may_fork


@pytest.fixture
def is_program(monkeypatch):
    monkeypatch.setattr(process_exit, "_kept", [])


def test_what_it_says_comes_back_in_order():
    side = SideProcess(lambda say: (say("one"), say({"two": 2})))
    assert [side.hear(), side.hear()] == ["one", {"two": 2}]
    side.join()


def test_it_is_another_process():
    side = SideProcess(lambda say: say(os.getpid()))
    assert side.hear() != os.getpid()
    side.join()


def test_one_that_fails_has_ended_without_a_word(capfd):
    def fail(say):
        raise ValueError("for its own eyes")

    side = SideProcess(fail)
    with pytest.raises(EOFError):
        side.hear()
    side.join()
    assert capfd.readouterr() == ("", "")


def test_what_it_prints_goes_nowhere(capfd):
    side = SideProcess(lambda say: os.write(1, b"secret"))
    side.join()
    assert capfd.readouterr().out == ""


def test_only_our_program_forks(monkeypatch):
    monkeypatch.setattr(process_exit, "_kept", None)
    assert not may_fork()


def test_it_does_not_while_another_thread_runs(is_program):
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        assert not may_fork()
    finally:
        over.set()
        other.join()
