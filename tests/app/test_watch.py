"""Watching notes: when the index is brought up to date, and what becomes of trouble on the way."""

import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import pytest

from index_fixtures import NOTES
from rag.app.requests import SyncRequest
from rag.app.status import read_status
from rag.app.sync import sync
from rag.app.vaults import add_vault
from rag.app.watch import IndexProcess, Outcome, Watcher
from rag.app.watch_state import be_only_watcher, read_watcher
from rag.config import RAGConfig
from rag.exceptions import LockedError, RAGError, StorageError, UsageError
from rag.indexing.reports import EmbeddingReport, RunReport, VaultReport
from rag.support.json_reports import to_json
from rag.vault import file_events
from rag.vault.file_events import FileEvents, WatchLimitError, is_remote

NOTHING = Outcome()
BUSY = Outcome(cpu=0.1, error=LockedError("another process is writing the index"))
SLOW = pytest.mark.slow
Told = list[str] | Exception | Callable[[], object]


class Scene:
    """A clock, the events that are told at its times, and an indexer, by which a watcher is tried.

    :param outcomes: of the first runs; all others find nothing new. Without any the runs are real.
    :param seconds: that a run takes.
    """

    def __init__(self, config: RAGConfig, *outcomes: Outcome, seconds: float = 0.0) -> None:
        self.config, self.outcomes, self.seconds = config, [*outcomes], seconds
        self.is_real = not outcomes
        self.now, self.asleep = 0.0, 0.0
        self.runs: list[float] = []
        self.lines: list[str] = []
        self.warnings: list[str] = []
        self.listened: list[tuple[set[Path], bool]] = []
        self.polled: list[Path] = []
        self.until, self.is_woken = 0.0, False
        self.embeddings = [NOTHING]  # what comes of making them, the last one again and again
        self.embedded: list[float] = []
        self.watcher = Watcher(
            config,
            self.lines.append,
            self.warnings.append,
            runner=self,
            embedder=self,
            listen=self.listen,
            clock=self,
        )
        self.listened.clear()

    def watch(
        self, until: float, events: dict[float, Told] | None = None, waits: bool = False
    ) -> list[float]:
        """Watch until a time, and return when the index was brought up to date."""
        self.events, self.until = sorted((events or {}).items()), until
        (self.watcher.run_when_free if waits else self.watcher.run)()
        return [round(at, 3) for at in self.runs]

    def listen(self, folders: Any, apart: Path, polled: bool = False) -> Self:
        self.listened.append(({*folders}, polled))
        self.polled = [*folders] if polled else []
        return self

    def wait(self, seconds: float) -> list[str]:
        if self.is_woken:
            self.is_woken = False
        elif self.events and self.events[0][0] <= self.now + seconds:
            at, told = self.events.pop(0)
            self.now = max(self.now, at)
            if isinstance(told, Exception):
                raise told
            if isinstance(told, list):
                return told
            told()
        else:
            self.now += seconds
        if self.now >= self.until:
            self.watcher.stop()
        return []

    def run(self) -> Outcome:
        self.runs.append(self.now)
        self.now += self.seconds
        if not self.is_real:
            return self.outcomes.pop(0) if self.outcomes else NOTHING
        try:
            return Outcome(sync(self.config, SyncRequest(embed=False)).run)
        except RAGError as error:
            return Outcome(error=error)

    def begin(self, on_end: Callable[[Outcome], object]) -> None:
        self.embedded.append(self.now)
        on_end(self.embeddings.pop(0) if len(self.embeddings) > 1 else self.embeddings[0])

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return 1.8e9 + self.now + self.asleep

    def wake(self) -> None:
        self.is_woken = True

    def prepare(self) -> None:
        pass

    stop = close = join = prepare


def changed(cpu: float = 0.0) -> Outcome:
    """One changed note."""
    return Outcome(RunReport({"work": VaultReport("work", changed=1)}), cpu)


def embedded(made: int, left: int) -> Outcome:
    """So many chunks that were embedded, and so many that are left."""
    return Outcome(RunReport(embedding=EmbeddingReport(made, left=left)), 9.0)


