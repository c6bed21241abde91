"""How often the note that was looked for comes first, and nothing where there is nothing.

    python benchmarks/right_first.py [FOLDER...]

FOLDER are help vaults, obsidian-help-en and so on; without any, those in ../shared/data/vaults.
benchmarks/questions/README.md says where all seven come from. Each is indexed with odd-notes, by
words alone, and asked the queries of its language, as `rag search` asks them:

- expert-queries.jsonl: the first note is one that was judged relevant;
- single-words.jsonl: the first note is the only one that holds the word;
- absent.jsonl: nothing is found.

Every miss is listed with what came first instead.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kept_vectors import indexed
from rag.app.requests import SearchRequest
from rag.app.search import search
from rag.app.workspace import Workspace

QUESTIONS = Path(__file__).parent / "questions"
ODD_NOTES = QUESTIONS / "vaults" / "odd-notes"
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "vaults"
LANGUAGES = ("en", "ja", "de", "fr", "zh", "ko", "ru")
AIMS = {"expert-queries": 0.88, "single-words": 0.97, "absent": 0.9}  # shares that are right
DEPTH = 10


@dataclass(frozen=True)
class Query:
    """A line of a set; `relevant`: the notes one of which is right, none where nothing is."""

    id: str
    query: str
    language: str
    category: str = ""
    relevant: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    hard: bool = False


@dataclass(frozen=True)
class Answer:
    """What came of a query: the notes that were found, best first, as vault/path."""

    set: str
    query: Query
    found: tuple[str, ...]

    @property
    def right(self) -> bool:
        if not self.query.relevant:
            return not self.found
        return bool(self.found) and self.found[0] in self.query.relevant

    @property
    def rank(self) -> int:
        """Where the first relevant note stands, 0 for not among those found."""
        ranks = (n for n, note in enumerate(self.found, 1) if note in self.query.relevant)
        return next(ranks, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="help vaults")
    arguments = parser.parse_args()
    folders = arguments.folders or [SHARED / f"obsidian-help-{name}" for name in LANGUAGES]
    vaults = {folder.name[-2:]: folder.resolve() for folder in folders if folder.is_dir()}
    answers: list[Answer] = []
    for language in LANGUAGES:
        if language in vaults:
            answers += ask(language, [vaults[language], ODD_NOTES])
        else:
            print(f"skipped: obsidian-help-{language} is not there")
    if answers:
        _print_shares(answers)
        _print_misses(answers)


def read_set(name: str) -> list[Query]:
    """Read one of the sets."""
    lines = (QUESTIONS / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [
        Query(
            **line
            | {
                "relevant": tuple(line.get("relevant", ())),
                "partial": tuple(line.get("partial", ())),
            }
        )
        for line in map(json.loads, lines)
    ]


def ask(language: str, vaults: Sequence[Path]) -> Iterator[Answer]:
    """Index vaults together, and ask them the queries of a language."""
    with indexed({vault.name: vault for vault in vaults}) as config, Workspace(config) as workspace:
        for name in AIMS:
            for query in read_set(name):
                if query.language == language:
                    yield Answer(name, query, _search(workspace, query.query))


def _search(workspace: Workspace, query: str) -> tuple[str, ...]:
    results = search(workspace, SearchRequest(query, top_k=DEPTH)).results
    return tuple(f"{result.vault}/{result.file_path}" for result in results)


def _print_shares(answers: Sequence[Answer]) -> None:
    print(f"\n{'':16}" + "".join(f"{name:>18}" for name in AIMS))
    for language in LANGUAGES:
        _print_row(language, [one for one in answers if one.query.language == language])
    _print_row("all", answers)
    print(f"{'aim':16}" + "".join(f"{aim:>18.2f}" for aim in AIMS.values()))
    asked = [one for one in answers if one.set == "expert-queries"]
    print(f"{'in the first 3':16}{sum(1 <= one.rank <= 3 for one in asked)}/{len(asked)}")


def _print_row(name: str, answers: Sequence[Answer]) -> None:
    cells = []
    for set_name in AIMS:
        some = [one.right for one in answers if one.set == set_name]
        cells.append(f"{sum(some)}/{len(some)} {sum(some) / len(some):.2f}" if some else "–")
    if any(cell != "–" for cell in cells):
        print(f"{name:16}" + "".join(f"{cell:>18}" for cell in cells))


def _print_misses(answers: Sequence[Answer]) -> None:
    for answer in answers:
        if not answer.right:
            first = answer.found[0] if answer.found else "nothing"
            print(f"  {answer.query.id}: {answer.query.query}\n      first: {first}")


if __name__ == "__main__":
    main()
