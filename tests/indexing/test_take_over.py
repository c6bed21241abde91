"""Another machine takes over: after a run that ended, one that did not, and one that goes on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from index_fixtures import offline
from machines import Machine, change_head
from qdrant_server import QdrantServer
from rag.app.requests import SyncRequest
from rag.app.sync import sync
from rag.app.vaults import add_vault
from rag.config import RAGConfig, StoreConfig
from rag.exceptions import IndexingError, LockedError, UsageError
from rag.indexing.reports import RunReport
from rag.indexing.run import IndexRun
from rag.indexing.server import take_over
from rag.stores import open_directory

WRITE = "PUT /collections/obsidian_knowledge/points"
NOTES = {f"note {n}.md": f"# Note {n}\n\nText of the note number {n}.\n" for n in range(12)}


@pytest.fixture
def server(own_qdrant) -> QdrantServer:
    return own_qdrant


@pytest.fixture
def make(server, tmp_path) -> Callable[..., RAGConfig]:
    """Return the settings of a machine: `make("desk")`."""

    def made(name: str, **store: Any) -> RAGConfig:
        own = StoreConfig(**{"url": server.url, "timeout": 5, "hnsw_m": 0, **store})
        return offline(tmp_path / name, store=own)

    return made


@pytest.fixture
def desk(make) -> RAGConfig:
    return make("desk")


@pytest.fixture
def laptop(make) -> RAGConfig:
    return make("laptop")


@pytest.fixture
def folder(write_notes, age) -> Path:
    """Twelve notes, which both machines have."""
    folder = write_notes("work", NOTES)
    age(folder)
    return folder


def index(config: RAGConfig, *folders: Path, **how: Any) -> RunReport:
    """Do as `rag index` does."""
    return sync(config, SyncRequest(folders, **how)).run


def break_off(config: RAGConfig, folder: Path) -> None:
    """Begin to index, and be killed when the points are written and nothing is published."""
    run = IndexRun(config, open_directory(config))
    run.__enter__()
    run.index_vault("work", folder)
    run.__exit__(None, None, None)


def edit(folder: Path, age: Any) -> None:
    """Change every note."""
    for file in folder.glob("*.md"):
        file.write_text(file.read_text("utf-8").replace("Text", "New text"), "utf-8")
    age(folder)


def writes(server: QdrantServer) -> int:
    return server.paths().count(WRITE)


# -- after a run that ended ------------------------------------------------------------


def test_only_what_changed_is_written_by_the_successor(desk, laptop, folder, points, age):
    index(desk, folder)
    (folder / "note 3.md").write_text("# Another\n\nThis one is new.\n", "utf-8")
    report = index(laptop, folder, take_over=True)
    assert (report.vaults["work"].changed, report.chunks) == (1, 12)
    assert points(desk) == points(laptop)


# -- after a run that did not end ------------------------------------------------------


def test_after_a_run_that_was_killed_every_chunk_is_written_again(
    desk, laptop, make, folder, server, points, age
):
    index(desk, folder)
    old = {file: file.read_bytes() for file in folder.glob("*.md")}
    edit(folder, age)
    break_off(desk, folder)
    for file, content in old.items():  # the laptop's notes are those of the catalog
        file.write_bytes(content)
    age(folder)
    before = writes(server)
    assert index(laptop, folder, take_over=True).published
    assert writes(server) > before
    fresh = make("fresh", collection="fresh")
    index(fresh, folder)
    assert points(laptop) == points(fresh)


def test_after_a_first_run_that_was_killed_the_index_is_made_anew(
    desk, laptop, make, folder, points, age
):
    break_off(desk, folder)
    (folder / "note 3.md").unlink()
    assert index(laptop, folder, take_over=True).published
    fresh = make("fresh", collection="fresh")
    index(fresh, folder)
    assert points(laptop) == points(fresh)


def test_a_folder_that_is_not_here_keeps_the_index_as_it_is(desk, laptop, folder, tmp_path, age):
    index(desk, folder)
    edit(folder, age)
    break_off(desk, folder)
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(IndexingError, match="vault 'work' cannot be read as before"):
        index(laptop, take_over=True)
    assert Machine(laptop).head().unfinished


def test_another_machine_registers_no_vault(desk, laptop, folder, write_notes):
    index(desk, folder)
    with pytest.raises(UsageError, match="writes this index"):
        add_vault(laptop, write_notes("more", {"a.md": "a"}))
    assert not (laptop.data_dir / "vaults.json").exists()


# -- while a run goes on ---------------------------------------------------------------


def test_a_machine_that_takes_over_while_another_does_is_refused(desk, laptop, folder, monkeypatch):
    index(desk, folder)

    def overtaken() -> str:
        change_head(desk, machine="third", name="third")
        return ""

    monkeypatch.setattr("socket.gethostname", overtaken)  # asked between
    with pytest.raises(LockedError, match="third has taken over"):
        take_over(laptop, open_directory(laptop))


def test_the_run_that_was_taken_over_stops(desk, laptop, folder, age, points):
    index(desk, folder)
    edit(folder, age)
    with IndexRun(desk, open_directory(desk)) as run:
        run.prepare()
        index(laptop, folder, take_over=True)
        before = points(laptop)
        with pytest.raises(LockedError, match="has taken over"):
            run.index_vault("work", folder)
    assert points(laptop) == before
