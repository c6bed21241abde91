"""The program on a disk that is full, or that may not be written: a tmpfs of our own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rag.support.sparse_files import copy_tree

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


# -- reading ---------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("search anchor", "The anchor holds."),
        ("ask anchor", "The anchor holds."),
        ("get First", "The anchor holds."),
        ("status", "notes     1 in 1 chunk"),
        ("doctor", r"warn +data folder +.* can be searched"),
    ],
)
def test_commands_that_read_do_on_a_disk_that_is_read_only(
    on_a_disk: Callable[[str], Said], command: str, expected: str
) -> None:
    remount = 'subprocess.run(["mount", "-o", "remount,ro", disk], check=True)'
    [(code, out, err)] = on_a_disk(f"{remount}\nrag(*{command.split()})")
    assert code == 0, err
    assert re.search(expected, out)


@pytest.mark.sampled
@pytest.mark.parametrize("command", ["search anchor", "get First", "status"])
def test_commands_that_read_do_without_the_right_to_write(
    home: Path, tmp_path: Path, command: str
) -> None:
    bound: list[str] = []
    if os.geteuid() == 0:  # whom the rights of a folder bind only without these capabilities
        if not shutil.which("setpriv"):
            pytest.skip("this user may write everywhere")
        bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    data = tmp_path / "data"
    copy_tree(home / "data", data)
    for path in (data, *data.rglob("*")):
        path.chmod(0o500 if path.is_dir() else 0o400)
    ran = subprocess.run(
        [*bound, sys.executable, "-m", "rag", *command.split()],
        env={**surroundings(home), "RAG_DATA_DIR": str(data)},
        capture_output=True,
        text=True,
    )
    for path in (data, *data.rglob("*")):
        path.chmod(0o700)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.sampled
@pytest.mark.parametrize("left", [0, 4096, 1 << 20])
def test_a_search_needs_no_room(on_a_disk: Callable[[str], Said], left: int) -> None:
    [(code, out, err)] = on_a_disk(f"fill({left})\nrag('search', 'anchor')")
    assert code == 0 and "The anchor holds." in out, err


# -- writing ---------------------------------------------------------------------------


def is_of_the_disk(code: int, err: str) -> bool:
    found = re.search(r"the disk is full: \d+ MB needed, \d+ MB free at .*data/index", err)
    return code == 5 and bool(found) and "RAG_DATA_DIR" in err and "damaged" not in err


@pytest.mark.sampled
@pytest.mark.parametrize("left", [0, 64 << 10])
def test_an_index_that_cannot_be_written_is_that_of_a_full_disk(
    on_a_disk: Callable[[str], Said], home: Path, left: int
) -> None:
    (home / "vault/second.md").write_text(f"# Second\n\nThe buoy drifts {left}.\n", "utf-8")
    [full, indexed, found] = on_a_disk(
        f"fill({left})\nrag('index', '-q')\nmake_room()\nrag('index')\nrag('search', 'buoy')"
    )
    assert is_of_the_disk(full[0], full[2]), full
    assert indexed[0] == 0 and indexed[2] == "" and "1 new" in indexed[1]
    assert f"The buoy drifts {left}." in found[1]


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
