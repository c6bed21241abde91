"""Reading question sets: JSON lines, one question each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unicodedata import normalize

from rag.exceptions import UsageError

HINT = 'One object a line: {"query": "rolling back", "relevant": ["folder/note.md"]}'


@dataclass(frozen=True)
class Question:
    """A query and the notes it should find, by path or `vault/path` (NFC, each named once).

    A `partial` note is worth half a relevant one. `category` is empty for a question without.
    """

    id: str
    query: str
    relevant: tuple[str, ...]
    partial: tuple[str, ...] = ()
    category: str = ""


def read_questions(file: Path) -> list[Question]:
    """Read a question set from a file.

    :raises UsageError: when it cannot be read, or as `parse_questions` says.
    """
    if file.is_dir():
        raise UsageError(f"{file} is a folder, not a question set", hint=HINT)
    try:
        data = file.read_bytes()
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(
            f"cannot read {file}", why, hint="`rag eval --help` says what a question set is."
        ) from error
    return parse_questions(data, str(file))


def parse_questions(data: bytes, name: str) -> list[Question]:
    """Read a question set.

    Each line is an object with `query` (text), `relevant` (list of paths), and optionally `id`
    (text or whole number; else the line's number), `partial` (list of paths) and `category`
    (text). Blank lines and other keys are passed over, and `null` is the same as no key.

    :param name: what messages call the source.
    :raises UsageError: for anything else; it names the line and the cause.
    """
    questions: list[Question] = []
    lines: dict[str, int] = {}
    # Not `splitlines`: a JSON string may hold U+2028 and other ends of lines as they are.
    for number, line in enumerate(_decode(data, name).split("\n"), 1):
        if not line.strip():
            continue
        try:
            question = _to_question(_load(line), number)
            if question.id in lines:
                raise ValueError(f"the id {question.id!r} is that of line {lines[question.id]} too")
        except ValueError as error:
            raise UsageError(f"{name}, line {number}: {error}", hint=HINT) from error
        lines[question.id] = number
        questions.append(question)
    if not questions:
        raise UsageError(f"{name} holds no questions", hint=HINT)
    return questions


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{name}, line {line}: not UTF-8", hint="Save it as UTF-8.") from error


def _load(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error.msg} at column {error.colno})") from error
    except RecursionError as error:
        raise ValueError("not JSON that can be read (nested too deeply)") from error
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def _to_question(found: dict[str, Any], number: int) -> Question:
    for key in ("query", "relevant"):
        if found.get(key) is None:
            raise ValueError(f"{key!r} is missing")
    identity = found.get("id")
    if isinstance(identity, int) and not isinstance(identity, bool):
        identity = str(identity)
    relevant = _paths(found, "relevant")
    partial = [path for path in _paths(found, "partial") if path not in relevant]
    if not relevant and not partial:
        raise ValueError("'relevant' and 'partial' name no note")
    return Question(
        id=str(number) if identity is None else _text(identity, "id"),
        query=_text(found["query"], "query"),
        relevant=tuple(relevant),
        partial=tuple(partial),
        category="" if found.get("category") is None else _text(found["category"], "category"),
    )


def _paths(found: dict[str, Any], key: str) -> list[str]:
    values = found.get(key)
    if values is None:
        return []
    if not isinstance(values, list):
        raise ValueError(f"{key!r} is not a list of paths")
    paths = (normalize("NFC", _text(value, f"a path of {key}")) for value in values)
    return list(dict.fromkeys(paths))


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name!r} is not text")
    if not value.strip():
        raise ValueError(f"{name!r} is empty")
    try:
        value.encode()
    except UnicodeEncodeError as error:  # JSON may escape half of a surrogate pair
        raise ValueError(f"{name!r} is not Unicode text") from error
    return value
