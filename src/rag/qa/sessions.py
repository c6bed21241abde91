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
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from rag.context.memory import FactFile, MemoryEntry, MemoryManager
from rag.exceptions import NotFoundError, UsageError
from rag.query.models import ConversationTurn
from rag.support.durable_files import append, lock, sync_folder
from rag.support.owned_folders import claim_data_folder, narrow
from rag.text.messages import brief

VERSION = 1
_FOLDER = "chats"
_ID = re.compile(r"[\w-]{1,64}")


@dataclass(frozen=True)
class Turn:
    """A question and its answer.

    :param asked: the question as it was understood: it stands by itself.
    :param sources: of the answer: `number`, `vault`, `path`, `line` and `title`.
    """

    question: str
    asked: str
    answer: str
    found: bool = True
    model: str = ""
    partial: bool = False
    sources: list[dict[str, Any]] = field(default_factory=list)
    at: str = ""


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
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        descriptor = os.open(self.path, flags, 0o600)
        try:
            lock(descriptor, "it is")
            is_new = os.fstat(descriptor).st_size == 0
            head = _line({"version": VERSION, "id": self.id}) if is_new else ""
            append(descriptor, (head + _line(asdict(turn))).encode("utf-8", "replace"))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if is_new:
            sync_folder(self.path.parent)
            sync_folder(self.data_dir)


def _line(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False) + "\n"


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
    session = Session(name, path)
    lines = path.read_text("utf-8", "replace").split("\n")
    _check_version(lines[0], path)
    damaged = 0
    for line in lines[1:]:
        turn = _turn(line)
        if turn:
            session.turns.append(turn)
        elif line.strip():
            damaged += 1
    if damaged:
        what = "a damaged line" if damaged == 1 else f"{damaged} damaged lines"
        session.notices.append(f"passed over {what} of {path}")
    return session


def _check_version(line: str, path: Path) -> None:
    hint = "Begin another with `rag chat`."
    try:
        version = json.loads(line)["version"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UsageError(f"{path} is no conversation", hint=hint) from error
    if version != VERSION:
        raise UsageError(
            f"{path} was written by another version of rag", f"version {version}", hint=hint
        )


def _turn(line: str) -> Turn | None:
    try:
        data = json.loads(line)
        turn = Turn(**{f.name: data[f.name] for f in fields(Turn) if f.name in data})
    except (ValueError, TypeError, RecursionError):
        return None
    texts = (turn.question, turn.asked, turn.answer)
    is_whole = all(isinstance(text, str) for text in texts) and isinstance(turn.sources, list)
    return turn if is_whole and all(map(_is_source, turn.sources)) else None


def _is_source(data: Any) -> bool:
    kinds = {"number": int, "vault": str, "path": str, "line": int, "title": str}
    return isinstance(data, dict) and all(
        isinstance(data.get(name), kind) for name, kind in kinds.items()
    )


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
    found = []
    for name in _names(data_dir):
        try:
            found.append(open_session(data_dir, name))
        except (UsageError, OSError) as error:
            path = data_dir / _FOLDER / f"{name}.jsonl"
            found.append(Session(name, path, notices=[str(error)]))
    return found


def _names(data_dir: Path) -> Iterator[str]:
    files = [(path.stat().st_mtime_ns, path.stem) for path in (data_dir / _FOLDER).glob("*.jsonl")]
    return (stem for _, stem in sorted(files, reverse=True))


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
