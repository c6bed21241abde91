"""Many notes: read by other processes too, and the same index in the end."""

import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag.config import RAGConfig
from rag.index.manifest import FREQUENCIES
from rag.index.snapshots import MANIFEST, IndexDirectory
from rag.indexing import note_reader
from rag.indexing.run import IndexRun
from rag.stores import get_document_store
from rag.vault import document_process

NOTES = {
    f"{number:02}.md": f"---\ntitle: Note {number}\ntags: [t{number % 3}]\n---\n"
    f"alpha{number} café\n\n## 設計 {number}\n\nサーバーの記録を確認する。Beta gamma."
    for number in range(40)
}


@pytest.fixture
def vault(write_notes) -> Path:
    return write_notes("v", NOTES)


@pytest.fixture
def read_apart(monkeypatch) -> Callable[[], None]:
    """Have all notes read by other processes from now on."""
    return lambda: monkeypatch.setattr(note_reader, "_MUCH", 0)


def everything(config: RAGConfig) -> list[Any]:
    """Return all that an index holds, times of indexing aside."""
    with get_document_store(config) as store:
        held: list[Any] = [
            (d.id, d.content, sorted(d.meta.items()), d.sparse_embedding)
            for d in store.filter_documents()
        ]
    directory = IndexDirectory(config.index_dir)
    snapshot = directory.path / (directory.current() or "")
    with closing(sqlite3.connect(snapshot / FREQUENCIES)) as db:
        held.append([*db.execute("SELECT * FROM counts")])
    with closing(sqlite3.connect(snapshot / MANIFEST)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            wanted = ", ".join(c for c in columns if c not in ("indexed_at", "racy"))
            runs = "('revision', 'totals', 'indexed_at')"  # tell of the runs, not of the notes
            where = f"WHERE key NOT IN {runs}" if table == "meta" else ""
            held.append((table, sorted(db.execute(f"SELECT {wanted} FROM {table} {where}"))))
    return held


def test_the_index_is_the_one_that_is_made_in_one_process(
    vault, config, refresh, tmp_path, read_apart
):
    refresh(v=vault)
    read_apart()
    apart = replace(config, data_dir=tmp_path / "apart")
    report = refresh(apart, v=vault)
    assert everything(apart) == everything(config)
    assert (report.notes, report.chunks, report.vaults["v"].added) == (40, 80, 40)


def test_progress_is_told_for_each_note(vault, config, read_apart):
    read_apart()
    told = []
    with IndexRun(config) as index_run:
        index_run.index_vault("v", vault, progress=lambda done, total: told.append((done, total)))
    assert told[0] == (0, 40) and told[-1] == (40, 40) and len(told) > 3
    assert told == sorted(told)


def test_notes_of_a_process_that_dies_are_read_all_the_same(vault, config, refresh, read_apart):
    read_apart()
    refresh(v=vault)
    for process in document_process._processes:  # as the system does where memory is short
        if process._process:
            os.kill(process._process.process.pid, signal.SIGKILL)
    (vault / "00.md").write_text("rewritten")
    report = refresh(v=vault).vaults["v"]
    assert (report.changed, report.failed) == (1, {})
