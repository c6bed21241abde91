"""Writing that a power cut cannot undo halfway: what is synced, and in which order."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rag.context import FactFile, MemoryEntry
from rag.qa.sessions import Turn, new_session
from rag.support.files import replace_durably, sync_tree


@pytest.fixture
def calls(monkeypatch) -> list[tuple[str, int]]:
    """What was synced or renamed, by inode; all of it is done besides."""
    heard: list[tuple[str, int]] = []
    sync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        heard.append(("sync", os.fstat(descriptor).st_ino))
        sync(descriptor)

    def replaced(source: Path, target: Path) -> None:
        heard.append(("rename", source.stat().st_ino))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    return heard


@pytest.fixture
def failing(monkeypatch) -> Callable[[int], None]:
    def fail(number: int) -> None:
        def sync(_: int) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "fsync", sync)

    return fail


def _keep_turn(folder: Path) -> Path:
    session = new_session(folder)
    session.add(Turn("backups?", "backups?", "Ninety days."))
    return session.path


def _keep_fact(folder: Path) -> Path:
    FactFile(folder / "facts.jsonl").add(MemoryEntry(content="I live in Kyoto."))
    return folder / "facts.jsonl"


@pytest.mark.parametrize("keep", [_keep_turn, _keep_fact])
def test_what_is_kept_of_a_chat_is_on_the_disk_at_once(tmp_path, calls, keep):
    file = keep(tmp_path / "data")
    assert ("sync", file.stat().st_ino) in calls
    assert ("sync", file.parent.stat().st_ino) in calls


class TestReplacing:
    def test_the_file_is_synced_before_it_has_its_name_and_the_name_after(self, tmp_path, calls):
        file = tmp_path / "list"
        replace_durably(file, b"new")
        inode = file.stat().st_ino
        assert calls == [("sync", inode), ("rename", inode), ("sync", tmp_path.stat().st_ino)]

    def test_the_other_stays_where_the_disk_fails(self, tmp_path, failing):
        (tmp_path / "list").write_bytes(b"old")
        failing(errno.EIO)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            replace_durably(tmp_path / "list", b"new")
        assert (tmp_path / "list").read_bytes() == b"old"

    def test_a_link_in_the_way_is_not_followed(self, tmp_path):
        (tmp_path / "mine").write_bytes(b"mine")
        (tmp_path / ".list.tmp").symlink_to(tmp_path / "mine")
        replace_durably(tmp_path / "list", b"new")
        assert (tmp_path / "mine").read_bytes() == b"mine"
        assert (tmp_path / "list").read_bytes() == b"new"


class TestSyncing:
    def test_a_tree_is_synced_to_the_last_file_and_folder(self, tmp_path, calls):
        for number in range(30):
            folder = tmp_path / f"tree/{number % 5}/{number}"
            folder.mkdir(parents=True)
            (folder / "file").write_text("x")
        (tmp_path / "elsewhere").write_text("a second name")
        (tmp_path / "tree/link").hardlink_to(tmp_path / "elsewhere")
        sync_tree(tmp_path / "tree")
        wanted = {path.stat().st_ino for path in (tmp_path / "tree").rglob("*")}
        assert {inode for _, inode in calls} == wanted | {(tmp_path / "tree").stat().st_ino}

    def test_what_the_disk_did_not_take_is_an_error(self, tmp_path, failing):
        (tmp_path / "file").touch()
        failing(errno.EIO)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            sync_tree(tmp_path)
