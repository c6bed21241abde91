"""Work in a process of its own, beside this one."""

import os
import subprocess
import sys
import threading

import pytest

from rag.support import process_exit
from rag.support.processes import SideProcess, may_fork


@pytest.fixture
def is_program(monkeypatch):
    monkeypatch.setattr(process_exit, "_kept", [])


def test_what_it_says_comes_back_in_order():
    side = SideProcess(lambda say: (say("one"), say({"two": 2})))
    assert [side.hear(5), side.hear(5)] == ["one", {"two": 2}]
    side.join()


def test_one_that_fails_has_ended_without_a_word(capfd):
    def fail(say):
        raise ValueError("for its own eyes")

    side = SideProcess(fail)
    with pytest.raises(EOFError):
        side.hear(5)
    side.join()
    assert capfd.readouterr() == ("", "")


def test_what_it_prints_goes_nowhere(capfd):
    side = SideProcess(lambda say: os.write(1, b"secret"))
    side.join()
    assert capfd.readouterr().out == ""


def test_it_does_not_while_another_thread_runs(is_program):
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        assert not may_fork()
    finally:
        over.set()
        other.join()


def test_a_process_of_low_priority_goes_after_others():
    code = (
        "import os; from rag.support.processes import lower_priority\n"
        "lower_priority(); print(os.nice(0))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(min(19, os.nice(0) + 10))]
