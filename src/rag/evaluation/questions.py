"""Question sets: JSON lines, one question each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated
from unicodedata import normalize

from pydantic import AfterValidator, ConfigDict, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import from_json

from rag.exceptions import UsageError

HINT = 'One object a line: {"query": "rolling back", "relevant": ["folder/note.md"]}'
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
NotePath = Annotated[Text, AfterValidator(lambda path: normalize("NFC", path))]


@dataclass(frozen=True)
class Question:
    """A query and the notes it should find, by path or `vault/path` (NFC, each named once).

    A `partial` note is worth half a relevant one. `category` is empty for a question without.
    """

    __pydantic_config__ = ConfigDict(coerce_numbers_to_str=True)

    id: Text
    query: Text
    relevant: tuple[NotePath, ...]
    partial: tuple[NotePath, ...] = ()
    category: str = ""


_QUESTION = TypeAdapter(Question)


def read_questions(file: Path) -> list[Question]:
    """Read a question set from a file.

    :raises UsageError: when it cannot be read, or as `parse_questions` says.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        hint = "`rag eval --help` says what a question set is."
        raise UsageError(f"cannot read {file}", error.strerror or "", hint=hint) from error
    return parse_questions(data, str(file))


def parse_questions(data: bytes, name: str) -> list[Question]:
    """Read a question set: each line is an object with `query` and `relevant` (a list of paths),
    and optionally `id` (else the line's number), `partial` and `category`. `null` is the same as
    no key; other keys are passed over.

    :param name: what messages call the source.
    :raises UsageError: for anything else; it names the line and the cause.
    """
    questions: dict[str, Question] = {}
    # Not `splitlines`: a JSON string may hold U+2028 and other ends of lines as they are.
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            question = _parse(line, number)
            if question.id in questions:
                raise ValueError(f"the id {question.id!r} is that of an earlier line too")
        except ValueError as error:
            raise UsageError(f"{name}, line {number}: {cause_of(error)}", hint=HINT) from error
        questions[question.id] = question
    if not questions:
        raise UsageError(f"{name} holds no questions", hint=HINT)
    return [*questions.values()]


def _parse(line: bytes, number: int) -> Question:
    """Return the question of a line, each note named once.

    :raises ValueError: for anything else.
    """
    given = from_json(line)
    if not isinstance(given, dict):
        raise ValueError("not a JSON object")
    present = {key: value for key, value in given.items() if value is not None}
    question = _QUESTION.validate_python({"id": str(number), **present})
    relevant = tuple(dict.fromkeys(question.relevant))
    partial = tuple(path for path in dict.fromkeys(question.partial) if path not in relevant)
    if not relevant and not partial:
        raise ValueError("'relevant' and 'partial' name no note")
    return replace(question, relevant=relevant, partial=partial)


def cause_of(error: ValueError) -> str:
    """Return what is wrong with JSON, or the first thing that is wrong with its content."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
