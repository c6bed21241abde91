"""How well `rag ask` answers without a model, on the shared question sets.

    python benchmarks/quotation.py [--questions 200] [--meaning FOLDER]

Answerable: questions asked of the notes they were written for; the quotations should hold the
known answer. Unanswerable: the same questions asked of a help vault on another subject; the
right answer is "not found in your notes". With --meaning by words and the built-in embedding
model, whose vectors are kept in FOLDER; else by words alone.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kept_vectors import indexed
from paragraph_questions import DATA, LANGUAGES, REPORTED, Line, help_of, notes_of, reported
from rag.app.ask import ask
from rag.app.requests import AskRequest
from rag.app.workspace import Workspace
from rag.qa.answer import Answer

AIMS = {"en": (0.80, 0.08), "ja": (0.78, 0.05)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", type=int, default=REPORTED)
    parser.add_argument("--meaning", type=Path, metavar="FOLDER", help="embed; keeps vectors there")
    arguments = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"skipped: there are no question sets at {DATA}")
    print(f"{'':4}{'answered':>10}{'in quotes':>11}{'in first':>10}{'aim':>6}", end="")
    print(f"{'wrongly answered':>18}{'aim':>6}")
    for language in LANGUAGES:
        asked = reported(language, arguments.questions)
        right = _answers(notes_of(language), f"para-{language}", asked, arguments.meaning)
        other = help_of(language)
        wrong = _answers(other, other.name, asked, arguments.meaning)
        _print(language, asked, right, wrong)


def _print(language: str, asked: list[Line], right: list[Answer], wrong: list[Answer]) -> None:
    pairs = list(zip(asked, right, strict=True))
    rates = (
        sum(answer.found for answer in right),
        sum(any(line["answer"] in q.text for q in answer.quotes) for line, answer in pairs),
        sum(answer.found and line["answer"] in answer.quotes[0].text for line, answer in pairs),
        sum(answer.found for answer in wrong),
    )
    answered, held, first, wrongly = (rate / len(asked) for rate in rates)
    aim, most = AIMS[language]
    print(f"{language:4}{answered:>10.3f}{held:>11.3f}{first:>10.3f}{aim:>6.2f}", end="")
    print(f"{wrongly:>18.3f}{most:>6.2f}")


def _answers(folder: Path, name: str, asked: list[Line], meaning: Path | None) -> list[Answer]:
    with indexed(name, folder, meaning) as config, Workspace(config) as workspace:
        return [ask(workspace, AskRequest(line["query"], no_model=True)).answer for line in asked]


if __name__ == "__main__":
    main()