@pytest.fixture
def notes(write_notes, config) -> Path:
    """A vault of three notes, not yet indexed."""
    folder = write_notes("work", NOTES)
    add_vault(config, folder)
    return folder


@pytest.fixture
def indexed(config, notes) -> Path:
    """The same, indexed."""
    sync(config, SyncRequest([notes]))
    return notes


class TestWhenARunBegins:
    def test_at_the_start_and_every_quarter_of_an_hour(self, config, notes):
        assert Scene(config, NOTHING).watch(2000) == [0, 900, 1800]

    def test_when_nothing_was_told_for_a_second_and_a_half(self, config, notes):
        events: dict[float, Told] = {100: ["a.md"], 101: ["a.md"], 102.2: ["b.md"]}
        assert Scene(config, NOTHING).watch(200, events) == [0, 103.7]

    def test_fifteen_seconds_late_at_most_however_much_is_written(self, config, notes):
        events: dict[float, Told] = {100 + n: ["log.md"] for n in range(40)}
        assert Scene(config, NOTHING).watch(150, events) == [0, 115, 131, 140.5]

    def test_each_note_of_one_who_saves_every_five_seconds_is_found_soon(self, config, notes):
        saves = [20.0 + 5 * n for n in range(60)]
        scene = Scene(config, *[changed(cpu=1.6)] * 99, seconds=0.8)
        runs = scene.watch(400, {at: ["a.md"] for at in saves})
        assert runs == [0, *(at + 1.5 for at in saves)]

    @pytest.mark.parametrize(("outcome", "gap"), [(changed(), 19), (NOTHING, 80)])
    def test_over_a_longer_time_they_take_a_twentieth_of_a_core(self, config, notes, outcome, gap):
        events: dict[float, Told] = {3.0 * n: ["log.md"] for n in range(1, 400)}
        starts = Scene(config, *[replace(outcome, cpu=4.0)] * 399, seconds=4.0).watch(1200, events)
        early, late = (
            [after - before for before, after in pairwise(starts) if (before < 100) is is_early]
            for is_early in (True, False)
        )
        assert max(early) < 10
        assert max(late) == gap, "what was saved waits for fifteen seconds at most"

    def test_after_the_machine_slept(self, config, notes):
        scene = Scene(config, NOTHING)
        assert scene.watch(200, {100: lambda: setattr(scene, "asleep", 3600)}) == [0, 100]

    def test_for_embeddings_after_each_for_words_and_at_once_while_chunks_are_left(
        self, config, notes
    ):
        scene = Scene(config, changed())
        scene.embeddings = [embedded(50, left=100), embedded(50, left=50), embedded(50, 0)]
        scene.watch(200, {100: ["a.md"]})
        assert scene.embedded == [0, 0, 0, 101.5]

    def test_for_embeddings_not_at_once_when_nothing_could_be_embedded(self, config, notes):
        scene = Scene(config, changed())
        scene.embeddings = [embedded(0, left=100)]
        scene.watch(100)
        assert scene.embedded == [0]

    def test_for_words_while_embeddings_are_made(self, config, notes):
        scene, endings = Scene(config, changed()), list[Callable[[Outcome], object]]()
        scene.begin = endings.append  # type: ignore[method-assign]
        scene.outcomes += [changed(), BUSY, changed()]
        assert scene.watch(200, {100: ["a.md"], 110: ["b.md"]}) == [0, 101.5, 111.5, 112]
        assert len(endings) == 1, "those that were saved meanwhile are left to the one that runs"

    def test_again_when_another_process_writes_the_index(self, config, notes):
        scene = Scene(config, NOTHING, BUSY, BUSY)
        assert scene.watch(200, {100: ["a.md"]}) == [0, 101.5, 106.5, 111.5]
        assert scene.warnings == []

    def test_again_in_a_minute_after_a_failure_which_is_told_once(self, config, notes):
        scene = Scene(config, *[Outcome(error=RAGError("the disk is full"))] * 3)
        assert scene.watch(200) == [0, 60, 120, 180]
        assert scene.warnings == ["the disk is full"]


