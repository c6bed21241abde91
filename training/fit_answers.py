"""Fit what the evidence of a unit counts for once a reader has read it: `WITH_READER`.

    PYTHONPATH=src:benchmarks python training/fit_answers.py --meaning FOLDER

The tuning half of questions/answers.jsonl is asked as answers.py asks it, with the reader that the
program has; the weights of the choice are fitted by conditional logistic regression, each drawn
towards what it is without a reader, and those of the probability by logistic regression on what
the choice says of questions that it was not fitted on. Printed are the weights, and for some
thresholds the figures of answers.py on the half that was fitted.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from answers import BINS, Question, Quotation, ask, calibration_error, folder_of, is_right, read_set
from rag.answers.quotation import selection
from rag.answers.quotation.selection import WITH_MEANING, Choice
from rag.qa import extractive_answerer
from rag.qa.extractive_answerer import line_in_file

CHOICE = [*WITH_MEANING.units, "span"]
SURE = [*WITH_MEANING.sure, "span", "answered", "share"]
FOLDS = 8
PULL_OF_CHOICE, PULL_OF_SURE = 10.0, 3.0
THRESHOLDS = (0.3, 0.35, 0.4, 0.45, 0.5)
Array = np.ndarray[Any, np.dtype[Any]]


class Candidates(NamedTuple):
    """The units of a question, and which of them are right."""

    question: Question
    choices: Sequence[Choice]
    is_right: Array

    def evidence(self, names: Sequence[str]) -> Array:
        """Return the evidence of some names: `(units, names)`."""
        rows = [[getattr(choice.evidence, name) for name in names] for choice in self.choices]
        return np.array(rows, float).reshape(len(self.choices), len(names))


def candidates(questions: Sequence[Question], meaning: Path) -> Iterator[Candidates]:
    """Ask questions, and yield what each is answered from."""
    documents: list[Any] = []
    last: list[Choice] = []
    passages_of, read_again = extractive_answerer.passages_of, selection.read_again

    def noted_passages(*given: Any) -> Iterator[Any]:
        pairs = [*passages_of(*given)]
        documents[:] = [document for document, _ in pairs]
        return iter(pairs)

    def noted_choices(*given: Any) -> list[Choice]:
        last[:] = read_again(*given)
        return [*last]

    for vault in dict.fromkeys(question.vault for question in questions):
        if not folder_of(vault).is_dir():
            continue
        with (
            patch.object(extractive_answerer, "passages_of", noted_passages),
            patch.object(selection, "read_again", noted_choices),
        ):
            for asked in ask(vault, meaning, questions):
                right = [is_right(asked.question, _quotation(choice, documents)) for choice in last]
                yield Candidates(asked.question, [*last], np.array(right, bool))
                last.clear()


def _quotation(choice: Choice, documents: Sequence[Any]) -> Quotation:
    document = documents[choice.passage]
    path = f"{document.meta['vault']}/{document.meta['file_path']}"
    return Quotation(path, line_in_file(document, choice.unit.first), choice.unit.text)


def descend(slope: Callable[[Array], Array], start: Array, steps: int = 1500) -> Array:
    """Return where a function is least, by Adam."""
    at, first, second = start.copy(), 0 * start, 0 * start
    for step in range(1, steps + 1):
        now = slope(at)
        first, second = 0.9 * first + 0.1 * now, 0.99 * second + 0.01 * now * now
        rate = 0.05 if step < steps / 2 else 0.01
        size = np.sqrt(second / (1 - 0.99**step)) + 1e-8
        at = at - rate * first / (1 - 0.9**step) / size
    return at


def fit_choice(questions: Sequence[Candidates]) -> Array:
    """Return what each evidence of `CHOICE` counts for."""
    some = [(q.evidence(CHOICE), q.is_right) for q in questions if q.is_right.any()]
    spread = np.vstack([rows for rows, _ in some]).std(0) + 1e-6
    usual = np.array([*WITH_MEANING.units.values(), 0.0]) * spread
    pull = np.array([PULL_OF_CHOICE] * len(WITH_MEANING.units) + [0.0])

    def slope(weights: Array) -> Array:
        total: Array = pull * (weights - usual)
        for rows, right in some:
            scores = rows / spread @ weights
            share = np.exp(scores - scores.max())
            share /= share.sum()
            total += (share - share * right / (share[right].sum() + 1e-30)) @ (rows / spread)
        total /= len(some)
        return total

    fitted: Array = descend(slope, usual) / spread
    return fitted


def best_of(question: Candidates, weights: Array) -> tuple[list[float], bool]:
    """Return the evidence of `SURE` of the best unit, and whether it is right."""
    scores = question.evidence(CHOICE) @ weights
    at = int(np.argmax(scores))
    known = question.choices[at].evidence._asdict() | {
        "score": scores[at],
        "share": 1 / np.exp(scores - scores[at]).sum(),
    }
    return [known[name] for name in SURE], bool(question.is_right[at])


def fit_sure(questions: Sequence[Candidates]) -> tuple[Array, float, Array, Array]:
    """Return what each evidence of `SURE` counts for, the bias, and of each question the
    probability and whether the best unit is right, by weights of the other questions."""
    held_out = []
    for fold in range(FOLDS):
        weights = fit_choice([q for at, q in enumerate(questions) if at % FOLDS != fold])
        held_out += [
            (at, *best_of(q, weights)) for at, q in enumerate(questions) if at % FOLDS == fold
        ]
    held_out.sort(key=lambda row: row[0])
    rows, right = np.array([row for _, row, _ in held_out]), np.array([r for *_, r in held_out])
    mean, spread = rows.mean(0), np.maximum(rows.std(0), 1e-6)
    inputs = np.hstack([(rows - mean) / spread, np.ones((len(rows), 1))])
    pull = np.array([PULL_OF_SURE] * len(SURE) + [0.0])

    def slope(weights: Array) -> Array:
        probability = 1 / (1 + np.exp(-inputs @ weights))
        of_all: Array = (inputs.T @ (probability - right) + pull * weights) / len(rows)
        return of_all

    fitted = descend(slope, np.zeros(len(SURE) + 1))
    bias = fitted[-1] - float(fitted[:-1] @ (mean / spread))
    return fitted[:-1] / spread, bias, 1 / (1 + np.exp(-inputs @ fitted)), right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--meaning", type=Path, metavar="FOLDER", required=True)
    arguments = parser.parse_args()
    questions = [question for question in read_set() if question.half == "tune"]
    asked = [*candidates(questions, arguments.meaning)]
    some = [q for q in asked if q.choices]
    sure, bias, probability, right = fit_sure(some)
    print("units:", dict(zip(CHOICE, fit_choice(some).round(2).tolist(), strict=True)))
    print("sure:", dict(zip(SURE, sure.round(2).tolist(), strict=True)), "bias:", round(bias, 2))
    answerable = np.array([bool(q.question.answers) for q in some])
    total = sum(bool(q.question.answers) for q in asked)
    for threshold in THRESHOLDS:
        shown = probability >= threshold
        pairs = [*zip(probability[shown].tolist(), right[shown].tolist(), strict=True)]
        print(
            f"threshold {threshold}: first {(shown & right).sum() / total:.3f}, "
            f"answered {(shown & ~answerable).sum() / max(1, len(asked) - total):.3f}, "
            f"refused {1 - (shown & answerable).sum() / total:.3f}, "
            f"ece {calibration_error(pairs):.3f} ({BINS} bins)"
        )


if __name__ == "__main__":
    main()
