"""Kill `rag index` at random moments of embedding, forty times, while a reader searches.

    python benchmarks/embedding_crash.py [--kills 40] [--notes 60] [--seed 1]

The built-in model embeds. Each round changes some notes, starts `rag index`, and kills it and its
processes after a random time. No search of the reader may fail, no chunk may lose a vector that
readers had, and in the end, when one run has completed, each vector must be what the model makes of
the chunk's text. Exit code 1 if not.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np

from rag.clients.factory import embedding_provider
from rag.config import load_config
from rag.index.searchable_text import sentence_texts
from rag.stores import get_document_store
from rag.text.token_estimate import count_tokens
from vaults import make_vault

_LONGEST = 12.0  # seconds until a run is killed
_READER = """
import sys
from rag.config import load_config
from rag.pipelines import create_search_pipeline, search
from rag.stores import get_document_store

config, searches, empty = load_config(), 0, 0
try:
    while True:
        with get_document_store(config) as store:
            found = search(create_search_pipeline(store, config), "サーバー anchor", top_k=3)
        searches += 1
        empty += not found.results
        print(searches, empty, found.mode, flush=True)
except KeyboardInterrupt:
    pass
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--notes", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        os.environ |= {"RAG_DATA_DIR": str(base / "data"), "RAG_EMBEDDING__PROVIDER": "builtin"}
        vault = base / "vault"
        make_vault(vault, arguments.notes, arguments.notes * 0.004)
        (vault / "anchor.md").write_text("# anchor\n\nサーバー anchor\n", "utf-8")
        command = [sys.executable, "-m", "rag", "index", "-q", str(vault)]
        subprocess.run([*command, "--no-embed"], check=True)
        log = (base / "reader.log").open("w+")
        reader = subprocess.Popen([sys.executable, "-c", _READER], stdout=log, stderr=log)
        lost = _kill_often(command, vault, arguments.kills, random.Random(arguments.seed))
        last = subprocess.run(command, capture_output=True, text=True)
        reader.send_signal(signal.SIGINT)
        reader.wait(30)
        log.seek(0)
        lines = log.read().splitlines()
        wrong, chunks = _wrong_vectors()
    searches, empty, _ = lines[-1].split()
    print(f"{arguments.kills} kills; {searches} searches by the reader, {empty} without a result")
    print(f"{len(lost)} vectors lost; {wrong} of {chunks} wrong or missing at the end")
    if last.returncode or reader.returncode or int(empty) or lost or wrong:
        sys.exit("\n".join([*lines[-20:], last.stderr, *lost[:5]]))


def _kill_often(command: list[str], vault: Path, kills: int, rng: random.Random) -> list[str]:
    """Run and kill; return the texts that had a vector and have none."""
    killed, lost, shown = 0, list[str](), 0
    while killed < kills:
        for note in rng.sample(sorted(vault.rglob("*.md")), 6):
            if note.name != "anchor.md":
                text = note.read_text("utf-8")
                note.write_text(f"{text}\n## Turn {killed}\n\n変更 {rng.random()}\n", "utf-8")
        before = _texts()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(rng.uniform(0.1, _LONGEST))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
        after = _texts()
        lost += [text for text, has in before.items() if has and not after.get(text, True)]
        done = sum(after.values())
        if done != shown:
            shown = done
            print(f"{killed} kills, {done} of {len(after)} chunks have vectors", flush=True)
    return lost


def _texts() -> dict[str, bool]:
    """Return the text of every chunk that readers see, and whether it has a vector."""
    with get_document_store(load_config()) as store:
        found = store.filter_documents()
    return {"\n".join(sentence_texts(d.meta, d.content)): d.embedding is not None for d in found}


def _wrong_vectors() -> tuple[int, int]:
    """Return how many chunks have not the vector of their text, and how many there are."""
    config = load_config()
    with get_document_store(config) as store:
        found = store.filter_documents()
        stored = store.embeddings_of([document.id for document in found])
    texts = {d.id: sentence_texts(d.meta, d.content) for d in found}
    every = [*dict.fromkeys(text for some in texts.values() for text in some)]
    made: dict[str, list[float]] = {}
    with closing(embedding_provider(config)) as embeddings:
        for batch in embeddings.embed_documents(every, count_tokens):
            made |= {every[at]: vector for at, vector in batch.vectors}
    right = [
        _are_alike(stored.get(identity, []), [made[text] for text in some])
        for identity, some in texts.items()
    ]
    return right.count(False), len(right)


def _are_alike(rows: list[list[float]], others: list[list[float]]) -> bool:
    """Return whether vectors are the same but for the 8 bits that a stored number has."""
    if len(rows) != len(others):
        return False
    pairs = zip(map(np.asarray, rows), map(np.asarray, others), strict=True)
    return all(a @ b > 0.995 * np.linalg.norm(a) * np.linalg.norm(b) for a, b in pairs)


if __name__ == "__main__":
    main()
