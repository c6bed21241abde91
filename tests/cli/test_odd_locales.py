"""Where the locale says that text is no UTF-8: names, notes and output are UTF-8 all the same."""

import os
import subprocess

import pytest

from daemon_fixture import RAG

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_name_that_is_not_ascii_is_printed_byte_for_byte(library):
    command = [*RAG, "search", "証明書", "--paths"]
    ran = subprocess.run(command, env={**os.environ, **ASCII}, capture_output=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"{library}/証明書.md\n".encode(), b"")


def test_such_a_note_is_indexed_under_its_own_name(notes, rag, program):
    environment = {**os.environ, **ASCII}
    assert program("index", "-q", notes, env=environment).code == 0
    assert rag("index").out.startswith("nothing changed: 3 notes")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp932", "euc_jp"])
def test_output_is_utf_8_whatever_python_is_told(library, encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    ran = subprocess.run(
        [*RAG, "search", "証明書"], env=environment, capture_output=True, timeout=60
    )
    assert ran.returncode == 0 and "証明書の更新" in ran.stdout.decode("utf-8")
