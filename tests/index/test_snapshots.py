"""The folder of an index: one writer, whole snapshots, and readers that hold what they read."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from disk_files import write, write_all
from rag.exceptions import DiskFullError, IndexUnavailableError, LockedError, UsageError
from rag.index.snapshots import MANIFEST, SHARD, IndexDirectory
from rag.support.disk_space import disk_usage
from rag.support.files import MARK

SOURCE = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture
def index(tmp_path) -> IndexDirectory:
    return IndexDirectory(tmp_path / "index")


def fill_work(index: IndexDirectory, content: str = "points") -> None:
    """Lay down what a flushed and closed shard leaves: enough for publishing, which only syncs."""
    shard = {"segments/one/vectors.dat": content, "edge_config.json": '{"vectors": {}}'}
    write_all(index.begin_work() / SHARD, shard)
    (index.work / MANIFEST).write_text("notes")


def publish(index: IndexDirectory, number: int, content: str = "points") -> None:
    with index.writing():
        fill_work(index, content)
        index.publish(number)


def snapshots(index: IndexDirectory) -> list[str]:
    return sorted(path.name for path in index.path.glob("gen-*") if path.is_dir())


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a second process: `start(code, *arguments)`; it has printed a line when this returns.

    In the code, `index` is the `IndexDirectory` of the first argument.
    """
    started = []

    def run(code: str, *arguments: object) -> subprocess.Popen[str]:
        head = "import sys\nfrom rag.index.snapshots import IndexDirectory\n"
        process = subprocess.Popen(
            [sys.executable, "-c", f"{head}index = IndexDirectory(sys.argv[1])\n{code}"]
            + [str(argument) for argument in arguments],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def finish(process: "subprocess.Popen[str]") -> None:
    """Let a process that waits for its input go on to its end."""
    process.communicate("go on\n", timeout=20)
    assert process.returncode == 0


WRITER = "with index.writing():\n    print('ready', flush=True)\n    input()\n"
READER = "with index.open_current():\n    print('ready', flush=True)\n    input()\n"


# -- one writer ------------------------------------------------------------------------


def test_a_second_writer_is_told_at_once_who_the_first_is(index, start):
    process = start(WRITER, index.path)
    with pytest.raises(LockedError, match=str(process.pid)) as caught, index.writing():
        pass
    assert "--wait" in caught.value.hint


def test_a_second_writer_may_wait_for_the_first(index, start):
    code = (
        "print('ready', flush=True)\n"
        "with index.writing(wait=True):\n"
        "    print((index.path / 'first was here').exists())\n"
    )
    with index.writing():
        waiting = start(code, index.path)
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(0.3)
        (index.path / "first was here").touch()
    output, _ = waiting.communicate(timeout=20)
    assert output == "True\n"


def test_one_index_directory_may_take_its_lock_twice_and_the_last_to_leave_lets_go(index):
    other = IndexDirectory(index.path)
    with index.writing():
        with index.writing():
            pass
        with pytest.raises(LockedError), other.writing():
            pass
    with other.writing():
        pass


def test_a_folder_that_cannot_be_made_is_an_indexing_error(tmp_path):
    (tmp_path / "file").touch()
    index = IndexDirectory(tmp_path / "file/index")
    with pytest.raises(UsageError, match="cannot make") as caught, index.writing():
        pass
    assert "RAG_DATA_DIR" in caught.value.hint


# -- publishing ------------------------------------------------------------------------


def lay_merged(index: IndexDirectory) -> None:
    """Lay down a merged segment beside the other."""
    fill_work(index)
    for name in (
        "id_tracker.mappings",
        "payload_storage/page_0.dat",
        "payload_storage/tracker.dat",
    ):
        write(index.work / SHARD / "segments/two" / name, name)


def same_files(index: IndexDirectory) -> dict[str, bool]:
    """Return which files of a merged segment the next snapshot has in common with gen-1."""
    segment = index.path / "gen-1" / SHARD / "segments/two"
    copied = index.work / SHARD / "segments/two"
    names = [p.relative_to(segment) for p in segment.rglob("*") if p.is_file()]
    assert all((copied / name).read_text() == (segment / name).read_text() for name in names)
    return {str(name): (copied / name).samefile(segment / name) for name in names}


def test_the_next_snapshot_begins_as_the_current_one_and_shares_what_never_changes(
    index, monkeypatch
):
    with index.writing():
        lay_merged(index)
        index.publish(1)
        assert not index.has_work and not index.work.exists()
        index.begin_work()
        assert same_files(index) == {
            "id_tracker.mappings": True,
            "payload_storage/page_0.dat": True,
            "payload_storage/tracker.dat": False,
        }
        (index.work / SHARD / "segments/two/payload_storage/tracker.dat").write_text("changed")
    with index.open_current() as snapshot:
        file = snapshot.path / SHARD / "segments/two/payload_storage/tracker.dat"
        assert file.read_text() == "payload_storage/tracker.dat"

    def refuse(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)  # not every disk gives a file two names
    with index.writing():
        index.begin_work()
        assert not any(same_files(index).values())


def test_what_a_killed_writer_changed_is_forgotten(index):
    publish(index, 1, "first")
    with index.writing():
        fill_work(index, "second")
    with index.writing():
        shard = index.begin_work() / SHARD
        assert (shard / "segments/one/vectors.dat").read_text() == "first"


def test_a_generation_stays_while_another_process_reads_it_and_goes_after(index, start):
    publish(index, 1)
    reader = start(READER, index.path)
    publish(index, 2)
    assert snapshots(index) == ["gen-1", "gen-2"]
    finish(reader)
    publish(index, 3)
    assert snapshots(index) == ["gen-3"]


# -- what readers meet -----------------------------------------------------------------


def test_without_an_index_there_is_nothing_to_open_and_the_hint_says_how_to_make_one(index):
    assert index.current() is None
    with pytest.raises(IndexUnavailableError) as caught:
        index.open_current()
    assert "rag index FOLDER" in caught.value.hint
    assert not index.path.exists()


def test_while_the_first_index_is_written_the_hint_says_so(index):
    with index.writing(), pytest.raises(IndexUnavailableError) as caught:
        index.open_current()
    assert "It is being made" in caught.value.hint


@pytest.mark.parametrize(
    "pointer",
    [b"", b"\0\0\0\0\0", b"gen-7", b"no/such/folder", b"../gen-1", b"\xff\xfe", b"gen-\x00"],
)
def test_a_pointer_to_nothing_is_damage_that_the_next_run_is_told_of(index, pointer):
    publish(index, 1)
    (index.path / "CURRENT").write_bytes(pointer)
    with pytest.raises(IndexUnavailableError, match="damaged") as caught:
        index.open_current()
    assert "`rag index`" in caught.value.hint
    assert (index.path / "DAMAGED").exists()
    with index.writing():
        index.clear_work()
        fill_work(index)
        index.publish(2)
    assert snapshots(index) == ["gen-2"]
    with index.open_current() as snapshot:
        assert snapshot.path.name == "gen-2"


def test_a_reader_whose_generation_goes_at_the_last_moment_gets_the_next_one(index, monkeypatch):
    publish(index, 1)
    current = index.current

    def publish_meanwhile() -> str | None:
        name = current()
        monkeypatch.undo()
        publish(IndexDirectory(index.path), 2)
        return name

    monkeypatch.setattr(index, "current", publish_meanwhile)
    with index.open_current() as snapshot:
        assert snapshot.path.name == "gen-2"


# -- room on the disk ------------------------------------------------------------------


def test_without_room_on_the_disk_nothing_is_published_and_the_numbers_are_named(
    index, monkeypatch
):
    publish(index, 1, "x" * (30 << 20))
    usage = shutil.disk_usage(index.path)

    def fill_up(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rag.index.snapshots.sync_tree", fill_up)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=2 << 20))
    with (
        index.writing(),
        pytest.raises(DiskFullError, match=r"10\d MB needed, 2 MB free") as caught,
    ):
        fill_work(index)
        index.publish(2)
    assert "RAG_DATA_DIR" in caught.value.hint
    assert snapshots(index) == ["gen-1"]
    assert index.current() == "gen-1"


# -- sparse copies ---------------------------------------------------------------------


def test_a_generation_without_a_mark_is_read_and_never_removed(index):
    publish(index, 1)
    (index.path / "gen-1" / MARK).unlink()
    with index.open_current() as snapshot:
        assert snapshot.path.name == "gen-1"
    publish(index, 2)
    assert snapshots(index) == ["gen-1", "gen-2"]


def test_nobody_else_may_read_an_index(index):
    publish(index, 1)
    assert index.path.stat().st_mode & 0o777 == 0o700


def test_disk_usage_counts_a_file_with_two_names_once(tmp_path):
    (tmp_path / "one").write_bytes(os.urandom(200_000))
    (tmp_path / "inner").mkdir()
    os.link(tmp_path / "one", tmp_path / "inner/two")
    assert 200_000 <= disk_usage(tmp_path) < 300_000
