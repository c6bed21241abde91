"""The program on a disk that is full, or that may not be written: a tmpfs of our own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# What a trial has at hand on its disk, which is gone with its process.
HEAD = """
import json, os, shutil, subprocess, sys
disk, home = sys.argv[1:]
environment = {**os.environ, "RAG_DATA_DIR": disk + "/data"}
subprocess.run(["cp", "-r", "--sparse=always", home + "/data", disk], check=True)
said = []

def rag(*arguments):
    command = [sys.executable, "-m", "rag", *arguments]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=home)
    said.append([ran.returncode, ran.stdout, ran.stderr])

def fill(left):
    facts = os.statvfs(disk)
    with open(disk + "/ballast", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, facts.f_bavail * facts.f_frsize - left)

def make_room():
    os.unlink(disk + "/ballast")
"""


Said = list[tuple[int, str, str]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a vault of one note, and its index."""
    home = tmp_path_factory.mktemp("home")
    (home / "vault").mkdir()
    (home / "vault/first.md").write_text("# First\n\nThe anchor holds.\n", "utf-8")
    command = [sys.executable, "-m", "rag", "index", "-q", str(home / "vault")]
    subprocess.run(command, env=surroundings(home), check=True, capture_output=True, cwd=home)
    return home


def surroundings(home: Path) -> dict[str, str]:
    ours = {"RAG_DATA_DIR": str(home / "data"), "RAG_OLLAMA__ENABLED": "false", "RAG_WARM": "0"}
    return {**os.environ, **ours, "HOME": str(home)}


@pytest.fixture
def on_a_disk(home: Path, tmp_path: Path) -> Callable[[str], Said]:
    """Run a trial where `disk` is 400 MB with a copy of the index; return what each `rag` said."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=400m none '{disk}'"
    try:
        subprocess.run(["unshare", "-rm", "sh", "-c", mount], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no disk may be mounted here")

    def run(steps: str) -> Said:
        script = f"{HEAD}\n{steps}\nprint(json.dumps(said))"
        trial = [sys.executable, "-c", script, str(disk), str(home)]
        command = ["unshare", "-rm", "sh", "-c", f'{mount} && exec "$@"', "sh", *trial]
        ran = subprocess.run(
            command, env=surroundings(home), stdout=subprocess.PIPE, text=True, check=True
        )
        found: Said = json.loads(ran.stdout)
        return found

    return run


def test_commands_that_read_do_on_a_read_only_disk(
    on_a_disk: Callable[[str], Said],
) -> None:
    remount = 'subprocess.run(["mount", "-o", "remount,ro", disk], check=True)'
    expected = {
        "search anchor": "The anchor holds.",
        "ask anchor": "The anchor holds.",
        "get First": "The anchor holds.",
        "status": "notes     1 in 1 chunk",
        "doctor": r"warn +data folder +.* can be searched",
    }
    trial = "\n".join(f"rag(*{command.split()})" for command in expected)
    said = on_a_disk(f"{remount}\n{trial}")
    for (command, shown), (code, out, err) in zip(expected.items(), said, strict=True):
        assert code == 0 and re.search(shown, out), (command, out, err)


def is_of_the_disk(code: int, err: str) -> bool:
    found = re.search(r"the disk is full: \d+ MB needed, \d+ MB free at .*data/index", err)
    return code == 5 and bool(found) and "RAG_DATA_DIR" in err and "damaged" not in err


def test_a_search_needs_no_room_and_a_run_that_finds_none_says_so_and_goes_on_later(
    on_a_disk: Callable[[str], Said], home: Path
) -> None:
    (home / "vault/second.md").write_text("# Second\n\nThe buoy drifts.\n", "utf-8")
    [before, full, indexed, found] = on_a_disk(
        "fill(0)\nrag('search', 'anchor')\nrag('index', '-q')\n"
        "make_room()\nrag('index')\nrag('search', 'buoy')"
    )
    assert before[0] == 0 and "The anchor holds." in before[1]
    assert is_of_the_disk(full[0], full[2]), full
    assert indexed[0] == 0 and indexed[2] == "" and "1 new" in indexed[1]
    assert "The buoy drifts." in found[1]


def test_a_page_that_got_no_block_is_that_of_a_full_disk(
    on_a_disk: Callable[[str], Said], home: Path
) -> None:
    """The engine's process ends by it. A first index of one note takes some 25 MB where holes
    take room."""
    [full, indexed] = on_a_disk(
        "shutil.rmtree(disk + '/data')\nfill(8 << 20)\nrag('index', home + '/vault')\n"
        "make_room()\nrag('index', home + '/vault')"
    )
    assert is_of_the_disk(full[0], full[2]), full
    assert indexed[0] == 0 and indexed[2] == ""
