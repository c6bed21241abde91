"""How much meaning counts beside words: fits `RankingWeights.meaning`, λ.

    rag index NOTES…
    python benchmarks/fusion.py QUESTIONS… [--seed 7]

The index is that of the settings in force, and has to have embeddings. Each question is searched
for by words and meaning; of each note that is found its best chunk is a candidate. Which of them is
right is fitted by softmax over the candidates of each question,

    log-odds = β · words / full + γ · nearness

in the terms of `rag.search.score_fusion`, so that λ = γ / β. It is fitted on four fifths of the
questions and measured on the rest, in turn; the questions about notes of one folder (an article,
in sets of paragraphs) are never parted. Then it is fitted on each file and measured on the others:
what holds across languages needs no setting. The last table says how near chunks are on average
that score so much by words. What a chunk without an embedding is taken to have
(`RankingWeights.expected`) lies above that: see docs/ranking.md.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path, PurePosixPath
from statistics import fmean
from typing import NamedTuple

import numpy as np

from rag.config import load_config
from rag.evaluation.questions import Question, read_questions
from rag.evaluation.run import Judge, Place
from rag.pipelines import create_search_pipeline
from rag.search.planning import ANALYZER
from rag.search.query_variants import WEIGHTS
from rag.stores import get_document_store
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.scored_chunk import Candidate

FOLDS = 5
_STEPS = 30  # of Newton's method; some ten are needed
_RIDGE = 1e-3
_BINS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 9.0)  # of words / full


class Asked(NamedTuple):
    """A question's candidates: `features` of shape (candidates, 2), words / full and nearness;
    which are `right`; and the folder of the first right note."""

    features: np.ndarray
    right: np.ndarray
    folder: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("questions", type=Path, nargs="+")
    parser.add_argument("--seed", type=int, default=7, help="of the folds")
    arguments = parser.parse_args()
    sets = {path: _ask(read_questions(path)) for path in arguments.questions}
    every = [asked for some in sets.values() for asked in some]
    print(f"{'fitted on':28}{'measured on':28}{'λ':>8}{'R@1':>8}{'words':>8}")
    for path, some in sets.items():
        _print_folds(str(path), some, arguments.seed)
        others = [asked for other, its in sets.items() if other != path for asked in its]
        if others:
            _print("all others", str(path), _fit(others), some)
    _print_folds("all", every, arguments.seed)
    print(f"in use: λ {WEIGHTS.meaning}\n")
    _print_expected(every)


# -- the candidates ------------------------------------------------------------------------


def _ask(questions: Sequence[Question]) -> list[Asked]:
    config = load_config()
    with get_document_store(config) as store, store.pinned():
        places = _places(store)
        judge = Judge(places.values())
        with closing(create_search_pipeline(store, config)) as pipeline:
            found = []
            for question in questions:
                inputs = {"text": question.query, "mode": "hybrid", "keep_mode": True}
                outputs = pipeline.run({ANALYZER: inputs}, include_outputs_from={ANALYZER, "forms"})
                candidates = outputs["forms"]["candidates"]
                relevant = judge.judged(question)[0].places
                right = {note for note, place in places.items() if place in relevant}
                found.append(_asked(candidates, outputs[ANALYZER]["full"], right, question))
    return [asked for asked in found if asked.right.any()]


def _places(store: BaseDocumentStore) -> dict[str, Place]:
    manifest = store.manifest()
    assert manifest
    return {note: Place(vault, path) for vault, path, _, _, note in manifest.names()}


def _asked(
    candidates: Sequence[Candidate], full: float, right: set[str], question: Question
) -> Asked:
    best: dict[str, Candidate] = {}
    for candidate in sorted(candidates, key=lambda c: c.score):
        best[candidate.note] = candidate
    features = [
        ((c.score - c.meaning) / full, c.meaning / (WEIGHTS.meaning * full)) for c in best.values()
    ]
    folder = str(PurePosixPath(question.relevant[0]).parent)
    return Asked(
        np.array(features).reshape(-1, 2), np.array([note in right for note in best]), folder
    )


# -- fitting and measuring ----------------------------------------------------------------


def _fit(asked: Sequence[Asked]) -> float:
    """Return λ."""
    weights = np.ones(2)
    for _ in range(_STEPS):
        gradient, hessian = -_RIDGE * weights, -_RIDGE * np.eye(2)
        for one in asked:
            every = _softmax(one.features @ weights)
            right = np.where(one.right, every, 0.0)
            mean = every @ one.features
            gradient += right / right.sum() @ one.features - mean
            hessian -= (one.features.T * every) @ one.features - np.outer(mean, mean)
        weights = weights - np.linalg.solve(hessian, gradient)
    return float(weights[1] / weights[0])


def _softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum())


def _first(asked: Sequence[Asked], share: float) -> list[bool]:
    """Tell of which questions the right note comes first."""
    return [bool(a.right[np.argmax(a.features @ np.array([1.0, share]))]) for a in asked]


def _folds(asked: Sequence[Asked], seed: int) -> Iterator[tuple[list[Asked], list[Asked]]]:
    """Yield what to fit on and what to measure on; no folder is in both."""
    folders = sorted({one.folder for one in asked})
    random.Random(seed).shuffle(folders)
    for fold in range(FOLDS):
        held = set(folders[fold::FOLDS])
        yield [a for a in asked if a.folder not in held], [a for a in asked if a.folder in held]


def _print_folds(name: str, asked: Sequence[Asked], seed: int) -> None:
    shares, first, words = [], [], []
    for fitted, held in _folds(asked, seed):
        share = _fit(fitted)
        shares.append(share)
        first += _first(held, share)
        words += _first(held, 0.0)
    spread = f"{min(shares):.2f}-{max(shares):.2f}"
    print(f"{'four fifths':28}{name[-27:]:28}{spread:>9}{fmean(first):7.3f}{fmean(words):8.3f}")


def _print(fitted: str, measured: str, share: float, asked: Sequence[Asked]) -> None:
    first, words = fmean(_first(asked, share)), fmean(_first(asked, 0.0))
    print(f"{fitted:28}{measured[-27:]:28}{share:9.2f}{first:7.3f}{words:8.3f}")


def _print_expected(asked: Sequence[Asked]) -> None:
    features = np.concatenate([one.features for one in asked])
    words, near = features.T
    print(f"{'words / full':>14}{'nearness':>13}{'chunks':>9}")
    for low, high in pairwise(_BINS):
        some = (words > low) & (words <= high)
        if some.any():
            print(f"{words[some].mean():14.2f}{near[some].mean():13.2f}{some.sum():9}")
    some = words > 0
    rise, least = np.polyfit(words[some], near[some], 1)
    print(f"a line through them: {least:.2f} + {rise:.2f} · words / full")


if __name__ == "__main__":
    main()
