"""What a conversation remembers: its last messages, and facts that outlive it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from rag.context.fact_store import FactFile, FactStore, MemoryEntry, RememberedFacts
from rag.context.models import ContextItem, SourceType
from rag.context.protocols import Tokenizer
from rag.context.token_counter import TextTokenizer, truncate
from rag.query.models import ConversationTurn, Role, now
from rag.support.settings_repr import with_settings_repr

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
