"""What evidence counts for where `rag ask` answers without a model, fitted to questions.

    python benchmarks/answer_evidence.py [--meaning FOLDER]

Prints the coefficients of `rag.answers.quotation.selection`: of WITH_MEANING with --meaning,
else of WORDS_ALONE. Looked at are the half `tune` of questions/answers.jsonl, and of the shared
questions on paragraphs those that benchmarks/quotation.py does not report. All units of the notes
that a search finds are gathered with their evidence. Then two models are fitted:

- a conditional logit over the units of each answerable question, in which a right unit is to be
  chosen of all, with an L2 penalty of .02 on standardised evidence; the questions of
  answers.jsonl count as much together as those on paragraphs;
- a logistic regression over the best unit of every question, whether it is right: the
  confidence, with an L2 penalty of .02. Questions that nothing answers are those of answers.jsonl,
  and those on paragraphs, once asked of the notes without the passage that answers and once of a
  vault on another subject. What each kind counts for is in SHARES.

The threshold is where the greater of two shares is least: of the unanswerable questions of
answers.jsonl that are answered, and of the answerable ones that are not.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from answer_set import VAULTS, Question, folder_of, read_set
from answers import Quotation, is_right
from kept_vectors import indexed
from paragraph_questions import DATA, LANGUAGES, Line, fitted, help_of, notes_of
from rag.answers.quotation.evidence import Evidence, evidence
from rag.answers.quotation.question import Question as Asked
from rag.answers.quotation.selection import JUDGED
from rag.answers.quotation.units import QuotableUnit
from rag.app.workspace import Workspace
from rag.qa.extractive_answerer import FoundPassage, found_passages, line_in_file
from rag.qa.pipeline import create_qa_pipeline
from rag.search.planning import ANALYZER
from rag.search.relaxation import attempts
from rag.search.run import analysed
from rag.search.understanding.query_understanding import understand

PENALTY = 0.02
STEPS = 1000
# What the kinds of questions count for, when the confidence is fitted.
SHARES = {"answered": 2.0, "unanswered": 1.0, "paragraph": 1.0, "left out": 0.25, "other": 0.25}
# Of a question all units have about the same, or meaning alone has it.
ALIKE = {"absent", "absent_names"}
OF_MEANING = {"near", "passage_near"}

Array = Any
Judge = Callable[[FoundPassage, QuotableUnit], bool]
Search = Callable[[str], tuple[Asked, list[FoundPassage]]]


class Gathered(NamedTuple):
    """A question's units: the evidence for each, whether it is right, and its passage."""

    evidence: Array
    right: Array
    passage: Array


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--meaning", type=Path, metavar="FOLDER", help="embed; keeps vectors there")
    folder = parser.parse_args().meaning
    kinds = gather(folder)
    left_out = ALIKE if folder else ALIKE | OF_MEANING
    fields = [name for name in Evidence._fields if name not in left_out]
    weights = chosen_of_all([_groups(kinds[name], fields) for name in ("answered", "paragraph")])
    print("units:", {name: round(float(w), 2) for name, w in zip(fields, weights, strict=True)})
    judged = [name for name in JUDGED if folder or name not in OF_MEANING]
    best = {kind: _best(found, fields, weights, judged) for kind, found in kinds.items()}
    bias, slopes = logistic(best)
    names = ("score", *judged)
    print("sure:", {name: round(float(s), 2) for name, s in zip(names, slopes, strict=True)})
    print(f"bias: {bias:.2f}")
    sure = {kind: _sure(inputs, bias, slopes) for kind, (inputs, _) in best.items()}
    print(f"threshold: {threshold(sure['answered'], sure['unanswered']):.2f}")
    for kind, (_, right) in best.items():
        print(f"{kind}: {len(right)} questions, right first {right.mean():.3f}")


def gather(meaning: Path | None) -> dict[str, list[Gathered]]:
    """Return what is found for the questions, by what they count as."""
    kinds: dict[str, list[Gathered]] = {kind: [] for kind in SHARES}
    own = [one for one in read_set() if one.half == "tune"]
    for vault in (vault for vault in VAULTS if folder_of(vault).is_dir()):
        with searching(vault, folder_of(vault), meaning) as search:
            for question in (one for one in own if one.vault == vault):
                found = _units(*search(question.query), _answers(question))
                kinds["answered" if question.answers else "unanswered"].append(found)
    for language in LANGUAGES if DATA.is_dir() else ():
        lines = fitted(language)
        with searching(f"para-{language}", notes_of(language), meaning) as search:
            for line in lines:
                asked, passages = search(line["query"])
                kinds["paragraph"].append(_units(asked, passages, _holds(line)))
                others = [one for one in passages if line["answer"] not in one.passage.content]
                kinds["left out"].append(_units(asked, others, _never))
        other = help_of(language)
        with searching(other.name, other, meaning) as search:
            kinds["other"] += [_units(*search(line["query"]), _never) for line in lines]
    return {kind: [one for one in found if len(one.right)] for kind, found in kinds.items()}


@contextmanager
def searching(name: str, folder: Path, meaning: Path | None) -> Iterator[Search]:
    """Index a vault, and give what finds the passages for a question in it."""
    with indexed(name, folder, meaning) as config, Workspace(config) as workspace:
        store = workspace.store
        pipeline = create_qa_pipeline(store, config)
        with store.pinned():
            yield lambda query: _passages(pipeline, store, query, config.ask.top_k)


