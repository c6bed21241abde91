"""How well the program finds notes, beside other lexical searches over the same notes.

    pip install bm25s sudachipy sudachidict_core
    python benchmarks/quality.py [--data ../shared/data/retrieval] [--without-peers]
    python benchmarks/quality.py --meaning FOLDER [--without-peers]

The first table asks for one paragraph among thousands: English notes, Japanese notes, and both
in one index. The second asks 120 judged questions of two help vaults in one index. Everything
is measured in the same run, one query at a time. The program goes through its index on disk
and its search pipeline and returns excerpts; the peers (baselines.py) stay in memory and return
paths. "index s" counts reading the notes too. A peer is asked only what it can read: the
program is not told the language of a question. Questions, judging and metrics are those of
`rag eval`.

With --meaning the program is measured three times: by words, by words and meaning, and by meaning
alone, with the built-in embedding model. It embeds all notes, which may take an hour; their vectors
are kept in FOLDER for the next run.
"""

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from baselines import Key, PeerMissing, peers
from kept_vectors import indexed
from rag.evaluation.run import (
    DEPTH,
    LATENCY,
    Judge,
    Outcome,
    Place,
    Question,
    gains,
    read_questions,
    score,
    summary,
)
from rag.pipelines import create_search_pipeline, search
from rag.stores import get_document_store
from rag.vault import Note, read_note, scan_folder

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "retrieval"
HELP = Path(__file__).parent / "questions" / "obsidian-help.jsonl"
HELP_VAULTS = ("obsidian-help-en", "obsidian-help-ja")
LANGUAGES = ("en", "ja")

Vaults = dict[str, Path]


@dataclass(frozen=True)
class System:
    """A search with its index built, or `problem`: why there is none."""

    name: str
    reads: tuple[str, ...]
    ask: Callable[[str], list[Key]]
    seconds: float = 0.0
    problem: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the help vaults: DATA/../vaults")
    parser.add_argument("--without-peers", action="store_true", help="measure the program alone")
    parser.add_argument("--meaning", type=Path, metavar="FOLDER", help="embed; keeps vectors there")
    arguments = parser.parse_args()
    data: Path = arguments.data.resolve()
    if not data.is_dir():
        print(f"skipped: there are no question sets at {data}")
        return
    vaults = {name: data.parent / "vaults" / name for name in HELP_VAULTS}
    meaning: Path | None = arguments.meaning
    _paragraphs(data, not arguments.without_peers, meaning)
    if all(vault.is_dir() for vault in vaults.values()):
        _help(vaults, not arguments.without_peers, meaning)
    else:
        print(f"\nskipped: {' and '.join(HELP_VAULTS)} are not both in {data.parent / 'vaults'}")


def _paragraphs(data: Path, with_peers: bool, meaning: Path | None) -> None:
    print(
        f"{'notes':8}{'asked':7}{'search':22}{'questions':>10}"
        f"{'R@1':>8}{'R@10':>8}{'nDCG@10':>9}{'p50 ms':>8}{'index s':>9}"
    )
    for languages in (*((language,) for language in LANGUAGES), LANGUAGES):
        questions = [q for language in languages for q in _read_paragraphs(data, language)]
        vaults = {language: data / language / "notes" for language in languages}
        judge = _judge(vaults)
        rows: dict[str, list[str]] = {language: [] for language in languages}
        for system in _systems(vaults, with_peers, meaning):
            for language, asked in _by_language(system, questions):
                rows[language].append(_paragraph_row(system, judge, asked))
        for language in languages:
            for row in rows[language]:
                print(f"{'+'.join(languages):8}{language:7}{row}", flush=True)


def _paragraph_row(system: System, judge: Judge, asked: list[Question]) -> str:
    if system.problem:
        return f"{system.name:22}{system.problem}"
    means = summary(_ask(system, judge, asked))
    # One paragraph is relevant to each question, so that R@1 is hit@1.
    return (
        f"{system.name:22}{len(asked):10}{means['hit_1']:8.3f}{means['recall_10']:8.3f}"
        f"{means['ndcg_10']:9.3f}{means[LATENCY]:8.2f}{system.seconds:9.1f}"
    )


