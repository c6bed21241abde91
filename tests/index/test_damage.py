"""Damaged files of an index: said by readers and `rag doctor`, mended by the next run."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.app.doctor import run_checks
from rag.config import RAGConfig
from rag.exceptions import IndexUnavailableError
from rag.index.checksums import STAMPS, SUMS, WRITING, Record
from rag.index.snapshots import LINKED, MANIFEST, SHARD, IndexDirectory
from rag.indexing.reports import RunReport
from rag.indexing.run import IndexRun
from rag.stores import get_document_store

Refresh = Callable[..., RunReport]
Points = Callable[[RAGConfig], object]
# A file of each kind: of a snapshot, of the staging index, of both. The manifest, the shard's
# settings, a segment's own, its points, their texts, words and fields, the journal.
FILES = [
    *("gen-*/points", f"gen-*/{MANIFEST}", f"gen-*/{SHARD}/edge_config.json", f"gen-*/{SUMS}"),
    f"gen-*/{SHARD}/segments/*/segment.json",
    f"gen-*/{SHARD}/segments/*/payload_storage/page_0.dat",
    f"gen-*/{SHARD}/segments/*/payload_storage/tracker.dat",
    f"gen-*/{SHARD}/segments/*/payload_index/config.json",
    f"gen-*/{SHARD}/segments/*/vector_storage-lexical/store/page_0.dat",
    *(f"work/{MANIFEST}", f"work/{SHARD}/edge_config.json", f"work/{SUMS}"),
    f"work/{SHARD}/wal/first-index",
    f"work/{SHARD}/segments/*/mutable_id_tracker.mappings",
    f"work/{SHARD}/segments/*/payload_storage/page_0.dat",
    f"work/{SHARD}/segments/*/payload_index/config.json",
]


@pytest.fixture
def indexed(
    write_notes: Callable[..., Path], refresh: Refresh, age: Callable[[Path], None]
) -> Path:
    folder = write_notes("work", {"a.md": "alpha", "b.md": "# B\n\nbeta\n\n## More\n\ngamma"})
    age(folder)
    refresh(work=folder)
    return folder


def flip(file: Path) -> None:
    """Change a bit of the first page; size and time stay."""
    facts, content = file.stat(), bytearray(file.read_bytes())
    place = min(len(content[:4096].rstrip(b"\0")) // 2, len(content) - 1)
    content[place] ^= 1
    with file.open("r+b") as opened:
        opened.write(content)
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def leave_no_trace(config: RAGConfig) -> None:
    """Let all files look as they did when they were found whole."""
    for folder in (config.index_dir / "work", *config.index_dir.glob("gen-*[0-9]")):
        if record := Record.read(folder):
            record.stamp()


def read(config: RAGConfig) -> int:
    """Read what a search reads."""
    with get_document_store(config) as store:
        manifest = store.manifest()
        assert manifest is not None
        return len(store.filter_documents()) - (manifest.expected_points() or 0)


@pytest.mark.sampled
@pytest.mark.parametrize("pattern", FILES)
def test_a_flipped_bit_is_never_read_without_a_word_and_mended(
    config: RAGConfig, indexed: Path, refresh: Refresh, points: Points, pattern: str
) -> None:
    before = points(config)
    for file in config.index_dir.glob(pattern):
        flip(file)
    if pattern.startswith("gen-"):
        with pytest.raises(IndexUnavailableError, match="damaged") as caught:
            read(config)
        assert "`rag index`" in caught.value.hint
    report = refresh(work=indexed)
    assert report.published and ["damaged" in notice for notice in report.notices] == [True]
    assert points(config) == before
    assert refresh(work=indexed).published is False


@pytest.mark.sampled
@pytest.mark.parametrize("pattern", [file for file in FILES if not file.endswith(SUMS)])
def test_damage_without_a_trace_is_found_by_doctor_and_then_mended(
    config: RAGConfig, indexed: Path, refresh: Refresh, points: Points, pattern: str
) -> None:
    before = points(config)
    for file in config.index_dir.glob(pattern):
        flip(file)
    leave_no_trace(config)
    found = {check.name: check for check in run_checks(config)}
    assert "fail" in (found["index"].status, found.get("files", found["index"]).status)
    assert refresh(work=indexed).published
    assert points(config) == before


def test_damage_without_a_trace_is_found_by_a_run_once_a_day(
    config: RAGConfig, indexed: Path, refresh: Refresh, points: Points
) -> None:
    before = points(config)
    for file in config.index_dir.glob(f"*/{SHARD}/segments/*/payload_storage/page_0.dat"):
        flip(file)
    leave_no_trace(config)
    assert not refresh(work=indexed).published
    for stamps in config.index_dir.glob(f"*/{STAMPS}"):
        known = json.loads(stamps.read_bytes())
        known["read at"] = str(float(known["read at"]) - 25 * 3600)
        stamps.write_text(json.dumps(known))
    assert refresh(work=indexed).published
    assert points(config) == before


def test_damage_is_not_published_with_a_change(
    config: RAGConfig, indexed: Path, refresh: Refresh, points: Points, tmp_path: Path
) -> None:
    for file in config.index_dir.glob(f"work/{SHARD}/segments/*/payload_storage/page_0.dat"):
        flip(file)
    (indexed / "new.md").write_text("new")
    refresh(work=indexed)
    fresh = RAGConfig(data_dir=tmp_path / "fresh", ollama=config.ollama)
    refresh(config=fresh, work=indexed)
    assert points(config) == points(fresh)


def test_an_index_that_nothing_happened_to_is_not_read(
    config: RAGConfig, indexed: Path, refresh: Refresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(config)  # the engine touches what it opens
    refresh(work=indexed)
    seen: list[str] = []
    monkeypatch.setattr(
        "rag.index.checksums._holds", lambda file, known: bool(seen.append(file)) or True
    )
    refresh(work=indexed)
    touched = {Path(file).name for file in seen}
    always = {"mutable_id_tracker.mappings", "edge_config.json", "segment.json"}
    assert touched <= {"flags_a.dat", "flags_b.dat", *always}


def test_a_folder_that_was_moved_is_no_damage(
    config: RAGConfig, indexed: Path, refresh: Refresh
) -> None:
    other = config.index_dir.with_name("copy")
    shutil.copytree(config.index_dir, other)
    shutil.rmtree(config.index_dir)
    other.rename(config.index_dir)
    assert read(config) == 0
    report = refresh(work=indexed)
    assert (report.published, report.notices) == (False, [])


def test_an_index_of_an_older_program_is_read_and_gets_checksums(
    config: RAGConfig, indexed: Path, refresh: Refresh
) -> None:
    for name in (SUMS, STAMPS):
        for file in config.index_dir.glob(f"*/{name}"):
            file.unlink()
    assert read(config) == 0
    files = next(check for check in run_checks(config) if check.name == "files")
    assert files.status == "warn" and "`rag index`" in files.hint
    assert refresh(work=indexed).published
    files = next(check for check in run_checks(config) if check.name == "files")
    assert files.status == "pass"


def test_a_run_that_wrote_and_published_nothing_knows_its_files_all_the_same(
    config: RAGConfig, indexed: Path, refresh: Refresh
) -> None:
    (indexed / "new.md").write_text("new")
    with IndexRun(config) as run:
        run.index_vault("work", indexed)
    work = config.index_dir / "work"
    assert not (work / WRITING).exists()
    record = Record.read(work)
    assert record and record.damaged(all_read=True) == []
    flip(next(work.glob(f"{SHARD}/segments/*/payload_storage/page_0.dat")))
    assert "was damaged" in " ".join(refresh(work=indexed).notices)


def kill(run: IndexRun) -> None:
    """Let a run go as `kill -9` does: its locks go, and nothing is noted any more."""
    run.writer.directory.working.close = lambda: None  # type: ignore[method-assign]
    run.writer.close()


def test_what_a_killed_run_wrote_is_no_damage(
    config: RAGConfig, indexed: Path, refresh: Refresh, points: Points, tmp_path: Path
) -> None:
    (indexed / "new.md").write_text("new")
    run = IndexRun(config)
    run.__enter__()
    run.index_vault("work", indexed)
    kill(run)
    assert (config.index_dir / "work" / WRITING).exists()
    report = refresh(work=indexed)
    assert (report.published, report.notices) == (True, [])
    fresh = RAGConfig(data_dir=tmp_path / "fresh", ollama=config.ollama)
    refresh(config=fresh, work=indexed)
    assert points(config) == points(fresh)


@pytest.mark.parametrize("content", ["{}", "no JSON", "[]", '{"indexed_fields": {}}'])
def test_damage_to_what_a_killed_run_left_is_mended_by_the_next_one(
    config: RAGConfig, indexed: Path, refresh: Refresh, points: Points, content: str
) -> None:
    before = points(config)
    run = IndexRun(config)
    run.__enter__()
    kill(run)
    for file in config.index_dir.glob(f"work/{SHARD}/segments/*/payload_index/config.json"):
        file.write_text(content)
    report = refresh(work=indexed)
    assert report.published and "rebuilt" in report.notices[0]
    assert points(config) == before


def test_leftovers_of_killed_merges_and_searches_go_and_are_not_published(
    config: RAGConfig, indexed: Path, refresh: Refresh
) -> None:
    [snapshot] = config.index_dir.glob("gen-*[0-9]")
    shard = config.index_dir / "work" / SHARD
    segment = next((shard / "segments").iterdir())
    left: list[Any] = [
        shard / "temp_segments/one/page_0.dat",
        segment / ".atomicwriteXYZ/tmpfile.tmp",
        segment / "dimensions.tmp",
        snapshot / f"{LINKED}x/segments/one",
        snapshot / "stamps-1.tmp",
        config.index_dir / "work/stamps-1.tmp",
        config.index_dir / "work/.shard.tmp/segments/one/page_0.dat",
        config.index_dir / "parts/one/shard",
    ]
    IndexDirectory(config.index_dir).make_parts()
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 1000)
    os.utime(snapshot / f"{LINKED}x", (0, 0))
    os.utime(snapshot / "stamps-1.tmp", (0, 0))
    (snapshot / f"{LINKED}y").mkdir()  # somebody may be about to open it
    refresh(work=indexed)
    assert not (snapshot / f"{LINKED}x").exists() and (snapshot / f"{LINKED}y").exists()
    assert not [*config.index_dir.glob("*/stamps-1.tmp"), *config.index_dir.glob("parts/*")]
    (indexed / "new.md").write_text("new")
    refresh(work=indexed)
    for name in ("temp_segments", ".atomicwriteXYZ", "dimensions.tmp", f"{LINKED}x"):
        assert not [*config.index_dir.rglob(name)]


def test_links_that_a_killed_search_left_in_memory_go(
    config: RAGConfig, indexed: Path, refresh: Refresh, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("rag.index.snapshots.MEMORY", str(tmp_path / "memory"))
    kept = tmp_path / "kept.txt"
    kept.write_text("a file that a link leads to")
    for name in ("old", "new"):
        folder = tmp_path / "memory" / f"{LINKED}{name}"
        folder.mkdir(parents=True)
        (folder / "link").symlink_to(kept)
    os.utime(tmp_path / "memory" / f"{LINKED}old", (0, 0))
    (indexed / "new.md").write_text("new")
    refresh(work=indexed)
    assert [folder.name for folder in (tmp_path / "memory").iterdir()] == [f"{LINKED}new"]
    assert kept.exists()


def test_snapshots_are_kept_while_none_is_known_to_be_the_current_one(
    config: RAGConfig, indexed: Path
) -> None:
    [snapshot] = config.index_dir.glob("gen-*[0-9]")
    (config.index_dir / "CURRENT").write_text("gen-99")
    IndexDirectory(config.index_dir).sweep()
    assert snapshot.exists()


def test_a_run_mends_what_the_pointer_names_no_more(
    config: RAGConfig, indexed: Path, refresh: Refresh
) -> None:
    (config.index_dir / "CURRENT").write_text("gen-99")
    assert refresh(work=indexed).published
    assert read(config) == 0
