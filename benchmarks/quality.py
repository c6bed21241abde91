"""How well the program finds notes, beside other lexical searches over the same notes.

    pip install bm25s sudachipy sudachidict_core
    python benchmarks/quality.py [--data ../shared/data/retrieval] [--without-peers]

The first table asks for one paragraph among thousands: English notes, Japanese notes, and both
in one index. The second asks 120 judged questions of two help vaults in one index. Everything
is measured in the same run, one query at a time. The program goes through its index on disk
and its search pipeline and returns excerpts; the peers (baselines.py) stay in memory and return
paths. "index s" counts reading the notes too. A peer is asked only what it can read: the
program is not told the language of a question.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from baselines import Key, PeerMissing, peers
from rag.config import load_config
from rag.pipelines import create_search_pipeline, search
from rag.pipelines.refresh import IndexRun
from rag.stores import get_document_store
from rag.vault import Note, read_note, scan_folder

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
HELP = Path(__file__).parent / "questions" / "obsidian-help.jsonl"
LANGUAGES = ("en", "ja")
TOP_K = 10
_RELEVANT, _PARTIAL = 2, 1

Vaults = dict[str, Path]


@dataclass(frozen=True)
class Question:
    """`gains` says what a note is worth as an answer; notes not named are worth nothing."""

    text: str
    language: str
    category: str
    gains: dict[Key, int]


@dataclass(frozen=True)
class System:
    """A search with its index built, or `problem`: why there is none."""

    name: str
    reads: tuple[str, ...]
    ask: Callable[[str], list[Key]]
    seconds: float = 0.0
    problem: str = ""


@dataclass(frozen=True)
class Outcome:
    """What one question brought: notes, best first."""

    question: Question
    found: list[Key]
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA / "retrieval")
    parser.add_argument("--without-peers", action="store_true", help="measure the program alone")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        sys.exit(f"skipped: there are no question sets at {arguments.data}")
    _paragraphs(arguments.data, not arguments.without_peers)
    if HELP.is_file() and (DATA / "vaults").is_dir():
        _help(not arguments.without_peers)
    else:
        print(f"\nskipped: the help vaults; they need {HELP.name} and {DATA / 'vaults'}")


def _paragraphs(data: Path, with_peers: bool) -> None:
    print(
        f"{'notes':8}{'asked':7}{'search':22}{'questions':>10}"
        f"{'R@1':>8}{'R@10':>8}{'nDCG@10':>9}{'p50 ms':>8}{'index s':>9}"
    )
    for languages in (*((language,) for language in LANGUAGES), LANGUAGES):
        questions = [q for language in languages for q in _read_paragraphs(data, language)]
        rows: dict[str, list[str]] = {language: [] for language in languages}
        for system in _systems({name: data / name / "notes" for name in languages}, with_peers):
            for language, asked in _by_language(system, questions):
                rows[language].append(_paragraph_row(system, asked))
        for language in languages:
            for row in rows[language]:
                print(f"{'+'.join(languages):8}{language:7}{row}", flush=True)


def _paragraph_row(system: System, asked: list[Question]) -> str:
    if system.problem:
        return f"{system.name:22}{system.problem}"
    outcomes = _ask(system, asked)
    p50 = sorted(outcome.seconds for outcome in outcomes)[len(outcomes) // 2] * 1000
    return (
        f"{system.name:22}{len(outcomes):10}{_recall(outcomes, 1):8.3f}{_recall(outcomes, 10):8.3f}"
        f"{_ndcg(outcomes, 10):9.3f}{p50:8.2f}{system.seconds:9.1f}"
    )


def _help(with_peers: bool) -> None:
    print(
        f"\n{'asked':7}{'category':13}{'search':22}{'questions':>10}"
        f"{'nDCG@5':>9}{'MRR':>8}{'hit@1':>8}{'hit@3':>8}{'R@10':>8}"
    )
    questions = list(_read_help())
    vaults = {name: DATA / "vaults" / name for q in questions for name, _ in q.gains}
    outcomes = {
        (language, system.name): _ask(system, asked)
        for system in _systems(vaults, with_peers)
        if not system.problem  # the first table said it
        for language, asked in _by_language(system, questions)
    }
    for language in LANGUAGES:
        for category in ("all", *sorted({q.category for q in questions})):
            for (asked_in, name), all_of_it in outcomes.items():
                some = [o for o in all_of_it if category in ("all", o.question.category)]
                if asked_in == language:
                    print(f"{language:7}{category:13}{name:22}{_help_row(some)}")


def _help_row(outcomes: list[Outcome]) -> str:
    return (
        f"{len(outcomes):10}{_ndcg(outcomes, 5):9.3f}{_reciprocal_rank(outcomes):8.3f}"
        f"{_hits(outcomes, 1):8.3f}{_hits(outcomes, 3):8.3f}{_recall(outcomes, 10):8.3f}"
    )


# -- questions ---------------------------------------------------------------------------


def _read_paragraphs(data: Path, language: str) -> Iterator[Question]:
    for line in (data / language / "queries.jsonl").read_text("utf-8").splitlines():
        fields = json.loads(line)
        paths = (unicodedata.normalize("NFC", path) for path in fields["relevant"])
        gains = {(language, path): _RELEVANT for path in paths}
        yield Question(fields["query"], language, "", gains)


def _read_help() -> Iterator[Question]:
    for line in HELP.read_text("utf-8").splitlines():
        fields = json.loads(line)
        gains = {_key(name): _PARTIAL for name in fields.get("partial", [])}
        gains |= {_key(name): _RELEVANT for name in fields["relevant"]}
        language = fields["id"].partition("-")[0]
        yield Question(fields["query"], language, fields["category"], gains)


def _key(name: str) -> Key:
    vault, _, path = unicodedata.normalize("NFC", name).partition("/")
    return vault, path


# -- searches ----------------------------------------------------------------------------


def _systems(vaults: Vaults, with_peers: bool) -> Iterator[System]:
    """Yield the program, then its peers, each with an index of `vaults`."""
    started = time.perf_counter()
    notes = _read_notes(vaults)  # first of all, so that every search finds the files in memory
    reading = time.perf_counter() - started
    yield from _program(vaults)
    for peer in peers() if with_peers else []:
        started = time.perf_counter()
        try:
            peer.build(notes)
        except PeerMissing as error:
            yield System(peer.name, peer.reads, lambda query: [], problem=str(error))
            continue
        seconds = reading + time.perf_counter() - started
        yield System(peer.name, peer.reads, partial(peer.search, k=TOP_K), seconds)


def _program(vaults: Vaults) -> Iterator[System]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RAG_DATA_DIR"] = folder
        config = load_config()
        started = time.perf_counter()
        with IndexRun(config) as run:
            for name, root in vaults.items():
                run.index_vault(name, root)
            run.publish()
        seconds = time.perf_counter() - started
        with get_document_store(config) as store:
            pipeline = create_search_pipeline(store)

            def ask(query: str) -> list[Key]:
                results = search(pipeline, query, top_k=TOP_K).results
                return [(result.vault, result.file_path) for result in results]

            yield System("rag", LANGUAGES, ask, seconds)


def _read_notes(vaults: Vaults) -> list[Note]:
    return [
        read_note((root / file.file).read_bytes(), name, file.path, 0)
        for name, root in vaults.items()
        for file in scan_folder(str(root)).notes
    ]


def _by_language(
    system: System, questions: Sequence[Question]
) -> Iterator[tuple[str, list[Question]]]:
    """Yield the languages of `questions` that the system reads, and what is asked in each."""
    for language in system.reads:
        if asked := [q for q in questions if q.language == language]:
            yield language, asked


def _ask(system: System, questions: Iterable[Question]) -> list[Outcome]:
    outcomes = []
    for question in questions:
        started = time.perf_counter()
        found = system.ask(question.text)
        outcomes.append(Outcome(question, found, time.perf_counter() - started))
    return outcomes


# -- measures: means over the questions ----------------------------------------------------


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)


def _first(outcome: Outcome) -> float:
    """Return the rank of the first relevant note, infinite when there is none."""
    gains = outcome.question.gains
    ranks = (n for n, key in enumerate(outcome.found, 1) if gains.get(key) == _RELEVANT)
    return next(ranks, math.inf)


def _hits(outcomes: list[Outcome], k: int) -> float:
    return _mean(_first(outcome) <= k for outcome in outcomes)


def _reciprocal_rank(outcomes: list[Outcome]) -> float:
    return _mean(1 / _first(outcome) for outcome in outcomes)


def _recall(outcomes: list[Outcome], k: int) -> float:
    """Return the share of a question's relevant notes among the first `k`."""

    def share(outcome: Outcome) -> float:
        wanted = {key for key, gain in outcome.question.gains.items() if gain == _RELEVANT}
        return len(wanted.intersection(outcome.found[:k])) / len(wanted)

    return _mean(map(share, outcomes))


def _ndcg(outcomes: list[Outcome], k: int) -> float:
    """Return nDCG with linear gains: a partial answer is worth half a relevant one."""

    def gain(values: Iterable[int]) -> float:
        return sum(value / math.log2(rank + 1) for rank, value in enumerate(values, 1))

    def share(outcome: Outcome) -> float:
        gains = outcome.question.gains
        best = sorted(gains.values(), reverse=True)[:k]
        return gain(gains.get(key, 0) for key in outcome.found[:k]) / gain(best)

    return _mean(map(share, outcomes))


if __name__ == "__main__":
    main()
