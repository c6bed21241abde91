"""Many new notes: written as segments, by another process too, and the same index in the end."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from processes import state_of
from rag.config import RAGConfig
from rag.exceptions import IndexingError
from rag.index.snapshots import MANIFEST, SHARD, IndexDirectory
from rag.indexing import bulk_build, run
from rag.indexing.run import IndexRun
from rag.stores import get_document_store
from rag.support.processes import PythonProcess

NOTES = {
    f"{number:02}.md": f"---\ntitle: Note {number}\ntags: [t{number % 3}]\n---\n"
    f"alpha{number} café\n\n## 設計 {number}\n\nサーバーの記録を確認する。Beta gamma."
    for number in range(40)
}


@pytest.fixture
def vault(write_notes) -> Path:
    return write_notes("v", NOTES)


@pytest.fixture
def cut(monkeypatch) -> Callable[..., None]:
    """Make segments of about so many chunks; 0: none."""

    def patch(size: int) -> None:
        monkeypatch.setattr(run, "MANY", 0 if size else 1 << 40)
        monkeypatch.setattr(run, "_BATCH_CHUNKS", size or 1000)
        monkeypatch.setattr(bulk_build, "USUAL", size)

    return patch


def everything(config: RAGConfig) -> list[Any]:
    """Return all that an index holds, times of indexing aside."""
    with get_document_store(config) as store:
        found: list[Any] = [
            (d.id, d.content, sorted(d.meta.items()), d.sparse_embedding)
            for d in store.filter_documents()
        ]
    directory = IndexDirectory(config.index_dir)
    generation = directory.path / (directory.current() or "")
    with closing(sqlite3.connect(generation / MANIFEST)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            wanted = ", ".join(c for c in columns if c not in ("indexed_at", "racy"))
            runs = "('revision', 'totals', 'indexed_at')"  # tell of the runs, not of the notes
            known = f"WHERE key NOT IN {runs}" if table == "meta" else ""
            found.append((table, sorted(db.execute(f"SELECT {wanted} FROM {table} {known}"))))
    return found


# -- the same index, whoever builds it -------------------------------------------------


def test_the_index_is_the_one_that_is_written_note_by_note(vault, config, refresh, tmp_path, cut):
    cut(0)
    refresh(v=vault)
    cut(20)
    apart = replace(config, data_dir=tmp_path / "apart")
    report = refresh(apart, v=vault)
    assert everything(apart) == everything(config)
    assert (report.notes, report.chunks, report.vaults["v"].added) == (40, 80, 40)


def test_what_is_changed_or_deleted_later_is_so_in_the_index(
    vault, config, refresh, points, tmp_path, cut
):
    cut(20)
    refresh(v=vault)
    (vault / "03.md").write_text("rewritten")
    (vault / "04.md").unlink()
    refresh(v=vault)
    fresh = replace(config, data_dir=tmp_path / "fresh")
    cut(0)
    refresh(fresh, v=vault)
    assert points(config) == points(fresh)


def test_a_small_run_starts_no_process(vault, refresh, monkeypatch):
    monkeypatch.setattr(bulk_build, "PythonProcess", None)
    assert refresh(v=vault).notes == 40


def test_an_index_that_lost_what_was_built_is_not_published(vault, config, refresh, points, cut):
    cut(20)
    with pytest.raises(IndexingError, match=r"held 0 of 80 chunks"), IndexRun(config) as index_run:
        index_run.index_vault("v", vault)
        shutil.rmtree(IndexDirectory(config.index_dir).work / SHARD)
        index_run.publish()
    assert IndexDirectory(config.index_dir).current() is None
    refresh(v=vault)
    assert len(points(config)) == 80


def test_progress_is_told_for_each_note(vault, config, cut):
    cut(20)
    told = []
    with IndexRun(config) as index_run:
        index_run.index_vault("v", vault, progress=lambda done, total: told.append((done, total)))
    assert told[0] == (0, 40) and told[-1] == (40, 40) and len(told) > 3
    assert told == sorted(told)


# -- what goes wrong -------------------------------------------------------------------


def test_a_process_that_dies_ends_the_run_and_the_next_run_completes_it(
    vault, config, refresh, points, tmp_path, cut, monkeypatch
):
    cut(20)
    order, orders = PythonProcess.order, []

    def order_and_kill(worker, what):
        order(worker, what)
        orders.append(what)
        if len(orders) == 3:
            worker.process.kill()

    with monkeypatch.context() as patched:
        patched.setattr(PythonProcess, "order", order_and_kill)
        with pytest.raises(IndexingError, match=r"ended before its time.*signal 9") as raised:
            refresh(v=vault)
    assert "rag index" in raised.value.hint
    cut(20)
    refresh(v=vault)
    fresh = replace(config, data_dir=tmp_path / "fresh")
    cut(0)
    refresh(fresh, v=vault)
    assert points(config) == points(fresh)


RUN = """
import sys, time
from pathlib import Path
from rag.config import RAGConfig
from rag.indexing import bulk_build, run
from rag.indexing.run import IndexRun
from rag.stores import QdrantEdgeDocumentStore
from rag.support.processes import PythonProcess

run.MANY, run._BATCH_CHUNKS, bulk_build.USUAL = 0, 20, 20
started = PythonProcess.__init__

def tell(worker, *names):
    started(worker, *names)
    print(worker.process.pid, flush=True)

def import_segments(store, *built):
    print("built", flush=True)
    time.sleep(60)

PythonProcess.__init__ = tell
QdrantEdgeDocumentStore.import_segments = import_segments
with IndexRun(RAGConfig(data_dir=Path(sys.argv[1]))) as index_run:
    index_run.index_vault("v", Path(sys.argv[2]))
"""


@pytest.fixture
def writer(vault, config) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A writer in the middle of its work, and the process it started."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(config.data_dir), str(vault)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout
        lines = [process.stdout.readline().strip() for _ in range(2)]
        assert lines[1] == "built"
        yield process, int(lines[0])
        process.kill()


@pytest.mark.sampled
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc to look at")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_survives_the_writer(writer, end):
    process, pid = writer
    assert state_of(pid) not in ("", "Z")
    process.send_signal(end)
    process.wait(20)
    deadline = time.monotonic() + 20
    while state_of(pid) not in ("", "Z") and time.monotonic() < deadline:
        time.sleep(0.01)
    assert state_of(pid) in ("", "Z")


def test_a_process_that_builds_needs_no_haystack():
    code = "import sys; import rag.indexing.bulk_build; print('haystack' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
