"""The questions of `questions/answers.jsonl`: what a line says, and how they are halved."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
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


def halves(questions: Sequence[Question]) -> dict[str, str]:
    """Return the half of each question, by its id.

    Questions that the same note answers stay together. Of a vault, the largest such groups are
    placed first, and each goes where its language has fewer questions of its kinds, then where
    the vault has fewer, until a half holds half of the vault's. So do unanswerable questions,
    one by one.
    """
    found: dict[str, str] = {}
    kinds: Counter[tuple[str, str, str]] = Counter()
    for vault, answerable in product(dict.fromkeys(one.vault for one in questions), (True, False)):
        own = [one for one in questions if one.vault == vault and bool(one.answers) == answerable]
        sizes: Counter[str] = Counter()
        for group in sorted(_groups(own), key=len, reverse=True):
            half = _half(group, sizes, kinds, len(own) / 2)
            sizes[half] += len(group)
            kinds.update((half, one.language, one.kind) for one in group)
            found |= {one.id: half for one in group}
    return found


def _places(answers: Sequence[dict[str, object]]) -> tuple[Place, ...]:
    return tuple(
        Place(answer["path"], tuple(answer["lines"]), tuple(answer["must"]))  # type: ignore[arg-type]
        for answer in answers
    )


def _groups(questions: Sequence[Question]) -> list[list[Question]]:
    """Return the questions, those together that a note answers in common."""
    groups: list[tuple[set[str], list[Question]]] = []
    for question in questions:
        notes = {place.path for place in question.answers}
        members = [question]
        for group in [group for group in groups if group[0] & notes]:
            groups.remove(group)
            notes |= group[0]
            members = group[1] + members
        groups.append((notes, members))
    return [members for _, members in groups]


def _half(
    group: Sequence[Question],
    sizes: Counter[str],
    kinds: Counter[tuple[str, str, str]],
    room: float,
) -> str:
    def cost(half: str) -> tuple[bool, int, int]:
        alike = sum(kinds[half, one.language, one.kind] for one in group)
        return sizes[half] + len(group) > room, alike, sizes[half]

    return min(HALVES, key=cost)
