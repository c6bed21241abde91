"""How well `rag ask` answers without a model, on questions with the lines that answer them.

    python benchmarks/answers.py [--set second-answers] [--meaning FOLDER]

The questions are those of questions/answers.jsonl, or of another set in that folder;
benchmarks/questions/README.md says how they were made. Each vault is indexed by itself and asked as
`rag ask` asks without a chat model: by words alone, or with --meaning by words and the built-in
embedding model, whose vectors are kept in FOLDER for the next time: the first takes some ten
minutes. A help vault that is not in ../shared/data/vaults is said to be skipped.
Printed for each half and language:

- first, in 3: a right quotation is the first one, or one of the first three, of the answerable
  questions. It is right when it comes from the lines that answer and holds what it must hold;
- answered: unanswerable questions that were answered all the same; refused: answerable ones that
  were not answered;
- ece: the expected calibration error, in ten bins, of the confidence that is shown against whether
  the first quotation is right; of all questions that were answered.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from kept_vectors import indexed
from rag.app.ask import ask as answer_question
from rag.app.requests import AskRequest
from rag.app.workspace import Workspace
from rag.qa.answer import Answer

QUESTIONS = Path(__file__).parent / "questions"
SHARED_VAULTS = Path(__file__).resolve().parents[2] / "shared" / "data" / "vaults"
VAULTS = ("obsidian-help-en", "obsidian-help-ja", "wharf-notes", "kissa-notes")
HALVES = ("tune", "report")
BINS = 10
SETS = "answers (default), second-answers or front-matter"
COLUMNS = ("first", "in 3", "answered", "refused", "ece")


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
    return [Question(**line | {"answers": tuple(map(_place, line["answers"]))}) for line in lines]


def folder_of(vault: str) -> Path:
    """Return the folder of a vault; a help vault's may not be there."""
    return (SHARED_VAULTS if vault.startswith("obsidian-help") else QUESTIONS / "vaults") / vault


def _place(answer: dict[str, Any]) -> Place:
    return Place(answer["path"], tuple(answer["lines"]), tuple(answer["must"]))


@dataclass(frozen=True)
class Quotation:
    """A quotation of a note, `path` as vault/path; the `line` at which it begins, from 1."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Asked:
    """What came of a question: its quotations, in the order in which they are shown; none where
    nothing was found."""

    question: Question
    quotations: tuple[Quotation, ...]
    confidence: float

    @property
    def rank(self) -> int:
        """Where the first right quotation stands, 0 for nowhere."""
        ranks = (n for n, one in enumerate(self.quotations, 1) if is_right(self.question, one))
        return next(ranks, 0)

    @property
    def failed(self) -> bool:
        return self.rank != 1 if self.question.answers else bool(self.quotations)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--set", default="answers", help=SETS)
    parser.add_argument("--meaning", type=Path, metavar="FOLDER", help="embed; keeps vectors there")
    arguments = parser.parse_args()
    asked: list[Asked] = []
    questions = read_set(QUESTIONS / f"{arguments.set}.jsonl")
    for vault in dict.fromkeys(question.vault for question in questions):
        if folder_of(vault).is_dir():
            asked += ask(vault, arguments.meaning, questions)
        else:
            print(f"skipped: {vault} is not there")
    _print_rates(asked)


def ask(
    vault: str, meaning: Path | None = None, questions: Sequence[Question] = ()
) -> Iterator[Asked]:
    """Index a vault by itself, and ask it its questions.

    :param questions: of which those of the vault are asked; without any, those of answers.jsonl.
    :param meaning: embed it with the built-in model too; vectors are kept in this folder.
    """
    known = meaning / f"{vault}.sqlite3" if meaning else None
    with indexed({vault: folder_of(vault)}, known) as config, Workspace(config) as workspace:
        for question in questions or read_set():
            if question.vault == vault:
                request = AskRequest(question.query, no_model=True)
                yield _asked(question, answer_question(workspace, request).answer)


def is_right(question: Question, quotation: Quotation) -> bool:
    """Return whether a quotation overlaps the lines of an answer and holds what it must."""
    last = quotation.line + quotation.text.count("\n")
    return any(
        quotation.path == place.path
        and quotation.line <= place.lines[1]
        and last >= place.lines[0]
        and all(key in quotation.text for key in place.must)
        for place in question.answers
    )


def rates(asked: Sequence[Asked]) -> tuple[float, ...]:
    """Return the figures of `COLUMNS`: shares, and the expected calibration error."""
    answerable = [one for one in asked if one.question.answers]
    others = [one for one in asked if not one.question.answers]
    return (
        fmean(one.rank == 1 for one in answerable),
        fmean(1 <= one.rank <= 3 for one in answerable),
        fmean(bool(one.quotations) for one in others),
        fmean(not one.quotations for one in answerable),
        calibration_error([(one.confidence, one.rank == 1) for one in asked if one.quotations]),
    )


def calibration_error(shown: Sequence[tuple[float, bool]]) -> float:
    """Return the mean distance, weighed by how many there are, of confidence from the share that
    is right, in bins of equal width; 0 where nothing is shown."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in shown:
        bins.setdefault(min(int(confidence * BINS), BINS - 1), []).append((confidence, right))
    distances = (
        len(some) * abs(fmean(confidence for confidence, _ in some) - fmean(r for _, r in some))
        for some in bins.values()
    )
    return sum(distances) / max(len(shown), 1)


def _asked(question: Question, answer: Answer) -> Asked:
    sources = answer.sources
    quotations = (
        Quotation(f"{source.vault}/{source.file_path}", quote.line, quote.text)
        for quote in (answer.quotes if answer.found else [])
        for source in [sources[quote.source - 1]]
    )
    return Asked(question, tuple(quotations), answer.confidence)


def _print_rates(asked: Sequence[Asked]) -> None:
    print(f"{'':14}{'questions':>10}" + "".join(f"{name:>10}" for name in COLUMNS))
    for half in HALVES:
        for language in ("en", "ja", ""):
            some = [
                one
                for one in asked
                if one.question.half == half and one.question.language.startswith(language)
            ]
            if not some:
                continue
            cells = "".join(f"{rate:>10.3f}" for rate in rates(some))
            print(f"{half:8}{language or 'both':6}{len(some):>10}{cells}")


if __name__ == "__main__":
    main()
