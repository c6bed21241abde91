"""Question sets in SQuAD's format as examples of a reader, and the proof that none of them is one
of the project's own questions.

Prepare a folder once, from files and folders of `.json` in SQuAD's format (v1 or v2):

    python training/data.py OUT --train FOLDER... --dev FOLDER... --own FOLDER...

It writes `train.jsonl` and `dev.jsonl` to OUT: one paragraph a line, `set`, `article`, `title`,
`text`, `questions`: `[question, [[start, answer], …]]`. A paragraph that shares 36 letters in a row
with a file under `--own` or `--dev` is left out of training, and so is a question that equals a
line or a string there, or has the number of such a question (translations keep numbers).
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

from rag.clients.local.reader import LIMIT, Encoder

_LENGTHS = (128, 192, LIMIT)  # of training inputs: shorter ones teach as much for less
_ABSENT = 0.35  # of the questions, asked of another paragraph
_WINDOW = 24  # letters; windows begin at each second half of one
_OWN = {".md", ".jsonl", ".json", ".py", ".toml", ".txt", ".yaml", ".csv"}
Row = dict[str, Any]


def paragraphs(path: Path) -> Iterator[Row]:
    """Yield the paragraphs of a set: a file, or a folder of them, whose name is the set's."""
    for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
        for number, article in enumerate(json.loads(file.read_text("utf-8-sig"))["data"]):
            title = article.get("title") or ""
            for paragraph in article["paragraphs"]:
                text, questions, numbers = paragraph["context"], [], []
                for question in paragraph["qas"]:
                    answers = [
                        [answer["answer_start"], answer["text"]]
                        for answer in question["answers"]
                        if not question.get("is_impossible") and answer["text"].strip()
                    ]
                    if all(text[at : at + len(answer)] == answer for at, answer in answers):
                        questions.append([question["question"].strip(), answers])
                        numbers.append(str(question["id"]))
                yield {
                    "set": path.stem,
                    "article": f"{path.stem}/{title or number}",
                    "title": title.replace("_", " "),
                    "text": text,
                    "questions": questions,
                    "numbers": numbers,
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
        """Return whether a text is one of these, or shares a passage with one."""
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
    span: tuple[int, int]


def example(
    encoder: Encoder,
    question: str,
    passage: str,
    answer: tuple[int, int] | None,
    rng: random.Random,
) -> Example:
    """Return an input. A long passage is cut at random, to a window that holds the answer.

    :param answer: the first character of it, and the one after its last.
    """
    head = encoder.question(question)
    tokens, offsets = encoder.tokens(passage)
    room = rng.choice(_LENGTHS) - len(head) - 1
    first = last = 0
    if answer:
        first = max(0, sum(at <= answer[0] for at in offsets[:-1]) - 1)
        last = max(first, sum(at < answer[1] for at in offsets[:-1]) - 1)
    begin = 0
    if len(tokens) > room:
        least, most = (last + 1 - room, first) if answer else (0, LIMIT)
        most = min(most, len(tokens) - room)
        begin = rng.randint(max(0, min(least, most)), most)
        tokens = tokens[begin : begin + room]
    at = len(head) - begin
    span = (first + at, min(last + at, len(head) + len(tokens) - 1)) if answer else (0, 0)
    return Example([*head, *tokens, encoder.end], len(head), span)


class Stream:
    """Examples without end, mixed from all sets; the same ones for each number of a lot."""

    def __init__(self, rows: Sequence[Row], encoder: Encoder) -> None:
        self._rows, self._encoder = rows, encoder
        self._all = [(at, asked) for at, row in enumerate(rows) for asked in row["questions"]]
        self._articles: dict[str, list[int]] = defaultdict(list)
        for at, row in enumerate(rows):
            self._articles[row["article"]].append(at)
        self._pieces = [set(encoder.tokens(row["text"])[0]) for row in rows]
        self._often = Counter(piece for pieces in self._pieces for piece in pieces)

    def lot(self, number: int, size: int) -> list[Example]:
        """Return `size` examples."""
        epoch, at = divmod(number, len(self._all) // size)
        order = random.Random(epoch).sample(self._all, len(self._all))
        rng = random.Random(number)
        return [self._example(*order[at * size + each], rng) for each in range(size)]

    def _example(self, at: int, asked: Any, rng: random.Random) -> Example:
        question, answers = asked
        span = None
        other = self._other(at, question, answers, rng) if rng.random() < _ABSENT else at
        row = self._rows[other]
        lead = f"{row['title']}: " if row["title"] and rng.random() < 0.5 else ""
        if answers and other == at:
            begin, answer = rng.choice(answers)
            span = (len(lead) + begin, len(lead) + begin + len(answer))
        return example(self._encoder, question, lead + row["text"], span, rng)

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
        asked = self._encoder.tokens(question)[0]
        return max(
            near, key=lambda o: sum(1 / self._often[p] for p in asked if p in self._pieces[o])
        )


def read(path: Path) -> list[Row]:
    """Return the rows of a prepared file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("out", type=Path)
    for name in ("train", "dev", "own"):
        parser.add_argument(f"--{name}", type=Path, nargs="+", default=[])
    options = parser.parse_args()
    own = Own()
    for file in (file for folder in options.own for file in folder.rglob("*")):
        if file.suffix in _OWN and file.is_file():
            text = file.read_text("utf-8", "replace")
            own.add(re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), text))
    dev = [row for path in options.dev for row in paragraphs(path)]
    for row in dev:
        own.add(row["text"], row["numbers"])
        for question, _ in row["questions"]:
            own.add(question)
    train, counts = [], Counter[str]()
    for row in (row for path in options.train for row in paragraphs(path)):
        is_own = own.has(row["text"], row["numbers"])
        questions = [asked for asked in row["questions"] if not is_own and not own.has(asked[0])]
        counts[f"{row['set']}: questions"] += len(questions)
        counts[f"{row['set']}: questions left out"] += len(row["questions"]) - len(questions)
        train += [row | {"questions": questions}] if questions else []
    options.out.mkdir(parents=True, exist_ok=True)
    for name, rows in (("train", train), ("dev", dev)):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (options.out / f"{name}.jsonl").write_text(lines, "utf-8")
    for name, count in sorted(counts.items()):
        print(f"{name}: {count:,}")


if __name__ == "__main__":
    main()
