"""Question sets in SQuAD's format as examples of a reader, none of them one of the project's own.

    python training/data.py OUT --train SET... --dev SET... --own FOLDER...

A set is a file, or a folder of `.json`. `OUT/train.jsonl` and `OUT/dev.jsonl` have a paragraph on
each line: `set`, `article`, `title`, `text`, `questions`: `[question, [[begin, answer], …]]`. What
shares 36 letters in a row with a text under `--own` or `--dev`, or equals a line or a string there,
is left out of training; so is a paragraph with the number of a question there, which translations
keep. How many were left out is printed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rag.clients.local.int8_engine import WeightsFile
from rag.clients.local.reader import question_tokens

_LENGTHS = (112, 160, 208)  # of training inputs: shorter ones teach as much for less
_ABSENT = 0.35  # of the questions, asked of another paragraph
_WINDOW = 24  # letters; windows begin at each second half of one
Row = dict[str, Any]


def paragraphs(path: Path) -> Iterator[Row]:
    """Yield the paragraphs of a set, with the `numbers` of their questions."""
    for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
        for number, article in enumerate(json.loads(file.read_text("utf-8-sig"))["data"]):
            title = article.get("title", "").replace("_", " ")
            for paragraph in article["paragraphs"]:
                # JSQuAD sets a mark between a title and its paragraph: replace it by one as long.
                questions, context = {}, paragraph["context"].replace(" [SEP] ", ":      ")
                for asked in paragraph["qas"]:
                    answers = [(each["answer_start"], each["text"]) for each in asked["answers"]]
                    places = [
                        (at, text) for at, text in answers if text and context.startswith(text, at)
                    ]
                    if places or not answers:
                        questions[str(asked["id"])] = (asked["question"].strip(), places)
                yield {
                    "set": path.stem,
                    "article": f"{path.stem}/{title or number}",
                    "title": title,
                    "text": context,
                    "questions": [*questions.values()],
                    "numbers": [*questions],
                }


class Own:
    """What must not be trained on: texts, their lines and strings, and numbers of questions."""

    def __init__(self) -> None:
        self._windows: set[int] = set()
        self._texts: set[str] = set()
        self._numbers: set[str] = set()

    def add(self, text: str, numbers: Sequence[str] = ()) -> None:
        letters = _letters(text)
        begins = range(0, len(letters) - _WINDOW + 1, _WINDOW // 2)
        self._windows.update(hash(letters[at : at + _WINDOW]) for at in begins)
        self._texts.update(map(_letters, re.split(r'[\n"]+', text)))
        self._numbers.update(numbers)

    def has(self, text: str, numbers: Sequence[str] = ()) -> bool:
        letters = _letters(text)
        begins = range(len(letters) - _WINDOW + 1)
        return (
            letters in self._texts
            or not self._numbers.isdisjoint(numbers)
            or any(hash(letters[at : at + _WINDOW]) in self._windows for at in begins)
        )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


class Example(NamedTuple):
    """`tokens` of the whole input, of which those from `begin` to the last but one are the
    passage; `span`: the first and last token of the answer, 0 where there is none."""

    tokens: list[int]
    begin: int
    span: tuple[int, int] = (0, 0)


class Stream:
    """Examples without end, mixed from all sets; the same ones for each number of a lot."""

    def __init__(self, rows: Sequence[Row], file: WeightsFile) -> None:
        self._rows, self._file, self._tokens = rows, file, file.tokenizer.encode
        self._all = [(at, asked) for at, row in enumerate(rows) for asked in row["questions"]]
        self._articles: dict[str, list[int]] = defaultdict(list)
        for at, row in enumerate(rows):
            self._articles[row["article"]].append(at)
        self._pieces = [set(self._tokens(row["text"])[0]) for row in rows]
        self._often = Counter(piece for pieces in self._pieces for piece in pieces)

    def lot(self, number: int, size: int) -> list[Example]:
        """Return `size` examples."""
        epoch, at = divmod(number, len(self._all) // size)
        order = random.Random(epoch).sample(self._all, len(self._all))
        rng = random.Random(number)
        return [self._example(*order[at * size + each], rng) for each in range(size)]

    def _example(self, at: int, asked: Any, rng: random.Random) -> Example:
        """Return a question as an example, with its paragraph's title half of the time. A long
        paragraph is cut at random, to a window that holds the answer."""
        question, answers = asked
        other = self._other(at, question, answers, rng) if rng.random() < _ABSENT else at
        row = self._rows[other]
        lead = f"{row['title']}: " if row["title"] and rng.random() < 0.5 else ""
        head, ending = question_tokens(self._file, question), self._file.special[1]
        tokens, offsets = self._tokens(lead + row["text"])
        room = rng.choice(_LENGTHS) - len(head) - 1
        cut = max(0, len(tokens) - room)  # so many tokens must go
        if not answers or other != at:
            begin = rng.randint(0, cut)
            return Example([*head, *tokens[begin : begin + room], ending], len(head))
        begin, answer = rng.choice(answers)
        begin += len(lead)
        first = max(0, sum(at <= begin for at in offsets[:-1]) - 1)
        last = max(first, sum(at < begin + len(answer) for at in offsets[:-1]) - 1)
        begin = rng.randint(min(cut, first, max(0, last + 1 - room)), min(cut, first))
        tokens, shift = tokens[begin : begin + room], len(head) - begin
        span = (first + shift, min(last + shift, len(head) + len(tokens) - 1))
        return Example([*head, *tokens, ending], len(head), span)

    def _other(self, at: int, question: str, answers: list[Any], rng: random.Random) -> int:
        """Return another paragraph of the article, without the answer: at random, or, as often,
        the one that shares most with the question; `at` when there is none."""
        near = [
            other
            for other in self._articles[self._rows[at]["article"]]
            if other != at and not any(text in self._rows[other]["text"] for _, text in answers)
        ]
        if not near or not answers:
            return at
        near = rng.sample(near, min(len(near), rng.choice((1, 20))))
        asked = self._tokens(question)[0]
        return max(
            near, key=lambda o: sum(1 / self._often[p] for p in asked if p in self._pieces[o])
        )


def read(path: Path) -> list[Row]:
    """Return the rows of a prepared file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    for name in ("train", "dev", "own"):
        parser.add_argument(f"--{name}", type=Path, nargs="+", default=[])
    options = parser.parse_args()
    own, train, counts = Own(), [], Counter[str]()
    for file in (file for folder in options.own for file in folder.rglob("*") if file.is_file()):
        text = file.read_text("utf-8", "replace")
        own.add(re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), text))
    dev = [row for path in options.dev for row in paragraphs(path)]
    for row in dev:
        own.add("\n".join([row["text"], *(asked for asked, _ in row["questions"])]), row["numbers"])
    for row in (row for path in options.train for row in paragraphs(path)):
        is_own = own.has(row["text"], row["numbers"])
        questions = [asked for asked in row["questions"] if not is_own and not own.has(asked[0])]
        counts[f"{row['set']}: questions"] += len(questions)
        counts[f"{row['set']}: questions left out"] += len(row["questions"]) - len(questions)
        train += [row | {"questions": questions}] if questions else []
    options.out.mkdir(parents=True, exist_ok=True)
    for name, rows in (("train", train), ("dev", dev)):
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (options.out / f"{name}.jsonl").write_text("".join(lines), "utf-8")
    print(*(f"{name}: {count:,}" for name, count in sorted(counts.items())), sep="\n")


if __name__ == "__main__":
    main()
