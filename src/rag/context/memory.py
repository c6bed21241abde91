"""What a conversation remembers: its last messages, and facts that outlive it."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from rag.context.budget import TextTokenizer, truncate
from rag.context.models import ContextItem, SourceType
from rag.context.protocols import Tokenizer
from rag.exceptions import StorageError
from rag.query.models import ConversationTurn, Role, now
from rag.support.durable_files import append, lock, replace_durably, sync_folder
from rag.support.owned_folders import claim_data_folder
from rag.support.settings_repr import with_settings_repr

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


FACT_PRIORITY, CONVERSATION_PRIORITY = 8, 7
_LEAST_RECENT = 0.5  # the score of the oldest message; the newest scores 1

OnEvict = Callable[[list[ConversationTurn]], Any]


@runtime_checkable
class ConversationMemory(Protocol):
    """Remembers messages."""

    @property
    def turns(self) -> list[ConversationTurn]:
        """The messages, oldest first."""
        ...

    def add_turn(self, role: Role, content: str, **metadata: Any) -> ConversationTurn:
        """Add a message."""
        ...

    def to_context_items(self, priority: int = CONVERSATION_PRIORITY) -> list[ContextItem]:
        """Return the messages as items."""
        ...

    def clear(self) -> None:
        """Forget all messages."""
        ...


@with_settings_repr
class SlidingWindowMemory:
    """Remember the newest messages, as many as fit.

    :param max_tokens: how many tokens they may have together.
    :param tokenizer: counts them.
    :param on_evict: called with the messages that had to go, oldest first.
    :raises ValueError: when `max_tokens` is not positive.
    """

    def __init__(
        self,
        max_tokens: int = 4096,
        tokenizer: Tokenizer | None = None,
        on_evict: OnEvict | None = None,
    ) -> None:
        if max_tokens <= 0:
            raise ValueError(f"max_tokens must be positive, not {max_tokens}")
        self.max_tokens = max_tokens
        self._tokenizer: Tokenizer = tokenizer or TextTokenizer()
        self._on_evict = on_evict
        self._turns: deque[ConversationTurn] = deque()
        self._total = 0

    @property
    def turns(self) -> list[ConversationTurn]:
        """The messages, oldest first, as a copy."""
        return list(self._turns)

    @property
    def total_tokens(self) -> int:
        """How many tokens they have together."""
        return self._total

    def add_turn(self, role: Role, content: str, **metadata: Any) -> ConversationTurn:
        """Add a message; the oldest go until it fits, and of one that never would its end.

        :returns: the message as it is remembered.
        """
        content = truncate(content, self.max_tokens, self._tokenizer)
        moment = now()
        if self._turns and moment <= self._turns[-1].timestamp:  # clocks may stand still
            moment = self._turns[-1].timestamp + timedelta(microseconds=1)
        turn = ConversationTurn(
            role=role,
            content=content,
            token_count=self._tokenizer.count_tokens(content),
            timestamp=moment,
            metadata=metadata,
        )
        evicted: list[ConversationTurn] = []
        while self._turns and self._total + turn.token_count > self.max_tokens:
            evicted.append(self._turns.popleft())
            self._total -= evicted[-1].token_count
        self._turns.append(turn)
        self._total += turn.token_count
        if evicted and self._on_evict:
            self._on_evict(evicted)
        return turn

    def to_context_items(self, priority: int = CONVERSATION_PRIORITY) -> list[ContextItem]:
        """Return the messages as items, oldest first; the newer, the higher they score."""
        last = max(len(self._turns) - 1, 1)
        return [
            ContextItem(
                content=turn.content,
                source=SourceType.CONVERSATION,
                score=1.0 - (1.0 - _LEAST_RECENT) * (len(self._turns) - 1 - index) / last,
                priority=priority,
                token_count=turn.token_count,
                metadata={**turn.metadata, "role": turn.role},
                created_at=turn.timestamp,
            )
            for index, turn in enumerate(self._turns)
        ]

    def get_context_items(self) -> list[ContextItem]:
        """Return the messages as items: a conversation alone is a `MemoryProvider` too."""
        return self.to_context_items()

    def clear(self) -> None:
        """Forget all messages."""
        self._turns.clear()
        self._total = 0


@with_settings_repr
class MemoryManager:
    """Remember a conversation and facts; a `MemoryProvider` for the context pipeline.

    :param conversation_tokens: how much of the conversation is remembered.
    :param tokenizer: counts tokens.
    :param on_evict: called with the messages that had to go.
    :param persistent_store: keeps the facts: a file, or another store; without one they are lost
        with the manager.
    :param conversation_memory: remembers the messages, in the place of a `SlidingWindowMemory`
        made of the first three.
    """

    def __init__(
        self,
        conversation_tokens: int = 4096,
        tokenizer: Tokenizer | None = None,
        on_evict: OnEvict | None = None,
        persistent_store: FactStore | Path | str | None = None,
        conversation_memory: ConversationMemory | None = None,
    ) -> None:
        # An empty memory or store may be false.
        if conversation_memory is None:
            conversation_memory = SlidingWindowMemory(conversation_tokens, tokenizer, on_evict)
        if persistent_store is None:
            persistent_store = RememberedFacts()
        elif isinstance(persistent_store, (str, Path)):
            persistent_store = FactFile(persistent_store)
        self._conversation: ConversationMemory = conversation_memory
        self._facts: FactStore = persistent_store

    @property
    def conversation(self) -> ConversationMemory:
        """What remembers the messages."""
        return self._conversation

    @property
    def persistent_store(self) -> FactStore:
        """What keeps the facts."""
        return self._facts

    def add_user_message(self, content: str) -> None:
        """Remember what the user said."""
        self._conversation.add_turn("user", content)

    def add_assistant_message(self, content: str) -> None:
        """Remember what the model said."""
        self._conversation.add_turn("assistant", content)

    def add_system_message(self, content: str) -> None:
        """Remember a message of the system; it is remembered, and so no instruction."""
        self._conversation.add_turn("system", content)

    def add_tool_message(self, content: str) -> None:
        """Remember what a tool said."""
        self._conversation.add_turn("tool", content)

    def add_fact(
        self,
        content: str,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> MemoryEntry:
        """Keep a fact; one that is known already is not kept twice.

        :returns: the fact as it is kept.
        :raises ValueError: when it is empty.
        :raises StorageError: when it cannot be kept.
        """
        content = content.strip()
        if not content:
            raise ValueError("a fact is empty")
        for known in self._facts.list_all():
            if known.content == content:
                return known
        entry = MemoryEntry(content=content, tags=tags or [], metadata=metadata or {})
        self._facts.add(entry)
        return entry

    def get_all_facts(self) -> list[MemoryEntry]:
        """Return the facts, oldest first."""
        return self._facts.list_all()

    def delete_fact(self, entry_id: str) -> bool:
        """Forget a fact, and tell whether it was known."""
        return self._facts.delete(entry_id)

    def get_context_items(self, priority: int = CONVERSATION_PRIORITY) -> list[ContextItem]:
        """Return facts, then messages, as items; facts go before messages.

        :param priority: that of the messages.
        """
        facts = [
            ContextItem(
                id=entry.id,
                content=entry.content,
                source=SourceType.MEMORY,
                priority=FACT_PRIORITY,
                metadata={**entry.metadata, "tags": entry.tags},
                created_at=entry.created_at,
            )
            for entry in self._facts.list_all()
        ]
        return [*facts, *self._conversation.to_context_items(priority)]

    def clear(self) -> None:
        """Forget the conversation; facts stay."""
        self._conversation.clear()
