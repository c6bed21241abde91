"""Facts that are kept on disk, one line of JSON each."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from rag.exceptions import StorageError
from rag.query.models import now


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
    """Facts in a file, read anew each time: other processes may write it.

    :param path: the file; it and its folder are made with the first fact.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def list_all(self) -> list[MemoryEntry]:
        """Return all facts, oldest first; lines that are none are passed over.

        :raises StorageError: when the file cannot be read.
        """
        return [entry for _, entry in self._lines() if entry]

    def add(self, entry: MemoryEntry) -> None:
        """Keep a fact.

        :raises StorageError: when the file cannot be written.
        """
        lines = [line for line, _ in self._lines()]
        self._write([*lines, entry.model_dump_json()])

    def delete(self, entry_id: str) -> bool:
        """Forget a fact, and tell whether it was known.

        :raises StorageError: when the file cannot be written.
        """
        lines = self._lines()
        kept = [line for line, entry in lines if not entry or entry.id != entry_id]
        if len(kept) == len(lines):
            return False
        self._write(kept)
        return True

    def _lines(self) -> list[tuple[str, MemoryEntry | None]]:
        try:
            text = self.path.read_text("utf-8", errors="replace")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageError("the facts cannot be read", str(error)) from error
        return [(line, _entry(line)) for line in text.splitlines() if line.strip()]

    def _write(self, lines: list[str]) -> None:
        """Replace the file as a whole, so that a kill leaves the old one or the new one."""
        beside = self.path.with_name(f"{self.path.name}.{uuid4().hex[:8]}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text("".join(f"{line}\n" for line in lines), "utf-8")
            beside.replace(self.path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise StorageError("the facts cannot be written", str(error)) from error


def _entry(line: str) -> MemoryEntry | None:
    try:
        return MemoryEntry.model_validate_json(line)
    except ValidationError:
        return None
