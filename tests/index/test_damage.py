"""Damaged files of an index: said by readers and `rag doctor`, mended by the next run."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from disk_files import write
from rag.app.doctor import run_checks
from rag.config import RAGConfig
from rag.exceptions import IndexUnavailableError
from rag.index import shard_files as checksums
from rag.index.shard_files import SUMS
from rag.index.snapshots import MANIFEST, SHARD, IndexDirectory
from rag.indexing.reports import RunReport
from rag.indexing.run import IndexRun
from rag.pipelines import create_search_pipeline, search
from rag.stores import get_document_store
from rag.support.files import MARK, make_owned

Refresh = Callable[..., RunReport]
Points = Callable[[RAGConfig], object]
# A file of each kind: the manifest, the shard's settings, a segment's own, its points, their
# texts, words and fields.
SETTINGS = ("edge_config.json", "segment.json")
FILES = [
    *(MANIFEST, SUMS, f"{SHARD}/edge_config.json", f"{SHARD}/segments/*/segment.json"),
    f"{SHARD}/segments/*/payload_storage/page_0.dat",
    f"{SHARD}/segments/*/payload_storage/tracker.dat",
    f"{SHARD}/segments/*/payload_index/config.json",
    f"{SHARD}/segments/*/vector_storage-lexical/store/page_0.dat",
    f"{SHARD}/segments/*/mutable_id_tracker.mappings",
]


@pytest.fixture
def indexed(write_notes, refresh, age) -> Path:
    folder = write_notes("work", {"a.md": "alpha", "b.md": "# B\n\nbeta\n\n## More\n\ngamma"})
    age(folder)
    refresh(work=folder)
    return folder


def flip(file: Path, trace: bool = True) -> None:
    """Change a bit of the first page.

    :param trace: without it size and time stay.
    """
    facts, content = file.stat(), bytearray(file.read_bytes())
    place = min(len(content[:4096].rstrip(b"\0")) // 2, len(content) - 1)
    content[place] ^= 1
    with file.open("r+b") as opened:
        opened.write(content)
    if not trace:
        os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def read(config: RAGConfig) -> int:
    """Read what a search reads."""
    with get_document_store(config) as store:
        manifest = store.manifest()
        assert manifest is not None
        return len(store.filter_documents()) - (manifest.totals()[1] or 0)


@pytest.mark.sampled
@pytest.mark.parametrize("pattern", FILES)
def test_a_flipped_bit_is_mended_by_a_plain_run(config, indexed, refresh, points, pattern):
    before = points(config)
    for file in config.index_dir.glob(f"gen-*/{pattern}"):
        flip(file)
    report = refresh(work=indexed)
    assert report.published and ["damaged" in notice for notice in report.notices] == [True]
    assert points(config) == before
    assert refresh(work=indexed).published is False


@pytest.mark.sampled
@pytest.mark.parametrize("pattern", [file for file in FILES if file != SUMS])
def test_damage_without_a_trace_is_found_by_doctor_and_then_mended(
    config, indexed, refresh, points, pattern
):
    before = points(config)
    for file in config.index_dir.glob(f"gen-*/{pattern}"):
        flip(file, trace=False)
    found = {check.name: check for check in run_checks(config)}
    assert "fail" in (found["index"].status, found.get("files", found["index"]).status)
    assert refresh(work=indexed).published
    assert points(config) == before


@pytest.mark.parametrize("name", [MANIFEST, f"{SHARD}/edge_config.json"])
def test_what_a_search_finds_damaged_is_said_and_then_mended(
    config, indexed, refresh, points, name
):
    before = points(config)
    for file in config.index_dir.glob(f"gen-*/{name}"):
        facts = file.stat()
        file.write_bytes(b"7" * facts.st_size)
        os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    with pytest.raises(IndexUnavailableError, match="damaged") as caught:
        read(config)
    assert "`rag index`" in caught.value.hint
    assert refresh(work=indexed).published
    assert points(config) == before
    assert refresh(work=indexed).notices == []


def test_what_sqlite_quotes_of_damage_need_be_no_text(config, indexed, refresh):
    [file] = config.index_dir.glob(f"gen-*/{MANIFEST}")
    file.write_bytes(file.read_bytes().replace(b"CREATE TABLE notes", b"CR\xbaATE TABLE notes"))
    with pytest.raises(IndexUnavailableError, match="damaged"):
        read(config)
    assert refresh(work=indexed).published
    read(config)


@pytest.mark.parametrize("table", ["counts", "words", "facts"])
def test_a_damaged_table_of_the_manifest_is_said_by_a_search_and_then_mended(
    config, indexed, refresh, points, table
):
    before = points(config)
    [file] = config.index_dir.glob(f"gen-*/{MANIFEST}")
    with closing(sqlite3.connect(file)) as db:
        [page] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [table]).fetchone()
        [size] = db.execute("PRAGMA page_size").fetchone()
    facts = file.stat()
    with file.open("r+b") as opened:
        opened.seek((page - 1) * size)
        opened.write(bytes(size))
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    with get_document_store(config) as store, pytest.raises(IndexUnavailableError, match="damaged"):
        search(create_search_pipeline(store, config), "alfa tag:x status:y gama")
    assert ["damaged" in notice for notice in refresh(work=indexed).notices] == [True]
    assert points(config) == before


def test_an_index_that_nothing_happened_to_is_not_read(config, indexed, refresh, monkeypatch):
    read(config)  # the engine touches what it opens
    refresh(work=indexed)
    seen: list[str] = []
    read_all = checksums._checksum
    monkeypatch.setattr(checksums, "_checksum", lambda file: seen.append(file) or read_all(file))
    refresh(work=indexed)
    touched = {Path(file).name for file in seen}
    assert touched <= {*("flags_a.dat", "flags_b.dat", "tracker.dat"), *SETTINGS}


def test_an_index_that_lost_its_mark_is_known_by_what_it_holds(config, indexed, refresh):
    (config.index_dir / MARK).unlink()
    (indexed / "new.md").write_text("delta")
    assert refresh(work=indexed).published
    assert (config.index_dir / MARK).exists()


def test_a_folder_that_was_moved_is_no_damage(config, indexed, refresh):
    other = config.index_dir.with_name("copy")
    shutil.copytree(config.index_dir, other)
    shutil.rmtree(config.index_dir)
    other.rename(config.index_dir)
    assert read(config) == 0
    report = refresh(work=indexed)
    assert (report.published, report.notices) == (False, [])


@pytest.mark.parametrize("how", [lambda file: os.truncate(file, 10), Path.unlink])
def test_a_file_that_was_cut_short_is_said_before_the_engine_maps_it(config, indexed, how):
    for file in config.index_dir.glob(f"gen-*/{SHARD}/segments/*/payload_storage/page_0.dat"):
        how(file)
    with pytest.raises(IndexUnavailableError, match="damaged"):
        read(config)


def test_what_a_killed_run_wrote_is_written_again(config, indexed, refresh, points, tmp_path):
    (indexed / "new.md").write_text("new")
    with IndexRun(config) as run:
        run.index_vault("work", indexed)  # and publishes nothing
    report = refresh(work=indexed)
    assert (report.published, report.notices) == (True, [])
    fresh = RAGConfig(data_dir=tmp_path / "fresh", ollama=config.ollama)
    refresh(config=fresh, work=indexed)
    assert points(config) == points(fresh)


def test_leftovers_of_killed_runs_go_and_are_not_published(config, indexed, refresh):
    [snapshot] = config.index_dir.glob("gen-*[0-9]")
    segment = next((snapshot / SHARD / "segments").iterdir())
    left = [
        snapshot / SHARD / "temp_segments/one/page_0.dat",
        segment / ".atomicwriteXYZ/tmpfile.tmp",
        segment / "dimensions.tmp",
        config.index_dir / "parts/one/shard",
        config.index_dir / "work/shard/segments/one/page_0.dat",
    ]
    index = IndexDirectory(config.index_dir)
    make_owned(index.parts)
    index.clear_work()
    for path in left:
        write(path, b"x" * 1000)
    refresh(work=indexed)
    assert not (config.index_dir / "work").exists() and not (config.index_dir / "parts").exists()
    (indexed / "new.md").write_text("new")
    refresh(work=indexed)
    for name in ("temp_segments", ".atomicwriteXYZ", "dimensions.tmp"):
        assert not [*config.index_dir.rglob(name)]


def test_snapshots_are_kept_while_none_is_known_to_be_the_current_one(config, indexed):
    [snapshot] = config.index_dir.glob("gen-*[0-9]")
    (config.index_dir / "CURRENT").write_text("gen-99")
    IndexDirectory(config.index_dir).sweep()
    assert snapshot.exists()