def broken_once(monkeypatch: pytest.MonkeyPatch, error: Exception) -> Callable[[], None]:
    """Return what makes the next look for vaults fail."""

    def fail(*_: object) -> None:
        monkeypatch.undo()
        raise error

    return lambda: monkeypatch.setattr("rag.app.watch.known_vaults", fail)


class TestTrouble:
    def test_whoever_tells_of_changes_breaks_down_and_is_begun_anew(self, config, notes):
        scene = Scene(config, NOTHING)
        assert scene.watch(300, {100: OSError("lost")}) == [0, 100, 105]
        assert scene.warnings == ["lost"]
        assert [folders for folders, _ in scene.listened] == [{notes}, set(), {notes}]

    def test_after_very_many_events_it_listens_also_where_none_told_of_a_folder(
        self, config, notes
    ):
        scene = Scene(config, NOTHING)
        many = [f"{n}.md" for n in range(3000)]
        assert scene.watch(300, {100: many, 100.5: many, 200: ["a.md"]}) == [0, 102, 201.5]
        assert scene.listened == [({notes}, False)] * 2

    def test_a_folder_of_vaults_that_cannot_be_read_for_a_while_ends_no_watcher(
        self, config, notes, monkeypatch
    ):
        scene = Scene(config, NOTHING)
        stale = OSError(116, "Stale file handle")
        events = {100: broken_once(monkeypatch, stale), 200: ["a.md"]}
        assert scene.watch(300, events) == [0, 100, 105, 201.5]
        assert scene.warnings == ["[Errno 116] Stale file handle"]

    def test_what_ends_a_watcher_beside_a_server_ends_it_for_a_moment(
        self, config, notes, monkeypatch
    ):
        scene = Scene(config, NOTHING)
        damaged = StorageError("the list of vaults is damaged")
        events = {100: broken_once(monkeypatch, damaged), 150: ["a.md"]}
        assert scene.watch(200, events, waits=True) == [0, 105, 151.5]
        assert scene.warnings == [
            "not watching yet: the list of vaults is damaged",
            "the notes are watched from now on",
        ]
        assert scene.listened == [({notes}, False), (set(), False), ({notes}, False)]

    def test_over_the_limit_of_the_system_files_are_looked_at_instead(self, config, notes):
        scene = Scene(config, NOTHING)
        status = []
        limit = WatchLimitError("`sudo sysctl fs.inotify.max_user_watches=524288` raises it")
        scene.watch(
            300, {0: limit, 100: lambda: status.append(read_watcher(config)), 120: ["a.md"]}
        )
        assert [polled for _, polled in scene.listened] == [False, True]
        assert "sudo sysctl fs.inotify.max_user_watches=" in scene.warnings[0]
        assert status[0].polled == [str(notes)]
        assert 121.5 in scene.runs

    def test_a_folder_that_is_gone_is_told_of_once_waited_for_and_its_notes_are_kept(
        self, config, indexed, write_notes, titles
    ):
        other = write_notes("home", {"Garden.md": "# Garden\n"})
        sync(config, SyncRequest([other]))
        before, away = titles(config), indexed.with_name("away")
        scene = Scene(config)
        kept: list[set[str]] = []
        status = []

        def leave() -> None:
            indexed.rename(away)

        def look() -> None:
            kept.append(titles(config))
            status.append(read_watcher(config))

        def come_back() -> None:
            (away / "New.md").write_text("# New\n")
            away.rename(indexed)

        def write() -> None:
            (other / "Shed.md").write_text("# Shed\n")

        events: dict[float, Told] = {
            100: leave, 110: write, 111: ["Shed.md"], 150: look, 200: come_back,
        }  # fmt: skip
        scene.watch(300, events)
        assert kept == [before | {"Shed"}]
        assert status[0].missing == [str(indexed)]
        assert titles(config) == before | {"Shed", "New"}
        assert len(scene.warnings) == 2
        assert f"cannot list the vault folder {indexed}" in scene.warnings[0]
        assert scene.warnings[1] == f"{indexed} is there again"
        assert [folders for folders, _ in scene.listened] == [
            {indexed, other},
            {other},
            {indexed, other},
        ]

    def test_a_vault_that_comes_meanwhile_is_watched(self, config, notes, write_notes):
        other = write_notes("home", {"Garden.md": "# Garden\n"})
        scene = Scene(config)
        assert scene.watch(60, {30: lambda: sync(config, SyncRequest([other]))}) == [0, 30]
        assert scene.listened[-1][0] == {notes, other}

    def test_one_that_is_registered_is_indexed_soon_however_much_a_run_took(
        self, config, notes, write_notes
    ):
        other = write_notes("home", {"Garden.md": "# Garden\n"})
        scene = Scene(config, changed(), changed(cpu=8.0))
        events: dict[float, Told] = {20: ["a.md"], 22: lambda: add_vault(config, other)}
        assert scene.watch(60, events) == [0, 21.5, 25]
        assert scene.listened[-1][0] == {notes, other}

    def test_a_new_folder_of_vaults_dir_is_told_of(self, config, write_notes):
        first = write_notes("work", NOTES)
        config = replace(config, vaults_dir=first.parent)
        scene = Scene(config)
        scene.watch(10)
        assert first.parent in scene.listened[0][0]

    def test_without_a_vault_there_is_nothing_to_watch(self, config):
        with pytest.raises(UsageError, match="nothing to watch"):
            Scene(config).watch(10)


