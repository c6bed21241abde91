"""`rag doctor`: what it prints, its exit codes, and that it leaves everything alone."""

from pathlib import Path

import pytest

from rag.config import load_config
from rag.index.snapshots import IndexDirectory

MODELS = ["bge-m3", "llama3.2"]


@pytest.mark.usefixtures("started_agents")
def test_a_healthy_index_gives_0(rag, library, server):
    ran = rag("doctor")
    assert (ran.code, ran.err) == (0, "")
    *lines, summary = ran.out.splitlines()
    assert {line[:6] for line in lines if line[0] != " "} == {"✓ pass"}
    assert summary.endswith(" passed, 0 warnings, 0 failures")


def test_a_failure_gives_1_with_the_command_that_mends_it_below(rag):
    ran = rag("doctor")
    assert ran.code == 1
    lines = ran.out.splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("✗ fail  index "))
    assert lines[at + 1].startswith(" " * 24) and "`rag index FOLDER`" in lines[at + 1]
    assert lines[-1].endswith("1 failure")


def test_quietly_it_says_only_what_is_wrong(rag, library, server):
    assert rag("doctor", "-q") == (0, "", "")
    del server.models["llama3.2"]
    first, hint = rag("doctor", "-q").out.splitlines()
    assert first.startswith("! warn  chat model") and "ollama pull" in hint


def test_it_neither_waits_for_the_writer_nor_changes_the_index(rag, indexed):
    def content() -> dict[Path, bytes]:
        return {file: file.read_bytes() for file in index.rglob("*") if file.is_file()}

    index = load_config().index_dir
    rag("search", "backups")  # the engine writes its settings anew when it first opens a shard
    with IndexDirectory(index).writing():
        before = content()
        assert rag("doctor").code == 0
        assert content() == before
