"""What a conversation remembers: its last messages, and facts that outlive it."""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from rag.context.models import ContextItem, Items, SourceType, TextTokenizer, Tokenizer
from rag.exceptions import StorageError
from rag.query.models import ConversationTurn, Role, now
from rag.support.files import claim_data_folder, lock, replace_durably


class MemoryEntry(BaseModel):
    """A fact that is remembered."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    content: str
    tags: list[str] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)
    created_at: AwareDatetime = Field(default_factory=now)


class RememberedFacts(dict[str, MemoryEntry]):
    """Facts in memory, for as long as the process lives; as `FactFile`."""

    def add(self, entry: MemoryEntry) -> None:
        self[entry.id] = entry

    def list_all(self) -> list[MemoryEntry]:
        return [*self.values()]

    def delete(self, entry_id: str) -> bool:
        return self.pop(entry_id, None) is not None


class FactFile:
    """Facts in a file that only its owner can read, one JSON object a line; read each time, since
    others may write it. Lines that are no fact are passed over, and stay. Who writes holds a
    lock and replaces the file, so that no fact is lost to another writer or a process that dies.

    :param path: the file; it and its folder are made with the first fact, and a lock beside it.
    :param home: the data folder that it lies in.
    """

    def __init__(self, path: Path | str, home: Path | None = None) -> None:
        self.path, self._home = Path(path), home

    def list_all(self) -> list[MemoryEntry]:
        """Return all facts, oldest first.

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
        with self._changing() as lines:
            line = json.dumps(entry.model_dump(mode="json"), ensure_ascii=False)
            lines.append(line.encode("utf-8", "replace"))

    def delete(self, entry_id: str) -> bool:
        """Forget a fact, and return whether there was one.

        :raises StorageError: as `add`.
        """
        if not self.path.exists():
            return False
        with self._changing() as lines:
            before = len(lines)
            lines[:] = [line for line in lines if getattr(_entry(line), "id", None) != entry_id]
            return len(lines) < before

    def _lines(self) -> list[bytes]:
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        return lines if lines[-1] else lines[:-1]

    @contextmanager
    def _changing(self) -> Iterator[list[bytes]]:
        """Give the lines, and write them if they were changed; the lock has a file of its own,
        since another is put in the place of ours."""
        try:
            if self._home is not None:
                claim_data_folder(self._home)
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside = self.path.with_name(f"{self.path.name}.lock")
            descriptor = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                lock(descriptor, "the facts are")
                lines = self._lines()
                before = [*lines]
                yield lines
                if lines != before:
                    replace_durably(self.path, b"".join(line + b"\n" for line in lines))
            finally:
                os.close(descriptor)
        except (OSError, ValueError) as error:
            raise self._failed("written", error) from error

    def _failed(self, what: str, error: Exception) -> StorageError:
        hint = f"Look at {self.path}: is it yours, and is there room on the disk?"
        return StorageError(f"the facts cannot be {what}", str(error), hint=hint)


def _entry(line: bytes) -> MemoryEntry | None:
    try:
        return MemoryEntry.model_validate_json(line)
    except ValidationError:
        return None


FACT_PRIORITY, CONVERSATION_PRIORITY = 8, 7
_LEAST_RECENT = 0.5  # the score of the oldest message; the newest scores 1

OnEvict = Callable[[list[ConversationTurn]], Any]


