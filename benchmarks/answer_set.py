"""The questions of `questions/answers.jsonl`: what a line says, and how they are halved."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

QUESTIONS = Path(__file__).parent / "questions"
OWN_VAULTS = QUESTIONS / "vaults"
SHARED_VAULTS = Path(__file__).resolve().parents[2] / "shared" / "data" / "vaults"
VAULTS = ("obsidian-help-en", "obsidian-help-ja", "wharf-notes", "kissa-notes")
HALVES = ("tune", "report")


@dataclass(frozen=True)
class Place:
    """Where a note answers: its `path` as vault/path, the first and last of the `lines`, counted
    from 1 in the file, and what a right quotation of them holds, all of it."""

    path: str
    lines: tuple[int, int]
    must: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """A line of the set; one without `answers` is answered by no note of its vault."""

    id: str
    query: str
    language: str
    vault: str
    kind: str
    half: str
    answers: tuple[Place, ...]


def read_set(file: Path = QUESTIONS / "answers.jsonl") -> list[Question]:
    """Read the set, in the order of the file."""
    lines = map(json.loads, file.read_text("utf-8").splitlines())
    return [Question(**line | {"answers": _places(line["answers"])}) for line in lines]


def folder_of(vault: str) -> Path:
    """Return the folder of a vault; a help vault's may not be there."""
    return (SHARED_VAULTS if vault.startswith("obsidian-help") else OWN_VAULTS) / vault


def _places(answers: Sequence[dict[str, object]]) -> tuple[Place, ...]:
    return tuple(
        Place(answer["path"], tuple(answer["lines"]), tuple(answer["must"]))  # type: ignore[arg-type]
        for answer in answers
    )
