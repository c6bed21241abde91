"""The notes that are lent to threads, and follow the newest snapshot."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rag.app.library import Library
from rag.app.requests import SearchRequest
from rag.app.search import search
from rag.exceptions import IndexUnavailableError, QueryError

Refresh = Callable[..., object]


@pytest.fixture
def folder(write_notes, refresh) -> Path:
    folder = write_notes("work", {"Old.md": "# Wombat\n\nA wombat digs.\n"})
    refresh(work=folder)
    return folder


@pytest.fixture
def library(config) -> Iterator[Library]:
    with closing(Library(lambda: config)) as library:
        yield library


def found(library: Library, query: str) -> int:
    with library.reader(is_fresh=False) as workspace:
        return search(workspace, SearchRequest(query)).total


def test_a_new_snapshot_is_read_by_the_next_request(library, folder, refresh):
    library.wait_for_notes()
    assert (found(library, "wombat"), found(library, "quokka")) == (1, 0)
    (folder / "New.md").write_text("# Quokka\n\nA quokka smiles.\n")
    refresh(work=folder)
    assert found(library, "quokka") == 1


def test_a_request_keeps_its_snapshot_to_its_end(library, folder, refresh):
    with library.reader(is_fresh=False) as workspace:
        assert search(workspace, SearchRequest("wombat")).total == 1
        (folder / "Old.md").unlink()
        (folder / "New.md").write_text("# Quokka\n\nA quokka smiles.\n")
        refresh(work=folder)
        assert search(workspace, SearchRequest("wombat")).total == 1
    assert found(library, "wombat") == 0


def test_requests_one_after_the_other_share_a_reader(library, folder):
    with library.reader(is_fresh=False) as first:
        pass
    with library.reader(is_fresh=False) as second, library.reader(is_fresh=False) as third:
        assert first is second
        assert third is not second


def test_a_reader_is_lent_again_after_a_query_that_failed_and_not_after_anything_else(
    library, folder
):
    with pytest.raises(QueryError), library.reader(is_fresh=False) as first:
        search(first, SearchRequest(""))
    with pytest.raises(ZeroDivisionError), library.reader(is_fresh=False) as second:
        assert second is first
        _ = 1 / 0
    with library.reader(is_fresh=False) as third:
        assert third is not first


def test_an_index_that_is_made_later_is_found(library, write_notes, refresh):
    with pytest.raises(IndexUnavailableError):
        found(library, "wombat")
    refresh(work=write_notes("work", {"Old.md": "# Wombat\n\nA wombat digs.\n"}))
    assert found(library, "wombat") == 1


def test_a_fresh_reader_reads_what_was_just_written(library, folder):
    assert found(library, "wombat") == 1
    (folder / "New.md").write_text("# Quokka\n\nA quokka smiles.\n")
    with library.reader(is_fresh=True) as workspace:
        assert search(workspace, SearchRequest("quokka")).total == 1
    assert library.changed == 0
