"""Runs of the indexer: what they keep, what they mend, and what a killed one leaves behind."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.app.requests import SyncRequest
from rag.app.sync import sync
from rag.config import IndexConfig, RAGConfig
from rag.exceptions import IndexingError, LockedError
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST, SHARD, IndexDirectory
from rag.indexing.pipeline import create_indexing_pipeline
from rag.indexing.run import IndexRun
from rag.stores import get_document_store


class Killed(BaseException):
    """Stands for `kill -9`: nothing between here and the end of the process runs."""


@pytest.fixture
def work(write_notes) -> Path:
    return write_notes("work", {"a.md": "alpha", "b.md": "# B\n\nbeta\n\n## More\n\ngamma"})


@pytest.fixture
def clean(points, refresh, tmp_path) -> Callable[..., object]:
    """Return what a first index of some folders holds."""

    def build(config: RAGConfig | None = None, **folders: Path) -> object:
        fresh = replace(config or RAGConfig(), data_dir=tmp_path / "fresh")
        refresh(config=fresh, rebuild=True, **folders)
        return points(fresh)

    return build


def snapshot(config: RAGConfig) -> str | None:
    return IndexDirectory(config.index_dir).current()


def overwrite(file: Path, start: int = 0) -> None:
    raw = bytearray(file.read_bytes())
    raw[start:] = b"\xa5" * (len(raw) - start)
    file.write_bytes(raw)


class TestNothingToDo:
    def test_a_run_without_changes_publishes_nothing(self, work, refresh, config):
        assert refresh(work=work).published
        before = snapshot(config)
        assert not refresh(work=work).published
        assert snapshot(config) == before

    def test_it_does_not_import_haystack(self, work, refresh, config, age):
        age(work)
        refresh(work=work)
        script = (
            "import sys; from pathlib import Path\n"
            "from rag.config import RAGConfig; from rag.indexing.run import IndexRun\n"
            f"with IndexRun(RAGConfig(data_dir=Path({str(config.data_dir)!r}))) as run:\n"
            f"    report = run.index_vault('work', Path({str(work)!r})); run.publish()\n"
            "print(report.unchanged, run.report.published,"
            " *sorted({'haystack', 'qdrant_edge'} & set(sys.modules)))"
        )
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        ran = subprocess.run(
            [sys.executable, "-c", script], env=env, capture_output=True, text=True
        )
        assert ran.stdout == "2 False\n", ran.stderr


def test_an_edit_that_keeps_the_size_of_a_note_is_read(work, refresh, config, titles, age):
    age(work)
    refresh(work=work)
    (work / "b.md").write_text((work / "b.md").read_text().replace("# B", "# C"))
    age(work)
    refresh(work=work)
    assert titles(config) == {"a", "C"}


class TestFoldersThatAreAway:
    def test_an_empty_folder_wipes_nothing(self, work, refresh, config, points):
        refresh(work=work)
        before = points(config)
        for note in work.iterdir():
            note.unlink()
        report = refresh(work=work)
        assert report.vaults["work"].kept == 2
        assert "holds no notes" in report.vaults["work"].problem
        assert report.incomplete
        assert points(config) == before

    def test_one_that_cannot_be_listed_keeps_its_notes(
        self, write_notes, refresh, config, points, monkeypatch
    ):
        vault = write_notes("work", {"a.md": "alpha", "closed/b.md": "beta"})
        refresh(work=vault)
        before, scandir = points(config), os.scandir

        def refusing(path="."):  # root may list what others may not
            if str(path).endswith("/closed"):
                raise PermissionError(13, "Permission denied")
            return scandir(path)

        monkeypatch.setattr(os, "scandir", refusing)
        report = refresh(work=vault).vaults["work"]
        assert report.failed == {"closed": "folder cannot be listed: Permission denied"}
        assert (report.deleted, points(config)) == (0, before)

    @pytest.mark.parametrize("empty", [True, False], ids=["empty", "missing"])
    def test_prune_believes_it(self, work, refresh, config, points, empty):
        refresh(work=work)
        for note in work.iterdir():
            note.unlink()
        if not empty:
            work.rmdir()
        report = refresh(work=work, prune=True)
        assert report.vaults["work"].deleted == 2
        assert points(config) == {}


class TestNotesThatCannotBeRead:
    def test_it_is_named_and_the_others_are_indexed(
        self, work, refresh, unreadable, titles, config
    ):
        unreadable(work / "a.md")
        report = refresh(work=work)
        assert report.vaults["work"].failed == {"a.md": "Permission denied"}
        assert titles(config) == {"B"}

    def test_its_earlier_chunks_are_kept(self, work, refresh, unreadable, points, config):
        refresh(work=work)
        before = points(config)
        (work / "a.md").write_text("something else")
        unreadable(work / "a.md")
        assert refresh(work=work).incomplete
        assert points(config) == before

    def test_it_is_read_when_it_can_be_again(
        self, work, refresh, unreadable, clean, points, config, age, monkeypatch
    ):
        refresh(work=work)
        (work / "a.md").write_text("something else")
        age(work)
        unreadable(work / "a.md")
        refresh(work=work)
        monkeypatch.undo()
        assert not refresh(work=work).incomplete
        assert points(config) == clean(work=work)

    def test_a_note_that_stays_unreadable_changes_nothing(self, work, refresh, unreadable, config):
        unreadable(work / "a.md")
        refresh(work=work)
        before = snapshot(config)
        assert refresh(work=work).vaults["work"].failed
        assert snapshot(config) == before


class TestKilledRuns:
    """A kill is played by an exception that nothing of ours catches, then a fresh run."""

    @pytest.fixture
    def many(self, write_notes) -> Path:
        return write_notes("work", {f"{n:02}.md": f"# N{n}\n\nold\n\n## S\n\nx" for n in range(12)})

    @pytest.fixture
    def kill(self, config, monkeypatch) -> Callable[..., None]:
        """Run the indexer and stop it at its n-th call of a method."""
        import rag.indexing.run as module

        monkeypatch.setattr(module, "_BATCH_CHUNKS", 4)  # several batches of few notes

        def run(folder: Path, where: str, call: int, vault: str = "work") -> None:
            with get_document_store(config) as store:
                pipeline = create_indexing_pipeline(store)
                owner = pipeline.get_component("writer") if where == "run" else store
                real, calls = getattr(owner, where), 0

                def die(*args, **kwargs):
                    nonlocal calls
                    calls += 1
                    if calls == call:
                        raise Killed
                    return real(*args, **kwargs)

                monkeypatch.setattr(owner, where, die)
                with pytest.raises(Killed), IndexRun(config, store.directory, pipeline) as index:
                    index.index_vault(vault, folder)
                    index.publish()

        return run

    @pytest.mark.sampled
    @pytest.mark.parametrize(
        ("where", "call"),
        [("run", 2), ("delete_documents", 1), ("delete_documents", 3), ("publish", 1)],
    )
    def test_a_later_run_is_completed_and_readers_see_the_old_index_till_then(
        self, many, kill, refresh, points, clean, config, where, call
    ):
        refresh(work=many)
        before = points(config)
        for n in range(0, 12, 2):  # other text, and a section less
            (many / f"{n:02}.md").write_text(f"# N{n}\n\nnew and longer")
        (many / "01.md").unlink()
        kill(many, where, call)
        assert points(config) == before
        assert refresh(work=many).notices == []
        assert points(config) == clean(work=many)

    def test_notes_that_changed_between_the_two_runs_are_right(
        self, many, kill, refresh, points, clean, config
    ):
        kill(many, "run", 2)
        (many / "00.md").write_text("other")
        (many / "05.md").unlink()
        (many / "11.md").rename(many / "99.md")
        refresh(work=many)
        assert points(config) == clean(work=many)


class TestRebuilds:
    """What does not fit is rebuilt from the notes, says so, and loses no vault."""

    @pytest.fixture
    def home(self, write_notes) -> Path:
        return write_notes("home", {"h.md": "home"})

    @pytest.fixture
    def both(self, work, home, refresh) -> dict[str, Path]:
        folders = {"work": work, "home": home}
        refresh(**folders)
        return folders

    def test_another_chunk_size_rebuilds_and_says_so(self, both, refresh, config, points, clean):
        other = replace(config, index=IndexConfig(chunk_size=5, chunk_overlap=0))
        report = refresh(config=other, **both)
        assert len(report.notices) == 1
        assert "settings" in report.notices[0]
        assert points(config) == clean(config=other, **both)

    @pytest.mark.parametrize("damage", ["all of it", "from the middle", "its tables"])
    def test_a_corrupted_manifest_rebuilds_and_says_so(self, both, refresh, config, points, damage):
        before = points(config)
        [file] = config.index_dir.glob(f"gen-*/{MANIFEST}")
        if damage == "its tables":
            with sqlite3.connect(file) as db:
                db.execute("DROP TABLE meta")
            db.close()
        else:
            overwrite(file, 0 if damage == "all of it" else 4096)
        report = refresh(**both)
        assert ["damaged" in notice for notice in report.notices] == [True]
        assert points(config) == before

    def test_what_the_engine_fails_at_while_it_writes_rebuilds_and_says_so(
        self, both, config, points, clean, monkeypatch
    ):
        monkeypatch.setattr(IndexDirectory, "damage", lambda self: [])
        for file in config.index_dir.glob(f"gen-*/{SHARD}/segments/*/payload_index/config.json"):
            file.write_text("no JSON")
        (both["work"] / "new.md").write_text("new")
        report = sync(config, SyncRequest(folders=[*both.values()], embed=False)).run
        assert ["rebuilt" in notice for notice in report.notices] == [True]
        assert points(config) == clean(**both)

    @pytest.mark.parametrize("changed", ["work", "home", ""])
    def test_a_shard_that_lost_points_rebuilds_and_says_so(
        self, both, refresh, config, points, clean, changed
    ):
        with get_document_store(config) as store:
            store.begin_writing()
            store.delete_documents([next(iter(points(config)))])
            store.publish()  # and the manifest does not know
        [file] = config.index_dir.glob(f"gen-*/{MANIFEST}")
        with Manifest.open_work(file) as manifest:
            manifest.set(points="5")
        if changed:
            (both[changed] / "new.md").write_text("new")
        report = refresh(**both)
        assert ["rebuilt" in notice for notice in report.notices] == [True]
        assert points(config) == clean(**both)

    def test_a_rebuild_of_one_vault_keeps_the_others(self, both, refresh, config, points, clean):
        other = replace(config, index=IndexConfig(chunk_size=5, chunk_overlap=0))
        refresh(config=other, home=both["home"])
        assert points(config) == clean(config=other, **both)

    def test_an_index_that_would_lose_an_unmounted_vault_is_not_published(
        self, both, refresh, config, points
    ):
        before = points(config)
        both["work"].rename(both["work"].with_name("away"))
        other = replace(config, index=IndexConfig(chunk_size=5, chunk_overlap=0))
        with pytest.raises(IndexingError, match="'work' cannot be read"):
            refresh(config=other, **both)
        assert points(config) == before


class TestTheLock:
    def test_a_second_writer_is_refused(self, config):
        with IndexRun(config), pytest.raises(LockedError, match=str(os.getpid())), IndexRun(config):
            pass


def test_removing_a_vault_takes_its_notes_alone(work, write_notes, refresh, config, titles):
    refresh(work=work, home=write_notes("home", {"h.md": "home"}))
    with IndexRun(config) as run:
        assert run.remove_vault("work") == 2
        run.publish()
    assert titles(config) == {"h"}


_NAMES = st.sampled_from(["a.md", "b.md", "sub/c.md", "メモ.md"])
_TEXTS = st.sampled_from(
    [
        "",
        "plain words",
        "# T\n\none\n\n## S\n\ntwo",
        "# T\n\none\n\n## S\n\nthree\n\n## S\n\nfour",
        "---\ntags: [x]\naliases: [Y]\n---\n# T\n\none",
        "日本語の文。もう一つの文。",
    ]
)
_EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), _NAMES, _TEXTS),
        st.tuples(st.just("delete"), _NAMES, st.just("")),
        st.tuples(st.just("rename"), _NAMES, _NAMES),
        st.tuples(st.just("index"), st.just(""), st.just("")),
    ),
    min_size=4,
    max_size=12,
)


@settings(max_examples=examples(10))
@given(edits=_EDITS, young=st.booleans())
def test_any_history_of_edits_ends_as_a_fresh_index_of_the_same_folder(
    edits, young, points, refresh, age, tmp_path_factory
):
    with TemporaryDirectory(dir=tmp_path_factory.getbasetemp()) as base:
        folder = Path(base) / "notes"
        folder.mkdir()
        (folder / "always.md").write_text("an empty folder would be taken for an unmounted one")
        grown = RAGConfig(data_dir=Path(base) / "grown")
        for edit, name, value in [*edits, ("index", "", "")]:
            file = folder / name
            if edit == "write":
                file.parent.mkdir(exist_ok=True)
                file.write_text(value, "utf-8")
            elif edit == "delete":
                file.unlink(missing_ok=True)
            elif edit == "rename" and file.exists():
                (folder / value).parent.mkdir(exist_ok=True)
                file.rename(folder / value)
            else:
                if not young:
                    age(folder)
                refresh(config=grown, v=folder)
        fresh = RAGConfig(data_dir=Path(base) / "fresh")
        refresh(config=fresh, v=folder)
        assert points(grown) == points(fresh)


def test_an_index_that_lost_chunks_is_not_published(work, config, refresh, points):
    with pytest.raises(IndexingError, match=r"held 0 of 3 chunks"), IndexRun(config) as index_run:
        index_run.index_vault("work", work)
        chunks = [key.id for note in index_run.manifest.notes() for key in note.chunks]
        index_run.store.delete_documents(chunks)
        index_run.publish()
    assert snapshot(config) is None
    refresh(work=work)
    assert len(points(config)) == 3
