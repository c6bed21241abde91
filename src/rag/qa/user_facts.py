"""What is remembered from one question to the next: facts that the user told, and a conversation.

Facts are lines of `facts.jsonl` in the data folder; they outlive conversations.
"""

from __future__ import annotations

from pathlib import Path

from rag.context.fact_store import FactFile, MemoryEntry
from rag.context.memory import MemoryManager
from rag.exceptions import NotFoundError, UsageError
from rag.qa.sessions import Turn
from rag.query.models import ConversationTurn
from rag.text.messages import brief

FACTS_FILE = "facts.jsonl"
_HINT = "`/facts` lists them with their numbers."
_LONGEST = 40  # characters of what was typed, in a message
_DIGITS = 9  # of a number; more are words, such as a telephone number


def open_memory(data_dir: Path) -> MemoryManager:
    """Return a memory with the user's facts, and no conversation yet."""
    return MemoryManager(persistent_store=FactFile(data_dir / FACTS_FILE, data_dir))


def recall(memory: MemoryManager, turn: Turn) -> None:
    """Remember a question and its answer."""
    memory.add_user_message(turn.asked)
    memory.add_assistant_message(turn.answer)


def chat_history(turns: list[Turn]) -> list[ConversationTurn]:
    """Return what was said, message by message."""
    return [
        message
        for turn in turns
        for message in (
            ConversationTurn(role="user", content=turn.asked),
            ConversationTurn(role="assistant", content=turn.answer),
        )
    ]


def remember(memory: MemoryManager, text: str) -> MemoryEntry:
    """Keep a fact; white space in it becomes one space.

    :raises UsageError: when there is nothing to keep.
    :raises StorageError: when it cannot be kept.
    """
    fact = " ".join(text.split())
    if not fact:
        raise UsageError("there is nothing to remember", hint="/remember I work nights")
    return memory.add_fact(fact)


def no_facts() -> NotFoundError:
    """Return the error that says that nothing is remembered."""
    return NotFoundError("there are no facts", hint="/remember TEXT keeps one.")


def forget(memory: MemoryManager, which: str) -> MemoryEntry:
    """Forget one fact, and return it.

    :param which: its number, counted from 1, the oldest first; or words that it alone holds.
    :raises UsageError: when nothing is named, or several facts hold the words.
    :raises NotFoundError: when there is no such fact.
    :raises StorageError: when the facts cannot be read or written.
    """
    fact = _find(memory.get_all_facts(), " ".join(which.split()))
    memory.delete_fact(fact.id)
    return fact


def _find(facts: list[MemoryEntry], which: str) -> MemoryEntry:
    if not which:
        raise UsageError(
            "which fact is to be forgotten?",
            hint="/forget 1. `/facts` lists them with their numbers.",
        )
    if not facts:
        raise no_facts()
    if which.isdecimal() and len(which) <= _DIGITS:
        if 1 <= int(which) <= len(facts):
            return facts[int(which) - 1]
        count = "there is 1" if len(facts) == 1 else f"there are {len(facts)}"
        raise NotFoundError(f"there is no fact {which}: {count}", hint=_HINT)
    wanted = which.casefold()
    exact = [fact for fact in facts if fact.content.casefold() == wanted]
    found = exact or [fact for fact in facts if wanted in fact.content.casefold()]
    if len(found) > 1:
        raise UsageError(f"{len(found)} facts hold {brief(which, _LONGEST)!r}", hint=_HINT)
    if not found:
        raise NotFoundError(f"no fact holds {brief(which, _LONGEST)!r}", hint=_HINT)
    return found[0]
