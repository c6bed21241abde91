"""Driving the command line: in this process for most tests, as a program for the rest."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from both_ways import WAY, run_program, typed
from ollama_answers import ANSWER_NOTES
from rag.cli.app import run as run_app

REPO = Path(__file__).resolve().parents[2]


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        return json.loads(self.out)


@pytest.fixture
def rag(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command in this process: `rag("search", "words")`; in `make warm` as a program."""

    def run(*arguments: str | Path) -> Ran:
        if WAY:
            return Ran(*run_program([str(argument) for argument in arguments], typed()))
        capsys.readouterr()
        code = run_app([str(argument) for argument in arguments])
        return Ran(code, *capsys.readouterr())

    return run


@pytest.fixture
def environment() -> dict[str, str]:
    """The environment of the program: the test's own, and where the package is."""
    return {**os.environ, "PYTHONPATH": str(REPO / "src")}


@pytest.fixture
def program(environment: dict[str, str]) -> Callable[..., Ran]:
    """Run `python -m rag …` as a process of its own."""

    def run(*arguments: str | Path, env: Mapping[str, str] = environment, **options: Any) -> Ran:
        options = {"stdin": subprocess.DEVNULL, **options}
        return Ran(*run_program([*map(str, arguments)], env=env, **options))

    return run


NOTES = {
    "Backups.md": "---\ntags: [ops/backup]\ncreated: 2025-03-01\naliases: [Safety copies]\n---\n"
    "# Backups\n\nWe keep backups for ninety days.\n\n## Restore\n\nRun the restore script.\n",
    "runbooks/Rollback.md": "---\ntags: [ops]\ncreated: 2025-06-30\n---\n"
    "# Rolling back\n\nRolling back a deploy takes two minutes.\n",
    "証明書.md": "---\ncreated: 2024-01-01\n---\n# 証明書の更新\n\n証明書は毎年三月に更新する。\n",
}


@pytest.fixture
def notes(write_notes: Callable[..., Path]) -> Path:
    """A folder of three notes, not yet indexed."""
    return write_notes("work", NOTES)


@pytest.fixture
def indexed(notes: Path, rag: Callable[..., Ran]) -> Path:
    """The same, indexed as the vault `work`."""
    assert rag("index", "-q", notes).code == 0
    return notes


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same in a place where it stays for the whole run: nobody may change it."""
    from rag.config import RAGConfig
    from rag.indexing.run import IndexRun

    base = tmp_path_factory.mktemp("shelf")
    for path, text in NOTES.items():
        (base / "work" / path).parent.mkdir(parents=True, exist_ok=True)
        (base / "work" / path).write_text(text, "utf-8")
    with IndexRun(RAGConfig(data_dir=base / "data")) as run:
        run.index_vault("work", base / "work")
        run.publish()
    return base


@pytest.fixture
def library(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The indexed notes for tests that only read."""
    monkeypatch.setenv("RAG_DATA_DIR", str(shelf / "data"))
    return shelf / "work"


@pytest.fixture(scope="session")
def answer_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the index of `ANSWER_NOTES`; link to it, so that nothing is added."""
    from rag.config import RAGConfig
    from rag.indexing.run import IndexRun

    base = tmp_path_factory.mktemp("answers")
    (base / "v").mkdir()
    for path, text in ANSWER_NOTES.items():
        (base / "v" / path).write_text(text, "utf-8")
    with IndexRun(RAGConfig(data_dir=base / "data")) as run:
        run.index_vault("v", base / "v")
        run.publish()
    return base / "data"