class TestOneWatcher:
    def test_a_second_one_is_refused(self, config, notes):
        with be_only_watcher(config), pytest.raises(LockedError, match="watched already"):
            Scene(config).watch(10)

    def test_one_that_waits_takes_over_when_the_other_ends_and_status_says_so(
        self, config, indexed
    ):
        scene, other = Scene(config, NOTHING), ExitStack()
        status = []
        other.enter_context(be_only_watcher(config))
        events: dict[float, Told] = {
            100: other.close, 200: lambda: status.append(read_status(config).watcher),
        }  # fmt: skip
        assert scene.watch(300, events, waits=True) == [100]
        told, over = scene.warnings
        assert "watched already" in told
        assert over == "the notes are watched from now on"
        assert status[0].started[14:19] == "01:40"

    def test_one_that_waits_begins_when_there_is_a_vault(self, config, write_notes):
        folder, scene = write_notes("work", NOTES), Scene(config, NOTHING)
        events: dict[float, Told] = {100: lambda: add_vault(config, folder)}
        assert scene.watch(300, events, waits=True) == [100]
        assert "there is nothing to watch" in scene.warnings[0]

    def test_status_shows_the_last_event_and_run_while_it_runs(self, config, indexed):
        scene = Scene(config, NOTHING, changed())
        status = []
        scene.watch(300, {100: ["a.md"], 110: lambda: status.append(read_status(config).watcher)})
        [watcher] = status
        assert watcher.alive and watcher.process == os.getpid()
        assert (watcher.last_event[17:19], watcher.last_run.ended[17:19]) == ("40", "41")
        assert watcher.last_run.changed == 1
        assert "watcher" not in to_json(read_status(config)), "it ended as it was told"

    def test_the_heartbeat_goes_on_without_events(self, config, notes):
        scene = Scene(config, NOTHING)
        beats = []
        scene.watch(300, {250: lambda: beats.append(read_watcher(config).heartbeat)})
        assert beats[0][14:19] == "04:00"  # it began at the hour

    def test_one_that_was_killed_is_not_called_alive(self, config, notes):
        scene, left = Scene(config, NOTHING), []
        file = config.data_dir / "watcher.json"
        scene.watch(60, {30: lambda: left.append(file.read_text())})
        file.write_text(left[0])
        assert read_watcher(config).alive is False

    def test_a_damaged_file_is_as_none(self, config, notes):
        (config.data_dir / "watcher.json").write_text('{"process": ')
        assert read_watcher(config) is None


