"""Bringing an index up to date before a search: when that is done, and when it is left."""

from dataclasses import replace
from pathlib import Path

import pytest

from index_fixtures import NOTES
from rag.app.requests import SearchRequest, SyncRequest
from rag.app.search import search
from rag.app.sync import MOST, Refreshed, refresh, sync
from rag.app.workspace import Workspace
from rag.config import IndexConfig, OllamaConfig, RAGConfig
from rag.index.snapshots import IndexDirectory

UNCHANGED = Refreshed(0)


@pytest.fixture
def notes(write_notes, config) -> Path:
    """A vault of three notes, indexed."""
    folder = write_notes("work", NOTES)
    sync(config, SyncRequest([folder]))
    return folder


def found(config: RAGConfig, words: str, **how: bool) -> list[str]:
    with Workspace(config) as workspace:
        report = search(workspace, SearchRequest(words, **how))
        return [result.file_path for result in report.results]


def test_a_search_that_asks_for_it_finds_what_was_just_written(config, notes):
    (notes / "Zebra.md").write_text("# Zebra\n\nThe quokka sleeps.\n")
    assert found(config, "quokka") == []
    assert found(config, "quokka", refresh=True) == ["Zebra.md"]


def test_new_changed_and_deleted_notes_are_counted(config, notes):
    (notes / "Zebra.md").write_text("# Zebra\n")
    (notes / "Backups.md").write_text("# Backups\n\nNone.\n")
    (notes / "証明書.md").unlink()
    expected = "indexed 2 changed notes, forgot 1 note no longer there"
    assert refresh(config) == Refreshed(0, (expected,))
    assert refresh(config) == UNCHANGED


def test_more_than_a_hundred_changed_notes_are_left_to_the_indexer(config, notes):
    for number in range(MOST + 1):
        (notes / f"{number}.md").write_text(f"# Note {number}\n")
    assert refresh(config) == Refreshed(MOST + 1)
    (notes / "0.md").unlink()
    assert refresh(config).notices == (f"indexed {MOST} changed notes",)


def test_nothing_is_done_while_another_process_writes_the_index(config, notes):
    (notes / "Zebra.md").write_text("# Zebra\n")
    with IndexDirectory.of(config).writing():
        assert refresh(config) == Refreshed(1)


def test_settings_that_would_rebuild_the_index_change_nothing(config, notes):
    (notes / "Zebra.md").write_text("# Zebra\n")
    other = replace(config, index=IndexConfig(chunk_size=300))
    before = IndexDirectory.of(config).current()
    assert refresh(other) == Refreshed(1)
    assert IndexDirectory.of(config).current() == before


def test_a_vault_whose_folder_is_away_keeps_its_notes(config, notes):
    notes.rename(notes.with_name("away"))
    assert refresh(config) == UNCHANGED
    assert found(config, "backups", refresh=True) == ["Backups.md"]


def test_no_folder_becomes_a_vault_by_it(config, notes, write_notes):
    write_notes("other", {"Other.md": "# Other\n\nA quokka.\n"})
    (notes / "Zebra.md").write_text("# Zebra\n")
    within = replace(config, vaults_dir=notes.parent)
    assert refresh(within).notices == ("indexed 1 changed note",)
    assert found(within, "quokka") == []


def test_a_failure_is_told_and_the_index_searched_as_it_was(config, notes):
    (notes / "Zebra.md").write_text("# Zebra\n\nbackups\n")
    lock = config.index_dir / "index.lock"
    lock.unlink()
    lock.mkdir()  # what no writer can lock
    changed, [notice] = refresh(config)
    assert changed == 1
    assert notice.startswith("the index could not be brought up to date: ")
    assert found(config, "backups", refresh=True) == ["Backups.md"]


class TestWithEmbeddings:
    @pytest.fixture
    def config(self, config, server) -> RAGConfig:
        return replace(config, ollama=OllamaConfig(url=server.url, retries=0))

    @pytest.fixture
    def notes(self, write_notes, config) -> Path:
        many = {f"{n}.md": f"# Note {n}\n\nText of note {n}.\n" for n in range(40)}
        folder = write_notes("work", many)
        sync(config, SyncRequest([folder], embed=True))
        return folder

    def test_no_model_is_asked_and_the_next_run_makes_the_rest(self, config, notes, server):
        (notes / "Zebra.md").write_text("# Zebra\n")
        asked = len(server.requests())
        [notice] = refresh(config).notices
        assert notice.startswith("indexed 1 changed note, some chunks have no embedding (`rag")
        assert len(server.requests()) == asked
        assert sync(config, SyncRequest()).run.embedding.made == 1
