"""Indexing after a power cut: a plain `rag index` mends what it finds."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from rag.cli.app import run
from rag.config import RAGConfig
from rag.index import sync_mark
from rag.index.snapshots import SHARD, IndexDirectory
from rag.indexing.run import IndexRun


@pytest.fixture
def vault(write_notes) -> Path:
    return write_notes("v", {"a.md": "the former text", "b.md": "another note"})


@pytest.fixture
def started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the machine goes by another name."""
    monkeypatch.setattr(sync_mark, "boot", lambda: "started again")


def texts(points, config: RAGConfig) -> set[str]:
    return {text for text, _ in points(config).values()}


@pytest.fixture
def cut_off(config, refresh, vault, tmp_path) -> RAGConfig:
    """A run that changed a note and did not come to publish: its manifest is on the disk, its shard
    is as it was."""
    refresh(v=vault)
    former = shutil.copytree(IndexDirectory(config.index_dir).work / SHARD, tmp_path / "former")
    (vault / "a.md").write_text("the text of today")
    left = replace(config, data_dir=tmp_path / "left")
    with IndexRun(config) as run:
        run.index_vault("v", vault)
        shutil.copytree(config.data_dir, left.data_dir)
    work = IndexDirectory(left.index_dir).work
    shutil.rmtree(work / SHARD)
    shutil.copytree(former, work / SHARD)
    return left


def test_what_was_written_when_the_machine_went_down_is_not_trusted(
    cut_off, refresh, points, vault, started_again
) -> None:
    assert texts(points, cut_off) == {"the former text", "another note"}
    notices = refresh(cut_off, v=vault).notices
    assert "the machine went down" in notices[0] and "rebuilt" in notices[0]
    assert texts(points, cut_off) == {"the text of today", "another note"}


def test_of_that_it_speaks_once(cut_off, refresh, vault, started_again) -> None:
    refresh(cut_off, v=vault)
    assert refresh(cut_off, v=vault).notices == []


def test_a_rebuild_does_not_speak_of_it(cut_off, refresh, vault, started_again) -> None:
    assert refresh(cut_off, rebuild=True, v=vault).notices == []


def test_a_run_that_ended_is_trusted_after_a_start(
    config, refresh, vault, monkeypatch, points
) -> None:
    with IndexRun(config) as run:
        run.index_vault("v", vault)
    monkeypatch.setattr(sync_mark, "boot", lambda: "started again")
    assert refresh(config, v=vault).notices == []
    assert len(points(config)) == 2


def test_a_run_that_changes_nothing_but_what_it_knows_of_a_file_leaves_the_mark_too(
    config, refresh, vault
) -> None:
    refresh(v=vault)
    mark = config.index_dir / "UNSYNCED"
    mark.unlink()
    (vault / "a.md").touch()
    refresh(v=vault)
    assert mark.read_text() == sync_mark.boot()


@pytest.mark.sampled
@pytest.mark.parametrize("lost", ["CURRENT", "gen-*/points", "gen-*/manifest.sqlite3"])
@pytest.mark.parametrize("how", ["empty", "zeros", "gone"])
def test_a_plain_run_publishes_anew_what_was_lost(
    config, refresh, vault, points, lost: str, how: str
) -> None:
    refresh(v=vault)
    [file] = config.index_dir.glob(lost)
    if how == "gone":
        file.unlink()
    else:
        file.write_bytes(b"\0" * (file.stat().st_size if how == "zeros" else 0))
    before = IndexDirectory(config.index_dir).newest()
    refresh(v=vault)
    assert len(points(config)) == 2
    assert IndexDirectory(config.index_dir).announced() == f"gen-{before + 1}"


@pytest.mark.inside
def test_a_damaged_list_of_vaults_is_written_anew_by_a_plain_run(
    config, vault, monkeypatch, capsys
) -> None:
    monkeypatch.setenv("RAG_DATA_DIR", str(config.data_dir))
    assert run(["index", str(vault)]) == 0
    (config.data_dir / "vaults.json").write_bytes(b"")
    assert run(["search", "former", "--paths"]) == 0
    assert run(["index"]) == 0
    assert "was damaged" in capsys.readouterr().err
    assert run(["index"]) == 0
    assert "was damaged" not in capsys.readouterr().err
    assert str(vault) in (config.data_dir / "vaults.json").read_text()


@pytest.mark.inside
def test_a_data_folder_of_somebody_else_is_left_alone(
    config, vault, monkeypatch, capsys, tmp_path
) -> None:
    photo = tmp_path / "photos/index/gen-1/photo.jpg"
    photo.parent.mkdir(parents=True)
    photo.touch()
    monkeypatch.setenv("RAG_DATA_DIR", str(tmp_path / "photos"))
    assert run(["index", str(vault)]) == 2
    assert "holds files that are not rag's" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "photos").rglob("*")] == [
        "index",
        "gen-1",
        "photo.jpg",
    ]
