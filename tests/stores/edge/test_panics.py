"""What the engine prints when it panics, and what others print in the meantime."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rag.stores.edge import panics

SOURCE = Path(__file__).resolve().parents[3] / "src"
BACKTRACE = b"note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"
# A vector with fewer values than dimensions.
PANIC = """
import os, sys
from pathlib import Path
import qdrant_edge as qe
from rag.support import process_exit
from rag.exceptions import IndexUnavailableError
from rag.stores.edge.shard import create_shard, guard
from rag.stores.base.points import SPARSE

shard = create_shard(Path(sys.argv[1]))
if "program" in sys.argv:
    process_exit.begin()
os.write(2, b"before\\n")
try:
    with guard("be tried"):
        os.write(2, b"meanwhile\\n")
        vector = qe.SparseVector([1, 2], [1.0])
        shard.update(qe.UpdateOperation.upsert_points([qe.Point(1, {SPARSE: vector}, {})]))
except IndexUnavailableError as error:
    print("failed", file=sys.stderr)
os.write(2, b"after\\n")
os._exit(0)
"""


def said(shard: Path, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", PANIC, str(shard), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "RUST_BACKTRACE": "0"}
    return subprocess.run(command, capture_output=True, text=True, env=environment).stderr.split()


def test_the_program_shows_no_panic_but_all_else_in_order(tmp_path: Path) -> None:
    found = said(tmp_path / "shard", "program")
    assert found == ["before", "meanwhile", "failed", "after"]


def test_a_library_leaves_standard_error_alone(tmp_path: Path) -> None:
    assert "panicked" in said(tmp_path / "shard")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (b"\nthread '<unnamed>' (12) panicked at a.rs:1:2:\nno\n" + BACKTRACE, b""),
        (b"thread 'main' panicked at a.rs:1:2:\nno\nstack backtrace:\n   0: x\n" + BACKTRACE, b""),
        (b"one\n\nthread 'a' (1) panicked at b:\nc\n" + BACKTRACE + b"two\n", b"one\ntwo\n"),
        (b"thread 'a' panicked at b:\ncut off", b""),
        (b"a thread 'a' of mine\n", b"a thread 'a' of mine\n"),
    ],
)
def test_what_is_left_of_what_was_printed(text: bytes, left: bytes) -> None:
    assert panics._PANIC.sub(b"", text) == left


def test_it_may_be_entered_again_and_again_and_within_itself(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(panics, "is_program", lambda: True)
    for _ in range(3):
        with panics.without_panics():
            with panics.without_panics():
                os.write(2, b"\nthread 'a' panicked at b:\nc\n" + BACKTRACE)
            os.write(2, b"more\n")
        os.write(2, b"after\n")
    assert capfd.readouterr().err == "more\nafter\n" * 3


def test_without_a_standard_error_the_engine_works_all_the_same() -> None:
    code = (
        "import os; from rag.support import process_exit; process_exit.begin(); os.close(2)\n"
        "from rag.stores.edge.panics import without_panics\n"
        "with without_panics(): print('worked')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment)
    assert done.stdout == b"worked\n"
