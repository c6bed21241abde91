"""How well the score of a result tells whether it is right, and what is said where nothing is.

    python benchmarks/scores.py [FOLDER] [--mode MODE] [--fit]

Asked are questions that have an answer and queries that have none, over the two help vaults and
over the samples with `questions/vaults`, by words and meaning with the built-in model or as MODE
says. Vectors are
kept in FOLDER. Printed are, for the lines that nothing was fitted to (those with odd numbers), by
set: how often the right note is first and in ten, how often nothing is shown, and how often the
right one is then among the nearest that are named; the expected calibration error of the score;
and, with --fit, the weights that logistic regression gives for the other lines.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from kept_vectors import embed
from quality import DATA
from rag.config import ChatConfig, EmbeddingConfig, RAGConfig
from rag.indexing.run import IndexRun
from rag.pipelines import create_search_pipeline, search
from rag.search.relevance import Evidence, weigh
from rag.search.results import SearchMode
from rag.stores import get_document_store

_HERE = Path(__file__).parent
_QUESTIONS, _SAMPLES = _HERE / "questions", _HERE.parent / "vaults"
_HELP = [DATA.parent / "vaults" / name for name in ("obsidian-help-en", "obsidian-help-ja")]
_OWN = [
    *(_SAMPLES / name for name in ("engineering", "エンジニア")),
    *(_QUESTIONS / "vaults" / name for name in ("wharf-notes", "kissa-notes")),
]
_DEPTH = 10
_NAMED = 3  # notes; as `rag.app.search` does


class Asked(NamedTuple):
    """A query, its results, and for each what speaks for it."""

    name: str
    kind: str
    is_fitted: bool
    relevant: set[str]
    paths: list[str]
    scores: list[float]
    borne: list[bool]
    evidence: list[Evidence]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path(tempfile.gettempdir()))
    parser.add_argument("--mode", default=SearchMode.AUTO, choices=[*SearchMode])
    parser.add_argument("--fit", action="store_true")
    arguments = parser.parse_args()
    if not all(vault.is_dir() for vault in _HELP):
        print(f"skipped: the help vaults are not in {DATA.parent / 'vaults'}")
        return
    help_sets = ("obsidian-help", "absent-needs")
    own_sets = ("paraphrase-needs", "keyword-needs", "absent-needs")
    asked = [
        *_ask("help", _HELP, help_sets, arguments),
        *_ask("help-en", _HELP[:1], ("other-languages",), arguments),
        *_ask("own", _OWN, own_sets, arguments),
    ]
    _print([one for one in asked if not one.is_fitted])
    if arguments.fit:
        _fit([one for one in asked if one.is_fitted])


def _ask(
    name: str, vaults: Sequence[Path], sets: Sequence[str], arguments: argparse.Namespace
) -> Iterator[Asked]:
    with (
        _index(name, vaults, arguments.folder) as config,
        get_document_store(config) as store,
        _watched() as (seen),
    ):
        pipeline = create_search_pipeline(store, config)
        for of_set in sets:
            text = (_QUESTIONS / f"{of_set}.jsonl").read_text("utf-8")
            for number, line in enumerate(map(json.loads, text.splitlines())):
                seen.clear()
                found = search(pipeline, line["query"], top_k=_DEPTH, mode=arguments.mode).results
                yield Asked(
                    of_set,
                    line.get("kind") or line["category"],
                    number % 2 == 0,
                    {*line.get("relevant", ()), *line.get("partial", ())},
                    [f"{one.vault}/{one.file_path}" for one in found],
                    [one.score for one in found],
                    [one.is_borne for one in found],
                    seen[-1] if seen else [],
                )


@contextmanager
def _index(name: str, vaults: Sequence[Path], folder: Path) -> Iterator[RAGConfig]:
    with tempfile.TemporaryDirectory() as data:
        config = RAGConfig(
            data_dir=Path(data), embedding=EmbeddingConfig("builtin"), chat=ChatConfig("none")
        )
        with IndexRun(config) as run:
            for vault in vaults:
                run.index_vault(vault.name, vault)
            run.publish()
        embed(config, folder / f"scores-{name}.sqlite3")
        yield config


@contextmanager
def _watched() -> Iterator[list[list[Evidence]]]:
    """Give what each search weighs, in the order of its results."""
    seen: list[list[Evidence]] = []

    def watched(*arguments: Any) -> list[Evidence]:
        seen.append(weigh(*arguments))
        return seen[-1]

    with patch("rag.search.run.weigh", watched):
        yield seen


def _print(asked: Sequence[Asked]) -> None:
    print(f"{'set':20}{'kind':13}{'queries':>8}{'first':>8}{'in ten':>8}{'silent':>8}{'named':>8}")
    for name, kind in sorted(
        {(one.name, one.kind) for one in asked} | {(o.name, "") for o in asked}
    ):
        some = [one for one in asked if one.name == name and kind in ("", one.kind)]
        first = np.mean([bool(one.relevant & {*one.paths[:1]}) for one in some])
        ten = np.mean([bool(one.relevant & {*one.paths}) for one in some])
        silent = np.mean([not any(one.borne) for one in some])
        shares = f"{first:8.3f}{ten:8.3f}{silent:8.3f}{_named(some)}"
        print(f"{name:20}{kind or 'all':13}{len(some):8}{shares}")
    print(f"named where silent, over all: {_named(asked)}")
    for what, depth in (("first results", 1), ("all results", _DEPTH)):
        pairs = [
            (score, path in one.relevant)
            for one in asked
            for path, score in [*zip(one.paths, one.scores, strict=True)][:depth]
        ]
        print(f"expected calibration error, {what}: {_calibration(pairs):.3f} of {len(pairs)}")


def _named(asked: Sequence[Asked]) -> str:
    """Return how often a right note is named where there is one and nothing is shown."""
    silent = [one for one in asked if one.relevant and not any(one.borne)]
    named = [bool(one.relevant & {*one.paths[:_NAMED]}) for one in silent]
    return f"{np.mean(named):8.3f} of {len(named)}" if named else ""


def _calibration(pairs: Sequence[tuple[float, bool]]) -> float:
    scores, right = (np.array(column, float) for column in zip(*pairs, strict=True))
    tenths = np.minimum((10 * scores).astype(int), 9)
    return float(
        sum(
            (tenths == at).mean() * abs(scores[tenths == at].mean() - right[tenths == at].mean())
            for at in {*tenths.tolist()}
        )
    )


def _fit(asked: Sequence[Asked]) -> None:
    rows, right = [], []
    for one in asked:
        for path, e in zip(one.paths, one.evidence, strict=True):
            words = 0.0 if e.words is None else np.log(e.words + 0.05)
            margin = max(-1.5, min(1.5, e.margin))
            rows.append([1.0, words, 20 * (e.excess or 0.0), margin, e.is_named])
            right.append(path in one.relevant)
    given, wanted = np.array(rows, float), np.array(right, float)
    weights = np.zeros(given.shape[1])
    for _ in range(50):  # Newton's method
        odds = 1 / (1 + np.exp(-given @ weights))
        slope = given.T @ (odds - wanted) + 0.01 * weights
        curve = (given * (odds * (1 - odds))[:, None]).T @ given + 0.01 * np.eye(len(weights))
        weights -= np.linalg.solve(curve, slope)
    constant, words, excess, margin, named = weights
    print(f"constant {constant:.2f} words {words:.2f} excess {20 * excess:.1f}", end=" ")
    print(f"margin {margin:.2f} named {named:.2f}")


if __name__ == "__main__":
    main()
