"""What counts as a full disk, and what is said of it."""

import errno
import shutil
import sqlite3
from types import SimpleNamespace
from typing import Any

import pytest

from rag.exceptions import ConnectionError, DiskFullError, IndexingError, RAGError, UsageError
from rag.stores.base.points import StoreError
from rag.support import disk_space as room

WANTING = (
    "Service runtime error: Not enough space available for optimization, needed: 162.83 MiB, "
    "available: 110.39 MiB"
)


@pytest.fixture
def free(monkeypatch) -> Any:
    """Set how many bytes are free."""

    def set_free(size: int) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=size))

    return set_free


def caused(error: RAGError, cause: Exception) -> RAGError:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        StoreError("the index engine failed", "IO Error: No space left on device (os error 28)"),
        StoreError("the index engine failed", WANTING),
        caused(UsageError("cannot make the folder"), OSError(errno.ENOSPC, "no room")),
        caused(IndexingError("the pipeline failed"), OSError(errno.ENOSPC, "no room")),
    ],
    ids=str,
)
def test_what_a_full_disk_causes_is_said_to_be_the_disk(tmp_path, error):
    with (
        pytest.raises(DiskFullError, match="the disk is full: ") as raised,
        room.disk_in_view(tmp_path),
    ):
        raise error
    assert str(tmp_path) in raised.value.message and "RAG_DATA_DIR" in raised.value.hint
    assert raised.value.exit_code == 5


@pytest.mark.parametrize(
    ("error", "is_disk"),
    [
        (StoreError("the index engine failed to open the index", "cannot map"), True),
        (sqlite3.OperationalError("unable to open database file"), True),
        (UsageError("no such vault"), False),
        (PermissionError(errno.EACCES, "Permission denied"), False),
        (ConnectionError("No space left on device, says the server"), False),
    ],
    ids=str,
)
def test_where_nothing_is_free_the_engine_fails_of_that(tmp_path, free, error, is_disk):
    free(4096)
    with pytest.raises(DiskFullError if is_disk else type(error)), room.disk_in_view(tmp_path):
        raise error


def test_the_message_has_what_is_needed_and_what_is_free(tmp_path, free):
    free(3 << 20)
    full = room.disk_full(tmp_path / "not" / "there", 40 << 20)
    assert full.message.startswith("the disk is full: 40 MB needed, 3 MB free at ")
