"""The questions on paragraphs of the shared data, of which some are kept for what is reported."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
LANGUAGES = ("en", "ja")
REPORTED = 200  # of a language; weights are fitted to the others only

Line = dict[str, Any]


def notes_of(language: str) -> Path:
    """Return the folder with the paragraphs of a language."""
    return DATA / "retrieval" / language / "notes"


def help_of(language: str) -> Path:
    """Return a vault on another subject in the same language."""
    return DATA / "vaults" / f"obsidian-help-{language}"


def questions(language: str) -> list[Line]:
    """Return all questions of a language: `id`, `query`, `relevant` and `answer`."""
    file = DATA / "retrieval" / language / "queries.jsonl"
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def reported(language: str, count: int = REPORTED) -> list[Line]:
    """Return some of the questions, always the same."""
    return random.Random(5).sample(questions(language), count)


def fitted(language: str) -> list[Line]:
    """Return the questions that are none of those that are reported."""
    kept = {one["id"] for one in reported(language)}
    return [one for one in questions(language) if one["id"] not in kept]
