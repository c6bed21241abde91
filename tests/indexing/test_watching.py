"""The child that writes an index on a short disk, and what is said of how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

HEAD = """
import os, signal, sys, time
from rag.exceptions import RAGError, UsageError
from rag.indexing import child_writer as watching
from rag.support import disk_space as room
from rag.index.snapshots import IndexDirectory

watching._PLENTY = 1 << 62
directory = IndexDirectory(sys.argv[1])
here = os.getpid()
try:
    print("came back:", watching.watch(directory, work), flush=True)
except RAGError as error:
    print(type(error).__name__, error, error.hint, flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def start(work: str, folder: Path) -> subprocess.Popen[str]:
    head = HEAD.replace("try:\n", f"def work(tell_size):\n    {work}\ntry:\n", 1)
    return subprocess.Popen(
        [sys.executable, "-c", head, str(folder)], stdout=subprocess.PIPE, text=True
    )


def said(work: str, folder: Path) -> str:
    process = start(work, folder)
    out, _ = process.communicate(timeout=60)
    return out.strip()


def test_what_it_returns_comes_back_from_another_process(tmp_path: Path) -> None:
    assert said("return (os.getpid() != here, room.is_watched())", tmp_path) == (
        "came back: (True, True)"
    )


def test_its_errors_are_raised(tmp_path: Path) -> None:
    work = "raise UsageError('no such vault', 'it says', hint='rag vault list')"
    assert said(work, tmp_path) == "UsageError no such vault (it says) rag vault list"


@pytest.mark.parametrize(
    ("free", "expected"), [(5 << 20, "DiskFullError the disk is full: "), (1 << 40, "SIGBUS")]
)
def test_the_end_by_a_page_without_a_block_is_that_of_the_disk(
    tmp_path: Path, free: int, expected: str
) -> None:
    parts = tmp_path / "index" / "parts"
    work = "directory.writing().__enter__(); directory.make_parts()"
    work += "; os.kill(os.getpid(), signal.SIGBUS)"
    patch = f"room.shutil.disk_usage = lambda f: type('U', (), dict(free={free}))"
    process = start(f"{work}\n{patch}", tmp_path / "index")
    out, _ = process.communicate(timeout=60)
    assert expected in out
    assert not parts.exists()  # it took room for nothing


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that watches a child, which sleeps; and the number of the child."""
    with start(
        "print(os.getpid(), flush=True); [time.sleep(0.1) for _ in range(600)]", tmp_path
    ) as process:
        assert process.stdout
        yield process, int(process.stdout.readline())
        process.kill()


def test_a_signal_goes_on_to_it_and_ends_both_alike(
    sleeper: tuple[subprocess.Popen[str], int],
) -> None:
    process, child = sleeper
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == -signal.SIGTERM
    assert has_ended(child)


def test_ctrl_c_interrupts_it(sleeper: tuple[subprocess.Popen[str], int]) -> None:
    process, child = sleeper
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "interrupted\n"
    assert has_ended(child)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_it_ends_with_the_process_that_watches(
    sleeper: tuple[subprocess.Popen[str], int],
) -> None:
    process, child = sleeper
    process.kill()
    process.wait(30)
    assert has_ended(child)


def has_ended(child: int) -> bool:
    """Tell whether a process is gone, soon; nobody may have asked yet how it ended."""
    state = Path(f"/proc/{child}/stat")
    for _ in range(600):
        try:
            os.kill(child, 0)
            if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False
