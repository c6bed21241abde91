"""Facts that are kept on disk, one line of JSON each."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from rag.exceptions import StorageError
from rag.query.models import now
from rag.support.durable_files import replace_durably, sync_folder
from rag.support.file_locks import append, lock
from rag.support.owned_folders import claim_data_folder

_FLAGS, _MODE = os.O_RDWR | os.O_CREAT, 0o600


class MemoryEntry(BaseModel):
    """A fact that is remembered."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    content: str
    tags: list[str] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)
    created_at: AwareDatetime = Field(default_factory=now)


@runtime_checkable
class FactStore(Protocol):
    """Keeps facts."""

    def add(self, entry: MemoryEntry) -> None:
        """Keep a fact."""
        ...

    def list_all(self) -> list[MemoryEntry]:
        """Return all facts, oldest first."""
        ...

    def delete(self, entry_id: str) -> bool:
        """Forget a fact, and tell whether it was known."""
        ...


class RememberedFacts:
    """Facts in memory, for as long as the process lives."""

    def __init__(self) -> None:
        self._entries: dict[str, MemoryEntry] = {}

    def add(self, entry: MemoryEntry) -> None:
        """Keep a fact."""
        self._entries[entry.id] = entry

    def list_all(self) -> list[MemoryEntry]:
        """Return all facts, oldest first."""
        return list(self._entries.values())

    def delete(self, entry_id: str) -> bool:
        """Forget a fact, and tell whether it was known."""
        return self._entries.pop(entry_id, None) is not None


class FactFile:
    """Facts in a file that only its owner can read; read each time: others may write it.

    A fact is one line, written at once; a process that dies meanwhile leaves at most a damaged
    line, which is passed over. Who writes holds a lock, so that no fact is lost to another writer.

    :param path: the file; it and its folder are made with the first fact, and beside it a file
        for the lock.
    :param home: the data folder that it lies in.
    """

    def __init__(self, path: Path | str, home: Path | None = None) -> None:
        self.path, self._home = Path(path), home

    def list_all(self) -> list[MemoryEntry]:
        """Return all facts, oldest first; lines that are none are passed over.

        :raises StorageError: when the file cannot be read.
        """
        try:
            return [entry for line in self._lines() if (entry := _entry(line))]
        except OSError as error:
            raise self._failed("read", error) from error

    def add(self, entry: MemoryEntry) -> None:
        """Keep a fact.

        :raises StorageError: when the file cannot be written, another process holds it for
            seconds, or the fact's metadata is nothing that JSON knows.
        """
        with self._writing():
            line = json.dumps(entry.model_dump(mode="json"), ensure_ascii=False) + "\n"
            self._append(line.encode("utf-8", "replace"))

    def delete(self, entry_id: str) -> bool:
        """Forget a fact, and tell whether it was known. Lines that are no fact stay as they are.

        :raises StorageError: when the file cannot be written, or another process holds it for
            seconds.
        """
        if not self.path.exists():
            return False
        with self._writing():
            lines = self._lines()
            kept = [line for line in lines if not _is(line, entry_id)]
            if len(kept) < len(lines):
                replace_durably(self.path, b"\n".join(kept), _MODE)
            return len(kept) < len(lines)

    def _lines(self) -> list[bytes]:
        """Return the lines; after the last line end there is an empty one."""
        try:
            return self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock. It has a file of its own, since `delete` puts another in place of ours."""
        try:
            if self._home is not None:
                claim_data_folder(self._home)
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.path.with_name(f"{self.path.name}.lock"), _FLAGS, _MODE)
            try:
                lock(descriptor, "the facts are")
                yield
            finally:
                os.close(descriptor)
        except (OSError, ValueError) as error:
            raise self._failed("written", error) from error

    def _failed(self, what: str, error: Exception) -> StorageError:
        hint = f"Look at {self.path}: is it yours, and is there room on the disk?"
        return StorageError(f"the facts cannot be {what}", str(error), hint=hint)

    def _append(self, line: bytes) -> None:
        is_new = not self.path.exists()
        descriptor = os.open(self.path, _FLAGS | os.O_APPEND, _MODE)
        try:
            append(descriptor, line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if is_new:
            sync_folder(self.path.parent)


def _entry(line: bytes) -> MemoryEntry | None:
    try:
        return MemoryEntry.model_validate_json(line)
    except ValidationError:
        return None


def _is(line: bytes, entry_id: str) -> bool:
    entry = _entry(line)
    return entry is not None and entry.id == entry_id
