"""Fixtures: a warm process that most tests share, a place for one of the test's own, notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from warm_house import RAG, House, Terminal

NOTES = {
    "Backups.md": "---\ntags: [ops/backup]\ncreated: 2025-03-01\naliases: [Safety copies]\n---\n"
    "# Backups\n\nWe keep backups for ninety days.\n\n## Restore\n\nRun the restore script.\n",
    "runbooks/Rollback.md": "---\ntags: [ops]\ncreated: 2025-06-30\n---\n"
    "# Rolling back\n\nRolling back a deploy takes two minutes.\n",
    "証明書.md": "---\ncreated: 2024-01-01\n---\n# 証明書の更新\n\n証明書は毎年三月に更新する。\n",
}


@pytest.fixture
def warm(warm_house: House) -> House:
    """The warm process that most tests share: they may not end it."""
    warm_house.ask()
    return warm_house


@pytest.fixture
def house() -> Iterator[House]:
    """A runtime folder of the test's own, where nothing runs yet."""
    house = House()
    try:
        yield house
    finally:
        house.clear()


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three notes in a vault `work`, indexed once: nobody may change them."""
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


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    """Run a program at a terminal: `terminal(house, "search", "words")`."""
    opened: list[Terminal] = []

    def run(
        house: House,
        *arguments: str | Path,
        command: list[str] = RAG,
        columns: int = 100,
        **variables: str,
    ):
        env = house.environment(**{"TERM": "xterm-256color", **variables})
        opened.append(Terminal([*command, *map(str, arguments)], env, columns))
        return opened[-1]

    try:
        yield run
    finally:
        for one in opened:
            one.close()
