"""Other processes of the program, beside this one."""

import os
import subprocess
import sys

import pytest

from rag.support.processes import PythonProcess


def test_a_process_of_low_priority_goes_after_others():
    code = (
        "import os; from rag.support.processes import lower_priority\n"
        "lower_priority(); print(os.nice(0))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(min(19, os.nice(0) + 10))]


class Unreadable:
    """What fails as it is read, as an order of another version of the program may."""

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return int, ("no number",)


def test_a_process_ends_with_an_order_that_it_cannot_read():
    with PythonProcess("rag.vault.document_process", "serve") as process:
        process.order(Unreadable())
        assert process.answers.poll(60)
        with pytest.raises(EOFError):
            process.answer()
