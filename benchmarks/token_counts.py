"""How close `rag.text.token_estimate` comes to real tokenizers, on shared notes.

    pip install mistral-common dashscope tiktoken
    python benchmarks/token_counts.py [--fit]

The tokenizers are those of Mistral Nemo ("tekken") and of Qwen; both packages carry them.
"""

from __future__ import annotations

import argparse
import base64
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np

from rag.text.token_estimate import FEATURES, WEIGHTS, count_tokens, features

DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"
SETS = {
    "help en": "vaults/obsidian-help-en",
    "help ja": "vaults/obsidian-help-ja",
    "paragraphs en": "retrieval/en/notes",
    "paragraphs ja": "retrieval/ja/notes",
}


def tekken() -> Callable[[str], int]:
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    path = files("mistral_common") / "data" / "tekken_240911.json"
    tokenizer = Tekkenizer.from_file(str(path))
    return lambda text: len(tokenizer.encode(text, bos=False, eos=False))


def qwen() -> Callable[[str], int]:
    import tiktoken

    table = (files("dashscope") / "resources" / "qwen.tiktoken").read_bytes()
    ranks = {base64.b64decode(t): int(r) for t, r in map(bytes.split, table.splitlines())}
    pattern = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    encoding = tiktoken.Encoding("qwen", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", action="store_true", help="print costs fitted to the mean of both")
    arguments = parser.parse_args()
    tokenizers = {"tekken": tekken(), "qwen": qwen()}
    rows: list[tuple[tuple[int, ...], float]] = []
    print(f"{'notes':16}{'ours':>10}" + "".join(f"{n:>10}{'ours/' + n:>13}" for n in tokenizers))
    for name, folder in SETS.items():
        texts = [p.read_text("utf-8") for p in sorted((DATA / folder).rglob("*.md"))]
        ours = sum(map(count_tokens, texts))
        line = f"{name:16}{ours:10}"
        counts = {n: [count(text) for text in texts] for n, count in tokenizers.items()}
        for total in map(sum, counts.values()):
            line += f"{total:10}{ours / total:13.3f}"
        print(line)
        rows += [
            (features(text), sum(c[i] for c in counts.values()) / len(counts))
            for i, text in enumerate(texts)
        ]
    if arguments.fit:
        x = np.array([f for f, _ in rows], float)
        y = np.array([n for _, n in rows], float)
        scale = 1 / np.sqrt(y)  # a long note must not outvote a hundred short ones
        fitted, *_ = np.linalg.lstsq(x * scale[:, None], y * scale, rcond=None)
        for name, weight, now in zip(FEATURES, fitted, WEIGHTS, strict=True):
            print(f"{name:12}{weight:8.3f}  (now {now})")


if __name__ == "__main__":
    main()
