"""bm25s, its index saved and loaded. VARIANT: snowball or sudachi."""

from __future__ import annotations

import json
from pathlib import Path

from baselines import load, snowball, sudachi
from program import TOP_K, read_notes, run

_TOKENIZERS = {"snowball": snowball, "sudachi": sudachi}


def _load(variant: str, vault: Path, index: Path) -> int:
    tokenize = _TOKENIZERS[variant]()
    paths, texts = [], []
    for note in read_notes(vault):
        paths.append(note.path)
        texts.append(tokenize(f"{note.title}\n{note.text}"))
    bm25 = load("bm25s").BM25()
    bm25.index(texts, show_progress=False)
    bm25.save(str(index))
    (index / "paths.json").write_text(json.dumps(paths), "utf-8")
    return len(paths)


def _search(variant: str, index: Path, query: str) -> list[str]:
    bm25 = load("bm25s").BM25.load(str(index))
    paths = json.loads((index / "paths.json").read_text("utf-8"))
    words = _TOKENIZERS[variant]()(query)
    found, scores = bm25.retrieve([words], k=TOP_K, show_progress=False)
    pairs = zip(found[0], scores[0], strict=True)
    return [paths[number] for number, score in pairs if score > 0]


run(_load, _search)