@contextmanager
def listening(*folders: Path, **how: Any) -> Iterator[Callable[[str], set[str]]]:
    """Listen at folders; yield what waits until a file is told of, and returns all that was."""
    events = FileEvents(folders, **{"apart": folders[0] / "data", **how})

    def until(name: str) -> set[str]:
        told: set[str] = set()
        while not any(path.endswith(name) for path in told):
            paths = events.wait(30)
            assert paths, f"nothing was told of {name}, but of {told}"
            told |= {*paths}
        return {str(Path(path).relative_to(folders[0])) for path in told}

    try:
        yield until
    finally:
        events.close()


def save_as_vim(note: Path) -> None:
    (note.parent / "4913").touch()
    (note.parent / "4913").unlink()
    note.rename(f"{note}~")
    note.write_text("# Backups\n\nNew.\n")
    Path(f"{note}~").unlink()


def replace_whole(note: Path) -> None:
    (note.parent / ".Backups.tmp").write_text("# Backups\n\nNew.\n")
    (note.parent / ".Backups.tmp").replace(note)


class TestWhatTheSystemTells:
    @pytest.mark.parametrize("is_polled", [False, True], ids=["told", "polled"])
    def test_a_note_that_is_written(self, tmp_path, is_polled):
        (tmp_path / "Old.md").write_text("old")
        with listening(tmp_path, polled=is_polled) as until:
            (tmp_path / "新しい.md").write_text("new")
            assert "新しい.md" in until("新しい.md")

    @pytest.mark.parametrize("save", [save_as_vim, replace_whole])
    def test_a_note_that_an_editor_saves(self, tmp_path, save):
        note = tmp_path / "Backups.md"
        note.write_text("# Backups\n")
        with listening(tmp_path) as until:
            save(note)
            assert ".Backups.tmp" not in until("Backups.md")

    def test_a_folder_that_is_renamed(self, tmp_path):
        (tmp_path / "old" / "deep").mkdir(parents=True)
        (tmp_path / "old" / "deep" / "a.md").write_text("a")
        with listening(tmp_path) as until:
            (tmp_path / "old").rename(tmp_path / "new")
            assert {"old", "new"} & until("new")

    def test_a_tree_that_is_moved_in_and_what_is_written_there_then(self, tmp_path):
        vault, tree = tmp_path / "vault", tmp_path / "tree"
        (tree / "deep").mkdir(parents=True)
        (tree / "deep" / "a.md").write_text("a")
        vault.mkdir()
        with listening(vault) as until:
            tree.rename(vault / "tree")
            assert "tree" in until("tree")
            (vault / "tree" / "deep" / "a.md").write_text("b")
            assert "tree/deep/a.md" in until("a.md")

    def test_a_root_that_is_removed(self, tmp_path):
        vault = tmp_path / "vault"
        vault.mkdir()
        (vault / "a.md").write_text("a")
        with listening(vault) as until:
            shutil.rmtree(vault)
            assert "a.md" in until("a.md")

    def test_a_name_that_is_not_utf_8_is_told_in_words_and_ends_it(self, tmp_path):
        with (
            listening(tmp_path) as until,
            pytest.raises(WatchLimitError, match="a name that is not UTF-8"),
        ):
            (tmp_path / os.fsdecode(b"\xfe.md")).write_text("a")
            until("never")

    def test_nothing_of_hidden_files_save_those_that_say_which_notes_there_are(self, tmp_path):
        (tmp_path / ".obsidian").mkdir()
        (tmp_path / "data").mkdir()
        with listening(tmp_path) as until:
            (tmp_path / ".obsidian" / "workspace.json").write_text("{}")
            (tmp_path / "data" / "index").write_text("our own")
            (tmp_path / ".a.md.swp").write_text("vim")
            (tmp_path / ".obsidian" / "app.json").write_text("{}")
            (tmp_path / ".ragignore").write_text("drafts")
            told = until(".ragignore")
        assert told == {".obsidian/app.json", ".ragignore"}

    def test_of_more_folders_than_the_system_watches_nothing_and_why(self, tmp_path):
        for n in range(20):
            (tmp_path / f"folder {n}").mkdir()
        program = (
            "import sys; from pathlib import Path; from rag.vault.file_events import FileEvents\n"
            "try: FileEvents([Path(sys.argv[1])], Path('/none')).wait(9)\n"
            "except OSError as error: print(type(error).__name__, error)\n"
        )
        limit = 'echo 5 > /proc/sys/user/max_inotify_watches && exec "$@"'
        words = ["unshare", "-Ur", "sh", "-c", limit, "sh", sys.executable, "-c", program]
        try:
            ran = subprocess.run([*words, str(tmp_path)], capture_output=True, text=True)
        except FileNotFoundError:
            pytest.skip("no `unshare` here")
        if ran.returncode:
            pytest.skip(f"no namespace of its own: {ran.stderr.strip()[:100]}")
        assert ran.stdout.startswith("WatchLimitError")
        assert "`sudo sysctl fs.inotify.max_user_watches=" in ran.stdout

    @pytest.mark.parametrize(
        ("folder", "expected"),
        [
            ("/home/me/notes", False),
            ("/net/my notes/work", True),
            ("/net/my notes", True),
            ("/net", False),
            ("/mnt/share/notes", True),
            ("/mnt/share/local/notes", False),
            ("/mnt/ssh", True),
            ("/mnt/crypt", False),
        ],
    )
    def test_drives_of_a_network_are_known_by_their_kind(
        self, tmp_path, monkeypatch, folder, expected
    ):
        kinds = {
            "/": "ext4", "/net/my\\040notes": "nfs4", "/mnt/share": "cifs",
            "/mnt/share/local": "btrfs", "/mnt/ssh": "fuse.sshfs", "/mnt/crypt": "fuse.gocryptfs",
        }  # fmt: skip
        mounts = tmp_path / "mounts"
        lines = (f"x {at} {kind} rw 0 0\n" for at, kind in kinds.items())
        mounts.write_text("".join(lines))
        monkeypatch.setattr(file_events, "_MOUNTS", mounts)
        assert is_remote(Path(folder)) is expected


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    assert select.select([process.stdout], [], [], 120)[0], "nothing was printed"
    return process.stdout.readline()


