"""Readers that are lent to threads, and follow the newest snapshot."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from rag.app.requests import SearchRequest
from rag.app.search import search
from rag.app.serving.readers import Readers
from rag.config import RAGConfig
from rag.exceptions import IndexUnavailableError, QueryError

Refresh = Callable[..., object]


@pytest.fixture
def folder(write_notes: Callable[..., Path], refresh: Refresh) -> Path:
    folder = write_notes("work", {"Old.md": "# Wombat\n\nA wombat digs.\n"})
    refresh(work=folder)
    return folder


def found(readers: Readers, query: str) -> int:
    with readers.reader() as workspace:
        return search(workspace, SearchRequest(query)).response.total


def test_a_new_snapshot_is_read_by_the_next_request(
    config: RAGConfig, folder: Path, refresh: Refresh
):
    readers = Readers(config)
    readers.prepare()
    assert (found(readers, "wombat"), found(readers, "quokka")) == (1, 0)
    (folder / "New.md").write_text("# Quokka\n\nA quokka smiles.\n")
    refresh(work=folder)
    assert found(readers, "quokka") == 1
    readers.close()


def test_a_request_keeps_its_snapshot_to_its_end(config: RAGConfig, folder: Path, refresh: Refresh):
    readers = Readers(config)
    with readers.reader() as workspace:
        assert search(workspace, SearchRequest("wombat")).response.total == 1
        (folder / "Old.md").unlink()
        (folder / "New.md").write_text("# Quokka\n\nA quokka smiles.\n")
        refresh(work=folder)
        assert search(workspace, SearchRequest("wombat")).response.total == 1
    assert found(readers, "wombat") == 0
    readers.close()


def test_one_that_is_given_back_after_the_end_is_closed(config: RAGConfig, folder: Path):
    readers = Readers(config)
    with readers.reader() as workspace:
        readers.close()
        assert search(workspace, SearchRequest("wombat")).response.total == 1
    with readers.reader() as another:
        assert another is not workspace


def test_requests_one_after_the_other_share_a_reader(config: RAGConfig, folder: Path):
    readers = Readers(config)
    with readers.reader() as first:
        pass
    with readers.reader() as second, readers.reader() as third:
        assert first is second
        assert third is not second
    readers.close()


def test_the_reader_that_was_prepared_is_lent_first(config: RAGConfig, folder: Path):
    readers = Readers(config)
    readers.prepare()
    with readers.reader() as first, readers.reader() as second:
        assert search(first, SearchRequest("wombat")).response.total == 1
        assert search(second, SearchRequest("wombat")).response.total == 1
    readers.close()


def test_a_reader_is_lent_again_after_a_query_that_failed(config: RAGConfig, folder: Path):
    readers = Readers(config)
    with pytest.raises(QueryError), readers.reader() as first:
        search(first, SearchRequest(""))
    with readers.reader() as second:
        assert second is first
    readers.close()


def test_a_reader_in_which_something_broke_is_not_lent_again(config: RAGConfig, folder: Path):
    readers = Readers(config)
    with pytest.raises(ZeroDivisionError), readers.reader() as first:
        _ = 1 / 0
    with readers.reader() as second:
        assert second is not first
    readers.close()


def test_an_index_that_is_made_later_is_found(
    config: RAGConfig, write_notes: Callable[..., Path], refresh: Refresh
):
    readers = Readers(config)
    with pytest.raises(IndexUnavailableError):
        found(readers, "wombat")
    refresh(work=write_notes("work", {"Old.md": "# Wombat\n\nA wombat digs.\n"}))
    assert found(readers, "wombat") == 1
    readers.close()


def test_who_comes_when_all_are_lent_waits(config: RAGConfig, folder: Path):
    readers, waited = Readers(config), threading.Event()

    def ask() -> None:
        found(readers, "wombat")
        waited.set()

    with ExitStack() as lent:
        for _ in range(4):
            lent.enter_context(readers.reader())
        thread = threading.Thread(target=ask)
        thread.start()
        assert not waited.wait(0.2)
    assert waited.wait(30)
    thread.join()
    readers.close()


def test_a_fresh_reader_reads_what_was_just_written(config: RAGConfig, folder: Path):
    readers = Readers(config)
    assert found(readers, "wombat") == 1
    (folder / "New.md").write_text("# Quokka\n\nA quokka smiles.\n")
    with readers.reader(is_fresh=True) as workspace:
        assert search(workspace, SearchRequest("quokka")).response.total == 1
    assert readers.changed == 0
    readers.close()
