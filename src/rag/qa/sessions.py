"""Conversations on disk, and the facts that the user told.

A conversation is one file, one JSON object a line, for its owner's eyes only. The first line names
the version. A turn is one line, written at once, so that a process that dies leaves at most a
damaged last line, which is passed over. Facts are lines of `facts.jsonl` in the data folder; they
outlive conversations."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from rag.context.memory import FactFile, MemoryEntry, MemoryManager
from rag.exceptions import NotFoundError, UsageError
from rag.query.models import ConversationTurn
from rag.support.files import append, claim_data_folder, lock, narrow, sync_folder
from rag.text.messages import brief

VERSION = 1
_FOLDER = "chats"
_ID = re.compile(r"[\w-]{1,64}")


class KeptSource(TypedDict):
    """Where a source of an answer is."""

    number: int
    vault: str
    path: str
    line: int
    title: str


@dataclass(frozen=True)
class Turn:
    """A question and its answer.

    :param asked: the question as it was understood: it stands by itself.
    """

    question: str
    asked: str
    answer: str
    found: bool = True
    model: str = ""
    partial: bool = False
    sources: list[KeptSource] = field(default_factory=list)
    at: str = ""


@cache
def _turns() -> TypeAdapter[Turn]:
    return TypeAdapter(Turn)


@dataclass
class Session:
    """One conversation; its file is made with its first turn.

    :param notices: what was wrong with the file.
    """

    id: str
    path: Path
    turns: list[Turn] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    @property
    def data_dir(self) -> Path:
        """The data folder that it belongs to."""
        return self.path.parent.parent

    def add(self, turn: Turn) -> None:
        """Keep a turn, in the file too.

        :raises OSError: when it cannot be written.
        :raises UsageError: when the data folder holds files that are not ours.
        :raises StorageError: when another process holds the file for seconds.
        """
        self.turns.append(turn)
        claim_data_folder(self.data_dir)
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        narrow(self.path.parent)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            lock(descriptor, "it is")
            is_new = os.fstat(descriptor).st_size == 0
            rows = [{"version": VERSION, "id": self.id}] if is_new else []
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in (*rows, asdict(turn)))
            append(descriptor, "".join(lines).encode("utf-8", "replace"))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if is_new:
            sync_folder(self.path.parent)
            sync_folder(self.data_dir)


def new_session(data_dir: Path, now: datetime | None = None) -> Session:
    """Begin a conversation, named after the time."""
    folder = data_dir / _FOLDER
    stamp = (now or datetime.now()).strftime("%Y-%m-%d-%H%M%S")
    name, number = stamp, 1
    while (folder / f"{name}.jsonl").exists():
        number += 1
        name = f"{stamp}-{number}"
    return Session(name, folder / f"{name}.jsonl")


def open_session(data_dir: Path, name: str) -> Session:
    """Read a conversation.

    :raises NotFoundError: when there is none of that name.
    :raises UsageError: when another version of the program wrote it, or it is no conversation.
    """
    path = data_dir / _FOLDER / f"{name}.jsonl"
    if not _ID.fullmatch(name) or not path.is_file():
        raise NotFoundError(f"no conversation {name!r}", hint="`rag chat --list` lists them.")
    head, *lines = path.read_text("utf-8", "replace").split("\n")
    try:
        version = json.loads(head)["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        version = None
    if version != VERSION:
        what = "was written by another version of rag" if version else "is no conversation"
        raise UsageError(f"{path} {what}", hint="Begin another with `rag chat`.")
    session, damaged = Session(name, path), 0
    for line in filter(str.strip, lines):
        try:
            session.turns.append(_turns().validate_json(line, strict=True))
        except ValidationError:
            damaged += 1
    if damaged:
        what = "a damaged line" if damaged == 1 else f"{damaged} damaged lines"
        session.notices.append(f"passed over {what} of {path}")
    return session


def latest_session(data_dir: Path) -> Session:
    """Read the conversation that was added to last.

    :raises NotFoundError: when there is none.
    :raises UsageError: as `open_session`.
    """
    newest = next(_names(data_dir), None)
    if newest is None:
        raise NotFoundError("there is no conversation yet", hint="Begin one with `rag chat`.")
    return open_session(data_dir, newest)


def list_sessions(data_dir: Path) -> list[Session]:
    """Read all conversations, the latest first; those that cannot be read only as a notice."""
    sessions = []
    for name in _names(data_dir):
        try:
            sessions.append(open_session(data_dir, name))
        except (UsageError, OSError) as error:
            path = data_dir / _FOLDER / f"{name}.jsonl"
            sessions.append(Session(name, path, notices=[str(error)]))
    return sessions


def _names(data_dir: Path) -> Iterator[str]:
    files = [(path.stat().st_mtime_ns, path.stem) for path in (data_dir / _FOLDER).glob("*.jsonl")]
    return (stem for _, stem in sorted(files, reverse=True))


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


FACTS_FILE = "facts.jsonl"
_HINT = "`/facts` lists them with their numbers."
_LONGEST = 40  # characters of what was typed, in a message


def open_memory(data_dir: Path) -> MemoryManager:
    """Return a memory with the user's facts, and no conversation yet."""
    return MemoryManager(persistent_store=FactFile(data_dir / FACTS_FILE, data_dir))


def recall(memory: MemoryManager, turn: Turn) -> None:
    """Remember a question and its answer."""
    memory.add_user_message(turn.asked)
    memory.add_assistant_message(turn.answer)


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
    which, facts = " ".join(which.split()), memory.get_all_facts()
    if not which:
        raise UsageError("which fact is to be forgotten?", hint=f"/forget 1. {_HINT}")
    if not facts:
        raise no_facts()
    if which.isdecimal() and len(which) < 10:  # more digits are words, such as a telephone number
        if not 1 <= int(which) <= len(facts):
            count = "there is 1" if len(facts) == 1 else f"there are {len(facts)}"
            raise NotFoundError(f"there is no fact {which}: {count}", hint=_HINT)
        matches = [facts[int(which) - 1]]
    else:
        wanted = which.casefold()
        matches = [fact for fact in facts if fact.content.casefold() == wanted]
        matches = matches or [fact for fact in facts if wanted in fact.content.casefold()]
    if len(matches) != 1:
        shown = repr(brief(which, _LONGEST))
        if matches:
            raise UsageError(f"{len(matches)} facts hold {shown}", hint=_HINT)
        raise NotFoundError(f"no fact holds {shown}", hint=_HINT)
    memory.delete_fact(matches[0].id)
    return matches[0]
