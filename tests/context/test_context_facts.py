"""Facts on disk: kept by many processes, and whatever else the file holds."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.context import FactFile, MemoryEntry, StorageError

SOURCE = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "data" / "facts.jsonl"


def texts(path: Path) -> list[str]:
    return [entry.content for entry in FactFile(path).list_all()]


def test_without_a_file_there_are_no_facts_and_none_is_made(path):
    assert FactFile(path).list_all() == []
    assert FactFile(path).delete("x") is False
    assert not path.parent.exists()


def test_a_fact_comes_back_as_it_was(path):
    fact = MemoryEntry(content="日本語 \n\u2028\x85\x0b ok", tags=["a"], metadata={"n": [1.5]})
    FactFile(str(path)).add(fact)
    assert FactFile(path).list_all() == [fact]


def test_only_their_owner_may_read_them(path):
    FactFile(path).add(MemoryEntry(content="x"))
    assert path.stat().st_mode & 0o077 == 0
    FactFile(path).delete(FactFile(path).list_all()[0].id)
    assert path.stat().st_mode & 0o077 == 0


def test_a_fact_can_be_forgotten(path):
    facts = [MemoryEntry(content=text) for text in "abc"]
    for fact in facts:
        FactFile(path).add(fact)
    assert FactFile(path).delete(facts[1].id) is True
    assert FactFile(path).delete(facts[1].id) is False
    assert texts(path) == ["a", "c"]


def test_what_a_killed_process_left_half_written_is_no_harm(path):
    facts = [MemoryEntry(content=text) for text in "ab"]
    for fact in facts:
        FactFile(path).add(fact)
    path.with_name("facts.jsonl.new").write_text("{" * 5000)
    FactFile(path).delete(facts[0].id)
    assert texts(path) == ["b"]
    assert "{{" not in path.read_text()


STRANGE = [b"# mine", b"", b"{", b'{"content": 5}', b"\xff\xfe", b'"x"', b"\r", b'{"a": "\\ud800"}']


def test_lines_that_are_no_fact_are_passed_over_and_stay_as_they_are(path):
    path.parent.mkdir()
    path.write_bytes(b"\n".join(STRANGE))
    facts = [MemoryEntry(content=text) for text in "ab"]
    for fact in facts:
        FactFile(path).add(fact)
    assert texts(path) == ["a", "b"]
    FactFile(path).delete(facts[0].id)
    lines = path.read_bytes().split(b"\n")
    assert lines[: len(STRANGE)] == STRANGE
    assert len(lines) == len(STRANGE) + 2


def test_a_lock_that_another_process_keeps_is_not_waited_for_for_ever(path, monkeypatch):
    monkeypatch.setattr("rag.support.files.lock.__defaults__", (0.05,))
    fact = MemoryEntry(content="x")
    FactFile(path).add(fact)
    with path.with_name("facts.jsonl.lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for write in (lambda: FactFile(path).add(fact), lambda: FactFile(path).delete(fact.id)):
            with pytest.raises(StorageError, match="written by another process") as caught:
                write()
            assert caught.value.hint
    FactFile(path).add(fact)
    assert texts(path) == ["x", "x"]


def test_a_folder_in_its_place_is_a_storage_error(path):
    path.mkdir(parents=True)
    file, fact = FactFile(path), MemoryEntry(content="x")
    for use in (file.list_all, lambda: file.add(fact), lambda: file.delete("x")):
        with pytest.raises(StorageError, match="cannot be"):
            use()


def start(path: Path, program: str) -> subprocess.Popen[str]:
    begin = "import sys; from rag.context import FactFile, MemoryEntry; f = FactFile(sys.argv[1])\n"
    return subprocess.Popen(
        [sys.executable, "-c", begin + dedent(program), str(path)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_processes_that_add_and_forget_at_the_same_time_lose_nothing(path):
    program = """
        for n in range(40):
            kept, gone = MemoryEntry(content=f"kept {n}"), MemoryEntry(content="gone")
            f.add(kept), f.add(gone)
            assert f.delete(gone.id)
    """
    writers = [start(path, program) for _ in range(3)]
    assert [writer.communicate(timeout=60) and writer.returncode for writer in writers] == [0, 0, 0]
    assert sorted(texts(path)) == sorted(f"kept {n}" for n in range(40) for _ in range(3))


@settings(max_examples=examples(40))
@given(st.lists(st.text(max_size=20), max_size=5), st.binary(max_size=40))
def test_whatever_else_is_in_the_file_facts_come_back(path, facts, rest):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(rest)
    for text in facts:
        FactFile(path).add(MemoryEntry(content=text))
    assert texts(path) == facts
    assert path.read_bytes().startswith(rest)
