"""How often words come in generated notes and in real ones, side by side.

    python benchmarks/frequencies.py FOLDER... [--notes 2000]

Each row is one language of one folder, whatever of it is there: Latin words as they are, Japanese
text by its pairs of characters. "10" and "1000" are what the most frequent ones make of the
text, "once" how many of the distinct ones come once, "a note" how many distinct ones the first 300
of a note have, "length" is in characters. Every row is of 150,000 words, or of all there are.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from vaults import make_vault

SAMPLE = 150_000  # words or pairs
_LATIN = re.compile(r"[A-Za-zÀ-ÿ]+(?:'[a-z]+)?|\d+")
_JAPANESE = re.compile(r"[぀-ヿ一-鿿々ー]+")


def latin_words(text: str) -> list[str]:
    """Return the words of Latin letters, in lower case, and the numbers."""
    return [word.lower() for word in _LATIN.findall(text)]


def japanese_pairs(text: str) -> list[str]:
    """Return the pairs of neighbouring characters within each run of Japanese."""
    return [run[at : at + 2] for run in _JAPANESE.findall(text) for at in range(len(run) - 1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--notes", type=int, default=2000)
    arguments = parser.parse_args()
    print(f"{'folder':36}{'distinct':>9}{'10':>7}{'1000':>7}{'once':>7}{'a note':>8}{'length':>8}")
    with tempfile.TemporaryDirectory() as folder:
        generated = Path(folder) / "generated"
        make_vault(generated, arguments.notes, arguments.notes * 0.0043)
        for root in (generated, *arguments.folders):
            texts = list(_texts(root))
            _row(root.name, "Latin", texts, latin_words)
            _row(root.name, "pairs", texts, japanese_pairs)


def _texts(root: Path) -> Iterator[str]:
    files = sorted(root.rglob("*.md"))
    random.Random(1).shuffle(files)
    for file in files:
        yield file.read_text("utf-8").split("\n---\n", 1)[-1]


def _row(name: str, kind: str, texts: list[str], split: Callable[[str], list[str]]) -> None:
    notes = [words for text in texts if len(words := split(text)) > 20]
    words = [word for note in notes for word in note][:SAMPLE]
    if len(words) < SAMPLE / 10:
        return
    counts = Counter(words)
    ranked = [count for _, count in counts.most_common()]
    # A longer note would have a smaller share of distinct ones.
    of_note = [len(set(note[:300])) for note in notes if len(note) >= 300]
    print(
        f"{name[:27]:28}{kind:8}{len(counts):9,}{sum(ranked[:10]) / len(words):7.3f}"
        f"{sum(ranked[:1000]) / len(words):7.3f}{ranked.count(1) / len(ranked):7.2f}"
        f"{sum(of_note) / max(1, len(of_note)):8.0f}{sum(map(len, words)) / len(words):8.2f}"
    )


if __name__ == "__main__":
    main()
