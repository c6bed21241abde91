"""How well the score of a result tells whether it is right, and what is said where nothing is.

    python benchmarks/scores.py [FOLDER] [--mode MODE]

Asked are questions that have an answer and queries that have none, over the two help vaults and
over the samples with `questions/vaults`, by words and meaning with the built-in model or as MODE
says. Vectors are kept in FOLDER. Printed are, by set, for the lines to which nothing was fitted:
how often the right note is first and in ten, how often nothing is shown, and how often the right
one is then among the nearest that are named; and the calibration error of the score.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from answers import calibration_error
from kept_vectors import indexed
from quality import DATA
from rag.pipelines import create_search_pipeline, search
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
    """A query, and its results."""

    name: str
    kind: str
    relevant: set[str]
    paths: list[str]
    scores: list[float]
    borne: list[bool]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path(tempfile.gettempdir()))
    parser.add_argument("--mode", default=SearchMode.AUTO, choices=[*SearchMode])
    arguments = parser.parse_args()
    if not all(vault.is_dir() for vault in _HELP):
        print(f"skipped: the help vaults are not in {DATA.parent / 'vaults'}")
        return
    asked = [
        *_ask("help", _HELP, ("obsidian-help", "absent-needs"), arguments),
        *_ask("help-en", _HELP[:1], ("other-languages",), arguments),
        *_ask("own", _OWN, ("paraphrase-needs", "keyword-needs", "absent-needs"), arguments),
    ]
    _print(asked)


def _ask(
    name: str, vaults: Sequence[Path], sets: Sequence[str], arguments: argparse.Namespace
) -> Iterator[Asked]:
    known = arguments.folder / f"scores-{name}.sqlite3"
    with (
        indexed({vault.name: vault for vault in vaults}, known) as config,
        get_document_store(config) as store,
    ):
        pipeline = create_search_pipeline(store, config)
        for of_set in sets:
            text = (_QUESTIONS / f"{of_set}.jsonl").read_text("utf-8")
            for line in map(json.loads, text.splitlines()[1::2]):
                found = search(pipeline, line["query"], top_k=_DEPTH, mode=arguments.mode).results
                yield Asked(
                    of_set,
                    line.get("kind") or line["category"],
                    {*line.get("relevant", ()), *line.get("partial", ())},
                    [f"{one.vault}/{one.file_path}" for one in found],
                    [one.score for one in found],
                    [one.is_borne for one in found],
                )


def _print(asked: Sequence[Asked]) -> None:
    print(f"{'set':20}{'kind':13}{'queries':>8}{'first':>8}{'in ten':>8}{'silent':>8}{'named':>8}")
    for name, kind in sorted({(one.name, kind) for one in asked for kind in ("", one.kind)}):
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
        print(f"expected calibration error, {what}: {calibration_error(pairs):.3f} of {len(pairs)}")


def _named(asked: Sequence[Asked]) -> str:
    """Return how often a right note is named where there is one and nothing is shown."""
    silent = [one for one in asked if one.relevant and not any(one.borne)]
    named = [bool(one.relevant & {*one.paths[:_NAMED]}) for one in silent]
    return f"{np.mean(named):8.3f} of {len(named)}" if named else ""


if __name__ == "__main__":
    main()