def _passages(
    pipeline: Any, store: Any, query: str, top_k: int
) -> tuple[Asked, list[FoundPassage]]:
    for attempt in attempts(query, None, "auto", False, None):
        understood = understand(store, attempt.query, attempt.filters, attempt.lists)
        analysis = analysed(understood, attempt, top_k) | {"question": understood.text}
        inputs = {ANALYZER: analysis | {"lists": attempt.lists, "relaxed": attempt.relaxed}}
        outputs = pipeline.run(inputs, include_outputs_from={"loader", "forms", "query_embedder"})
        if outputs["loader"]["documents"]:
            break
    loaded, candidates = outputs["loader"], outputs["forms"]["candidates"]
    embedding = outputs["query_embedder"]["embedding"]
    found = found_passages(store, loaded["documents"], loaded["hits"], candidates, embedding)
    return Asked(understood.meant, store.counts.rarity), found


def _units(asked: Asked, passages: Sequence[FoundPassage], is_answer: Judge) -> Gathered:
    found = [
        (one_evidence, is_answer(passage, unit), at)
        for at, passage in enumerate(passages)
        for unit, one_evidence in evidence(asked, passage.passage)
    ]
    columns = [np.array(column) for column in zip(*found, strict=True)] or [np.empty(0)] * 3
    return Gathered(*columns)


def _answers(question: Question) -> Judge:
    def is_answer(found: FoundPassage, unit: QuotableUnit) -> bool:
        meta = found.document.meta
        line = line_in_file(found.document, unit.first)
        path = f"{meta['vault']}/{meta['file_path']}"
        return is_right(question, Quotation(path, line, unit.text))

    return is_answer


def _holds(line: Line) -> Judge:
    def is_answer(found: FoundPassage, unit: QuotableUnit) -> bool:
        return found.document.meta["file_path"] in line["relevant"] and line["answer"] in unit.text

    return is_answer


def _never(found: FoundPassage, unit: QuotableUnit) -> bool:
    return False


def _columns(fields: Sequence[str]) -> list[int]:
    return [Evidence._fields.index(name) for name in fields]


def _groups(found: Sequence[Gathered], fields: Sequence[str]) -> list[tuple[Array, Array]]:
    columns = _columns(fields)
    return [(one.evidence[:, columns], one.right) for one in found if one.right.any()]


def chosen_of_all(sets: Sequence[Sequence[tuple[Array, Array]]]) -> Array:
    """Return what evidence counts for, so that right units are chosen of all of their group.

    :param sets: groups of units; those of a set count as much together as those of another.
    """
    sets = [groups for groups in sets if groups]
    spread = np.concatenate([evidence for groups in sets for evidence, _ in groups]).std(0) + 1e-9
    weights = np.zeros(len(spread))
    mean = square = np.zeros(len(spread))
    for step in range(1, STEPS + 1):
        gradient = PENALTY * weights
        for groups in sets:
            for units, right in groups:
                scaled = units / spread
                chances = np.exp((scores := scaled @ weights) - scores.max())
                chances /= chances.sum()
                among_right = chances * right / (chances * right).sum()
                share = len(groups) * len(sets)
                gradient = gradient + (chances - among_right) @ scaled / share
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        rate = 0.05 * min(1.0, 2 * (1 - step / STEPS))
        weights = weights - rate * (mean / (1 - 0.9**step)) / (
            np.sqrt(square / (1 - 0.999**step)) + 1e-8
        )
    return weights / spread


def _best(
    found: Sequence[Gathered], fields: Sequence[str], weights: Array, judged: Sequence[str]
) -> tuple[Array, Array]:
    """Return, of the best unit of each question, what it is judged by, and whether it is right."""
    columns, own = _columns(fields), _columns(judged)
    rows, right = [], []
    for one in found:
        scores = one.evidence[:, columns] @ weights
        at = int(np.argmax(scores))
        rows.append([scores[at], *one.evidence[at, own]])
        right.append(one.right[at])
    return np.array(rows).reshape(len(rows), 1 + len(own)), np.array(right, float)


def logistic(kinds: dict[str, tuple[Array, Array]]) -> tuple[float, Array]:
    """Return bias and slopes of a logistic regression, in which each kind has its share."""
    kinds = {kind: pair for kind, pair in kinds.items() if len(pair[1])}
    inputs = np.concatenate([rows for rows, _ in kinds.values()])
    right = np.concatenate([labels for _, labels in kinds.values()])
    shares = [np.full(len(r), SHARES[kind] / len(r)) for kind, (_, r) in kinds.items()]
    share = np.concatenate(shares) / sum(SHARES[kind] for kind in kinds)
    mean, spread = inputs.mean(0), inputs.std(0) + 1e-9
    scaled = np.c_[np.ones(len(inputs)), (inputs - mean) / spread]
    penalty = np.diag([1e-6, *[PENALTY] * inputs.shape[1]])
    found = np.zeros(scaled.shape[1])
    for _ in range(50):
        sure = 1 / (1 + np.exp(-scaled @ found))
        curve = scaled.T @ (scaled * (share * sure * (1 - sure))[:, None]) + penalty
        gradient = scaled.T @ (share * (sure - right)) + penalty @ found
        found = found - np.linalg.solve(curve, gradient)
    slopes = found[1:] / spread
    return float(found[0] - slopes @ mean), slopes


def _sure(inputs: Array, bias: float, slopes: Array) -> Array:
    return 1 / (1 + np.exp(-bias - inputs @ slopes))


def threshold(answered: Array, unanswered: Array) -> float:
    """Return how sure an answer must be, to keep both kinds of error low.

    :param answered: how sure the answers to answerable questions are, `unanswered` to others.
    """

    def worse(least: float) -> float:
        return float(max((unanswered >= least).mean(), (answered < least).mean()))

    return float(min(np.arange(0.05, 0.95, 0.01), key=worse))


if __name__ == "__main__":
    main()
