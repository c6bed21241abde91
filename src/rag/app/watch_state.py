"""The one watcher of a data folder: a lock that it holds as long as it runs, and a file that it
writes and that `rag status` and `rag doctor` read."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from rag.config import RAGConfig
from rag.exceptions import LockedError, StorageError
from rag.support.files import claim_data_folder, lock, replace_durably
from rag.support.json_reports import to_json

_LOCK, _STATE = "watcher.lock", "watcher.json"
_LATE = 1800.0  # seconds after which a heartbeat is missing; none comes while a run goes on


@dataclass(frozen=True)
class WatchRun:
    """A run of the indexer that a watcher began: how many notes it added, changed or took out, and
    why it failed, if it did."""

    ended: str
    elapsed_ms: int
    exit_code: int
    changed: int
    error: str


@dataclass(frozen=True)
class WatcherStatus:
    """The watcher of a data folder.

    :param alive: whether it runs; one that does not has ended without a word.
    :param heartbeat: when it last was seen to go on.
    :param last_event: when something below its folders last changed; `null` when nothing has.
    :param last_run: `null` before the first is over.
    :param polled: the folders that are looked at every few seconds, since nothing is told of them.
    :param missing: the folders of vaults that are not there; their notes are kept.
    """

    process: int
    started: str
    heartbeat: str
    alive: bool = True
    last_event: str | None = None
    last_run: WatchRun | None = None
    polled: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def is_late(self) -> bool:
        """Whether it runs and yet has given no sign of life for minutes."""
        age = datetime.now().astimezone() - datetime.fromisoformat(self.heartbeat)
        return self.alive and age.total_seconds() > _LATE


def read_watcher(config: RAGConfig) -> WatcherStatus | None:
    """Return how the watcher of a data folder is; `None` when none was started, or it was ended."""
    try:
        read = json.loads((config.data_dir / _STATE).read_text("utf-8"))
        run = WatchRun(**read["last_run"]) if read["last_run"] else None
        status = WatcherStatus(**{**read, "last_run": run})
        datetime.fromisoformat(status.heartbeat)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return replace(status, alive=_is_watched(config))


def write_watcher(config: RAGConfig, status: WatcherStatus) -> None:
    """Write down how the watcher is."""
    replace_durably(config.data_dir / _STATE, json.dumps(to_json(status)).encode())


@contextmanager
def be_only_watcher(config: RAGConfig) -> Iterator[None]:
    """Hold the lock of a data folder's watcher, and leave no word of it at the end."""
    claim_data_folder(config.data_dir)
    with (config.data_dir / _LOCK).open("ab") as file:
        try:
            lock(file.fileno(), "the watcher is", 0.2)
        except StorageError:
            what, hint = "the notes are watched already", "`rag status` shows by which process."
            raise LockedError(what, hint=hint) from None
        try:
            yield
        finally:
            (config.data_dir / _STATE).unlink(missing_ok=True)


def _is_watched(config: RAGConfig) -> bool:
    try:
        with (config.data_dir / _LOCK).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    return False