def _help(vaults: Vaults, with_peers: bool, meaning: Path | None) -> None:
    print(
        f"\n{'asked':7}{'search':22}{'questions':>10}"
        f"{'nDCG@5':>9}{'MRR':>8}{'hit@1':>8}{'hit@3':>8}{'R@10':>8}"
    )
    questions = read_questions(HELP)
    judge = _judge(vaults)
    outcomes = {
        (language, system.name): _ask(system, judge, asked)
        for system in _systems(vaults, with_peers, meaning)
        if not system.problem  # the first table said it
        for language, asked in _by_language(system, questions)
    }
    for (language, name), some in sorted(outcomes.items()):
        print(f"{language:7}{name:22}{_help_row(some)}")


def _help_row(outcomes: list[Outcome]) -> str:
    means = summary(outcomes)
    return (
        f"{len(outcomes):10}{means['ndcg_5']:9.3f}{means['mrr']:8.3f}"
        f"{means['hit_1']:8.3f}{means['hit_3']:8.3f}{means['recall_10']:8.3f}"
    )


# -- questions ---------------------------------------------------------------------------


def _read_paragraphs(data: Path, language: str) -> list[Question]:
    """Read the questions of a language; its notes are a vault of that name."""
    return [
        replace(question, relevant=tuple(f"{language}/{path}" for path in question.relevant))
        for question in read_questions(data / language / "queries.jsonl")
    ]


def _language(question: Question) -> str:
    return question.id[:2]


def _judge(vaults: Vaults) -> Judge:
    return Judge(
        (name, file.path) for name, root in vaults.items() for file in scan_folder(str(root)).notes
    )


# -- searches ----------------------------------------------------------------------------


def _systems(vaults: Vaults, with_peers: bool, meaning: Path | None) -> Iterator[System]:
    """Yield the program, then its peers, each with an index of `vaults`."""
    started = time.perf_counter()
    notes = _read_notes(vaults)  # first of all, so that every search finds the files in memory
    reading = time.perf_counter() - started
    yield from _program(vaults, meaning)
    for peer in peers() if with_peers else []:
        started = time.perf_counter()
        try:
            peer.build(notes)
        except PeerMissing as error:
            yield System(peer.name, peer.reads, lambda query: [], problem=str(error))
            continue
        seconds = reading + time.perf_counter() - started
        yield System(peer.name, peer.reads, partial(peer.search, k=DEPTH), seconds)


def _program(vaults: Vaults, meaning: Path | None) -> Iterator[System]:
    known, started = meaning and meaning / f"{'+'.join(vaults)}.sqlite3", time.perf_counter()
    with indexed(vaults, known) as config, get_document_store(config) as store:
        seconds = time.perf_counter() - started
        pipeline = create_search_pipeline(store, config)

        def ask(mode: str, query: str) -> list[Key]:
            results = search(pipeline, query, top_k=DEPTH, mode=mode, keep_mode=True).results
            return [(result.vault, result.file_path) for result in results]

        yield System("rag", LANGUAGES, partial(ask, "lexical"), seconds)
        if meaning:
            yield System("rag, with meaning", LANGUAGES, partial(ask, "hybrid"), seconds)
            yield System("rag, meaning alone", LANGUAGES, partial(ask, "dense"), seconds)


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
        if asked := [q for q in questions if _language(q) == language]:
            yield language, asked


def _ask(system: System, judge: Judge, questions: Iterable[Question]) -> list[Outcome]:
    outcomes = []
    for question in questions:
        started = time.perf_counter()
        keys = system.ask(question.query)
        milliseconds = (time.perf_counter() - started) * 1000
        found = [Place(*key) for key in keys]
        judged = judge.judged(question)
        metrics = score(gains(found, judged), [one.gain for one in judged])
        outcomes.append(Outcome(question, list(map(str, found)), metrics, milliseconds))
    return outcomes


if __name__ == "__main__":
    main()
