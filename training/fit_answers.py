"""Fit what the evidence of a unit counts for once a reader has read it: `WITH_READER`.

    PYTHONPATH=src:benchmarks python training/fit_answers.py --meaning FOLDER

questions/answers.jsonl, both halves, is asked as answers.py asks it, with the reader that the
program has; the weights of the choice are fitted by conditional logistic regression, each drawn
towards what it is without a reader, and those of the probability by logistic regression on what
the choice says of questions that it was not fitted on. Printed are the weights, and for some
thresholds the figures of answers.py, each question by weights of others.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn import functional

from answers import COLUMNS, Asked, Question, ask, folder_of, is_right, rates, read_set
from rag.answers.quotation.selection import WITH_MEANING, Choice, ranked_units, read_again
from rag.qa import extractive_answerer

CHOICE = [*WITH_MEANING.units, "span"]
SURE = [*WITH_MEANING.sure, "span", "answered", "share"]
FOLDS = 8
PULL_OF_CHOICE, PULL_OF_SURE = 10.0, 3.0
THRESHOLDS = (0.3, 0.35, 0.4, 0.45, 0.5)


class Candidates(NamedTuple):
    """A question with all units that may answer it as its quotations, and why each is one."""

    asked: Asked
    choices: Sequence[Choice]

    def evidence(self) -> Tensor:
        """Return the evidence of `CHOICE`: `(units, names)`."""
        rows = [[getattr(choice.evidence, name) for name in CHOICE] for choice in self.choices]
        return torch.tensor(rows)

    def is_right(self) -> Tensor:
        """Return which units are right."""
        question, quotations = self.asked.question, self.asked.quotations
        return torch.tensor([is_right(question, quotation) for quotation in quotations])

    def best(self, weights: Tensor) -> tuple[list[float], Asked]:
        """Return the evidence of `SURE` of the unit that weights choose, and the question with it
        as its quotation."""
        scores = self.evidence() @ weights
        at = int(scores.argmax())
        known = self.choices[at].evidence._asdict()
        known |= {"score": scores[at].item(), "share": scores.softmax(0)[at].item()}
        quotations = self.asked.quotations[at : at + 1]
        return [known[name] for name in SURE], replace(self.asked, quotations=quotations)


def candidates(questions: Sequence[Question], meaning: Path) -> Iterator[Candidates]:
    """Ask questions, and yield what each may be answered with."""
    choices: list[Choice] = []

    def all_units(question: Any, passages: Any, most: int, read: Any) -> Any:
        ranked = ranked_units(question, passages)
        choices[:] = read_again(question, ranked, passages, read)
        return [[choice] for choice in choices], 1.0

    with patch.object(extractive_answerer, "choose", all_units):
        for vault in dict.fromkeys(question.vault for question in questions):
            for asked in ask(vault, meaning, questions) if folder_of(vault).is_dir() else ():
                yield Candidates(asked, [*choices])
                choices.clear()


def least(loss: Callable[[Tensor], Tensor], start: Tensor) -> Tensor:
    """Return where a function is least."""
    at = start.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([at], max_iter=500, line_search_fn="strong_wolfe")

    def evaluate() -> Tensor:
        optimizer.zero_grad()
        value = loss(at)
        value.backward()
        return value

    optimizer.step(evaluate)
    return at.detach()


def fit_choice(some: Sequence[Candidates]) -> Tensor:
    """Return what each evidence of `CHOICE` counts for."""
    units = [(each.evidence(), each.is_right()) for each in some if each.asked.rank]
    spread = torch.vstack([rows for rows, _ in units]).std(0, correction=0) + 1e-6
    usual = torch.tensor([*WITH_MEANING.units.values(), 0.0]) * spread

    def loss(weights: Tensor) -> Tensor:
        total = PULL_OF_CHOICE * (weights - usual)[:-1].square().sum() / 2
        for rows, right in units:
            scores = rows / spread @ weights
            total = total + scores.logsumexp(0) - scores[right].logsumexp(0)
        return total / len(units)

    return least(loss, usual) / spread


def fit_sure(some: Sequence[Candidates]) -> tuple[Tensor, Tensor, list[Asked]]:
    """Return what each evidence of `SURE` counts for, the bias, and what each question is answered
    with by weights of the others, with the probability that it is right."""
    weights = [
        fit_choice([each for at, each in enumerate(some) if at % FOLDS != fold])
        for fold in range(FOLDS)
    ]
    best = [each.best(weights[at % FOLDS]) for at, each in enumerate(some)]
    rows = torch.tensor([evidence for evidence, _ in best])
    right = torch.tensor([float(asked.rank) for _, asked in best])
    mean, spread = rows.mean(0), rows.std(0, correction=0).clamp(1e-6)

    def log_odds(weights: Tensor) -> Tensor:
        return (rows - mean) / spread @ weights[:-1] + weights[-1]

    def loss(weights: Tensor) -> Tensor:
        pull = PULL_OF_SURE * weights[:-1].square().sum() / 2
        misses = functional.binary_cross_entropy_with_logits(log_odds(weights), right)
        return misses + pull / len(rows)

    fitted = least(loss, torch.zeros(len(SURE) + 1))
    sure, shown = fitted[:-1] / spread, log_odds(fitted).sigmoid().tolist()
    answered = [replace(asked, confidence=p) for (_, asked), p in zip(best, shown, strict=True)]
    return sure, fitted[-1] - sure @ mean, answered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--meaning", type=Path, metavar="FOLDER", required=True)
    meaning = parser.parse_args().meaning
    torch.set_default_dtype(torch.float64)
    all_asked = [*candidates(read_set(), meaning)]
    some = [each for each in all_asked if each.choices]
    refused = [each.asked for each in all_asked if not each.choices]
    sure, bias, answered = fit_sure(some)
    print("units:", rounded(CHOICE, fit_choice(some)))
    print("sure:", rounded(SURE, sure), "bias:", round(bias.item(), 2))
    print("threshold", *COLUMNS)
    for threshold in THRESHOLDS:
        unsure = [replace(one, quotations=()) for one in answered if one.confidence < threshold]
        shown = [one for one in answered if one.confidence >= threshold]
        figures = rates([*shown, *unsure, *refused])
        print(threshold, *(f"{figure:.3f}" for figure in figures))


def rounded(names: Sequence[str], weights: Tensor) -> dict[str, float]:
    """Return weights by name."""
    return {name: round(weight, 2) for name, weight in zip(names, weights.tolist(), strict=True)}


if __name__ == "__main__":
    main()
