"""How fast texts become sparse vectors, beside the plainest way to do it.

    python benchmarks/tokenizing.py [--data ../shared/data/retrieval]

The plain way hashes every term of every text by itself with a cryptographic hash and caches
nothing; its terms are those of the program. Both run in one process, in turn, three times;
the best time of each counts.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import Stemmer

from rag.text.bm25 import edge
from rag.text.bm25_documents import DocumentEncoder
from rag.text.ngrams import weigh_grams
from rag.text.tokenizer import TOKEN, cleaned, fold_accents
from rag.vault.markdown import plain

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "retrieval"
_ROUNDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    data = parser.parse_args().data
    if not data.is_dir():
        print(f"skipped: there are no notes at {data}")
        return
    print(f"{'notes':8}{'texts':>8}{'characters':>12}{'plain':>9}{'rag':>9}{'ratio':>8}")
    for language in ("en", "ja"):
        files = sorted((data / language / "notes").rglob("*.md"))
        texts = [plain(file.read_text("utf-8").split("---", 2)[-1]) for file in files]
        size = sum(map(len, texts))
        slow = _best(_plainly, texts) / size * 1e6
        fast = _best(DocumentEncoder().encode, texts) / size * 1e6
        print(
            f"{language:8}{len(texts):8}{size:12,}{slow:6.2f} µs{fast:6.2f} µs{slow / fast:7.0f}×"
        )
    print("time is CPU time a character")


def _best(encode: Callable[[list[str]], object], texts: list[str]) -> float:
    times = []
    for _ in range(_ROUNDS):
        started = time.process_time()
        encode(texts)
        times.append(time.process_time() - started)
    return min(times)


def _plainly(texts: list[str]) -> list[tuple[list[int], list[float]]]:
    return [_encode(text) for text in texts]


def _encode(text: str) -> tuple[list[int], list[float]]:
    stem = Stemmer.Stemmer("english", 0).stemWord
    terms: list[str] = []
    for run, word in TOKEN.findall(cleaned(text)):
        if run:
            terms += [f"g {gram.text}" for gram in weigh_grams(run)]
            continue
        letters = fold_accents(word)
        terms.append(f"w {stem(letters)}")
        if first := edge(letters):
            terms.append(f"e {first}")
    counts = Counter(
        int.from_bytes(blake2b(term.encode(), digest_size=4).digest(), "little") for term in terms
    )
    return list(counts), [tf * 1.5 / (tf + 0.5) for tf in counts.values()]


if __name__ == "__main__":
    main()