@pytest.fixture
def start(config) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a command that goes on: `start("watch")`."""
    environment = {
        **os.environ,
        "RAG_DATA_DIR": str(config.data_dir),
        "RAG_EMBEDDING__PROVIDER": "ollama",
        "RAG_OLLAMA__ENABLED": "false",
    }
    started = []

    def begin(*words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "rag", *words]
        started.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
        )
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def test_a_run_that_fails_or_is_ended_is_told_in_a_sentence(tmp_path):
    process = IndexProcess(tmp_path / "none.toml")
    assert "no configuration file" in process.run().why
    process.prepare()
    assert process._process
    process._process.process.kill()
    assert process.run().why == "`rag index` did not finish: signal 9 ended it"


@pytest.mark.parametrize("end", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=SLOW)])
def test_rag_watch_finds_what_is_saved_and_ends_when_it_is_told(
    indexed, config, titles, start, end
):
    (indexed / "Before.md").write_text("# Before\n")
    process = start("watch")
    assert "1 note indexed" in read_line(process)
    if end == signal.SIGINT:
        (indexed / "Zebra.md").write_text("# Zebra\n")
        assert "1 note indexed" in read_line(process)
        assert {"Before", "Zebra"} <= titles(config)
    assert read_watcher(config).process == process.pid
    process.send_signal(end)
    assert process.wait(60) == 0
    assert not (config.data_dir / "watcher.json").exists()


@pytest.mark.parametrize("options", [(), pytest.param(("--no-watch",), marks=SLOW)])
def test_the_http_server_watches_unless_told_otherwise(indexed, config, titles, start, options):
    (indexed / "Before.md").write_text("# Before\n")
    with listening(config.data_dir, apart=config.data_dir / "index") as until:
        process = start("serve", "--http", "--port", "0", *options)
        assert read_line(process).startswith("serving http://127.0.0.1:")
        while not options and not ((watcher := read_watcher(config)) and watcher.last_run):
            until("watcher.json")
    assert ("Before" in titles(config)) is not bool(options)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    assert (config.data_dir / "watcher.lock").exists() is not bool(options)
    assert read_watcher(config) is None