def truncate(text: str, max_tokens: int, tokenizer: Tokenizer) -> str:
    """Return the longest beginning of a text that has no more than `max_tokens`."""
    if tokenizer.count_tokens(text) <= max_tokens:
        return text
    ends = range(1, len(text))
    fits = bisect_right(ends, max_tokens, key=lambda end: tokenizer.count_tokens(text[:end]))
    return text[:fits]


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

    @property
    def turns(self) -> list[ConversationTurn]:
        """The messages, oldest first, as a copy."""
        return list(self._turns)

    @property
    def total_tokens(self) -> int:
        """How many tokens they have together."""
        return sum(turn.token_count for turn in self._turns)

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
        self._turns.append(turn)
        while len(self._turns) > 1 and self.total_tokens > self.max_tokens:
            evicted.append(self._turns.popleft())
        if evicted and self._on_evict:
            self._on_evict(evicted)
        return turn

    def to_context_items(self) -> Items:
        """Return the messages as items, oldest first; the newer, the higher they score."""
        last = max(len(self._turns) - 1, 1)
        return [
            ContextItem(
                content=turn.content,
                source=SourceType.CONVERSATION,
                score=1.0 - (1.0 - _LEAST_RECENT) * (len(self._turns) - 1 - index) / last,
                priority=CONVERSATION_PRIORITY,
                token_count=turn.token_count,
                metadata={**turn.metadata, "role": turn.role},
                created_at=turn.timestamp,
            )
            for index, turn in enumerate(self._turns)
        ]

    get_context_items = to_context_items  # a conversation alone is a `MemoryProvider` too

    def clear(self) -> None:
        """Forget all messages."""
        self._turns.clear()


class MemoryManager:
    """Remember a conversation and facts; a `MemoryProvider` for the context pipeline.

    :param conversation_tokens: how much of the conversation is remembered.
    :param on_evict: called with the messages that had to go.
    :param persistent_store: keeps the facts: the path of a file, or an object like `FactFile`;
        without it they are lost with the manager.
    """

    def __init__(
        self,
        conversation_tokens: int = 4096,
        tokenizer: Tokenizer | None = None,
        on_evict: OnEvict | None = None,
        persistent_store: FactFile | RememberedFacts | Path | str | None = None,
    ) -> None:
        if isinstance(persistent_store, (str, Path)):
            persistent_store = FactFile(persistent_store)
        self.conversation = SlidingWindowMemory(conversation_tokens, tokenizer, on_evict)
        self.persistent_store = RememberedFacts() if persistent_store is None else persistent_store

    def add_user_message(self, content: str) -> None:
        """Remember what the user said."""
        self.conversation.add_turn("user", content)

    def add_assistant_message(self, content: str) -> None:
        """Remember what the model said."""
        self.conversation.add_turn("assistant", content)

    def add_system_message(self, content: str) -> None:
        """Remember a message of the system; it is remembered, and so no instruction."""
        self.conversation.add_turn("system", content)

    def add_tool_message(self, content: str) -> None:
        """Remember what a tool said."""
        self.conversation.add_turn("tool", content)

    def add_fact(
        self, content: str, tags: list[str] | None = None, metadata: dict[str, Any] | None = None
    ) -> MemoryEntry:
        """Keep a fact, and none twice.

        :returns: the fact as it is kept.
        :raises ValueError: when it is empty.
        :raises StorageError: when it cannot be kept.
        """
        content = content.strip()
        if not content:
            raise ValueError("a fact is empty")
        for fact in self.persistent_store.list_all():
            if fact.content == content:
                return fact
        entry = MemoryEntry(content=content, tags=tags or [], metadata=metadata or {})
        self.persistent_store.add(entry)
        return entry

    def get_all_facts(self) -> list[MemoryEntry]:
        """Return the facts, oldest first."""
        return self.persistent_store.list_all()

    def delete_fact(self, entry_id: str) -> bool:
        """Forget a fact, and return whether there was one."""
        return self.persistent_store.delete(entry_id)

    def get_context_items(self) -> Items:
        """Return facts, then messages, as items; facts go before messages."""
        facts = [
            ContextItem(
                id=entry.id,
                content=entry.content,
                source=SourceType.MEMORY,
                priority=FACT_PRIORITY,
                metadata={**entry.metadata, "tags": entry.tags},
                created_at=entry.created_at,
            )
            for entry in self.persistent_store.list_all()
        ]
        return [*facts, *self.conversation.to_context_items()]

    def clear(self) -> None:
        """Forget the conversation; facts stay."""
        self.conversation.clear()
