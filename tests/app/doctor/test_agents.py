"""Whether a client of agents reads the same index: what `rag doctor` says of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rag.app.doctor import run_checks
from rag.app.doctor.agents import check_agents
from rag.app.doctor.check import Examination, IndexView
from rag.config import RAGConfig, load_config


@pytest.fixture
def indexed(write_notes: Callable[..., Path], refresh: Callable[..., object]) -> RAGConfig:
    """Settings in force, and an index that they name."""
    config = load_config()
    refresh(config, work=write_notes("work", {"Backups.md": "# Backups\n\nNinety days.\n"}))
    return config


def test_a_client_with_next_to_no_environment_reads_the_same_index(indexed: RAGConfig):
    [check] = [one for one in run_checks(indexed) if one.name == "agents"]
    assert (check.status, check.facts) == ("pass", {"index": str(indexed.index_dir)})


def test_another_index_is_a_failure(
    indexed: RAGConfig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    other = tmp_path / "other"
    shutil.copytree(indexed.data_dir, other)
    monkeypatch.setattr(
        "rag.app.serving.program_start._environment", lambda config: {"RAG_DATA_DIR": str(other)}
    )
    [check] = check_agents(Examination(indexed, IndexView()))
    assert check.status == "fail"
    assert f"not {indexed.index_dir}" in check.message


def test_a_server_that_cannot_start_is_a_failure(
    indexed: RAGConfig, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("rag.app.serving.program_start._program", lambda: ["/nowhere/rag"])
    [check] = check_agents(Examination(indexed, IndexView()))
    assert check.status == "fail"
    assert "does not answer" in check.message


def test_without_an_index_nothing_is_asked(config: RAGConfig):
    assert [*check_agents(Examination(config))] == []
