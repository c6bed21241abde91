"""Files that became something else."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from rag.support.files import open_file
from rag.vault import scan_folder


def make_socket(path: Path) -> None:
    here = os.open(".", os.O_RDONLY)
    os.chdir(path.parent)  # the name of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)


OTHERS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "folder": os.mkdir,
    "socket": make_socket,
    "device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_no_file_is_not_opened(tmp_path, kind):
    OTHERS[kind](tmp_path / "a.md")
    with pytest.raises(OSError):
        open_file(tmp_path / "a.md")


def test_a_file_is_read_whole(tmp_path):
    (tmp_path / "a.md").write_bytes(b"text" * 100_000)
    with open_file(tmp_path / "a.md") as stream:
        assert len(stream.read()) == 400_000


@pytest.mark.parametrize("name", [".gitignore", ".ragignore"])
def test_an_ignore_file_that_is_a_pipe_is_told_and_not_waited_for(tmp_path, name):
    (tmp_path / "a.md").write_text("a")
    os.mkfifo(tmp_path / name)
    found = scan_folder(str(tmp_path))
    assert [note.path for note in found.notes] == ["a.md"]
    assert (found.problems, found.notices) == ({}, {name: "ignore file: not a regular file"})
