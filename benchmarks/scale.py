"""How the time of a search grows with the index: 1,000, 10,000 and 100,000 chunks.

    python benchmarks/scale.py [--sizes 1000,10000,100000] [--data ../shared/data/retrieval]

One vault grows from size to size and is indexed as `rag index` does it; "index s" is the time
for what came on top. Half the notes are English, half Japanese, made of short phrases of the
shared notes, so that words are as frequent as they are in real text. The queries are parts of
the shared questions: 100 English ones of 2 to 12 words, 100 Japanese ones of about as many.
Each is asked three times, after a warm-up, and its median counts. "search" is the whole
pipeline, "store" what the store takes of it; "variants" is the same search with five variants
of the query (parts of it, with words of another one), and "÷" how many times as long it takes.
The last columns compare the medians with those of the first size.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from haystack import Pipeline

from rag.config import load_config
from rag.indexing.run import IndexRun
from rag.pipelines import create_search_pipeline, search
from rag.search.query_variants import Variant, Variants, weighed
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.scored_chunk import Candidate
from rag.stores.edge.document_store import QdrantEdgeDocumentStore
from rag.vault import read_note, scan_folder

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "retrieval"
QUERIES = 200
WARM_UP = 20
VARIANTS = 5
ROUNDS = 3
CHUNKS_PER_NOTE = 5
# A content word and the kana behind it: about two English words.
_JAPANESE_WORD = re.compile(r"[^ぁ-ん]+[ぁ-ん]*|[ぁ-ん]+")


@dataclass(frozen=True)
class Source:
    """Real text to cut phrases from: `pieces` are words, or characters where words have no
    spaces. `phrase` is how many make a phrase, at most, and `section` a section, about."""

    pieces: list[str]
    space: str
    phrase: int
    section: int


class TimedStore(QdrantEdgeDocumentStore):
    """The store with a clock: `seconds` sums up the time of its sparse queries."""

    seconds = 0.0

    def find_candidates(self, *arguments: Any, **options: Any) -> list[Candidate]:
        """Do what the store does."""
        started = time.perf_counter()
        found = super().find_candidates(*arguments, **options)
        self.seconds += time.perf_counter() - started
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000", help="in chunks")
    parser.add_argument("--data", type=Path, default=DATA)
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        print(f"skipped: there are no notes and questions at {arguments.data}")
        return
    rng = random.Random(3)
    queries = _queries(arguments.data, rng)
    sources = _sources(arguments.data)
    print(
        f"{'chunks':>8}{'index s':>9}{'search p50':>12}{'p95':>8}{'max ms':>8}"
        f"{'store p50':>12}{'p95':>8}{'max ms':>8}{'variants p50':>14}{'÷':>6}"
        f"{'search ×':>10}{'store ×':>9}"
    )
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "vault"
        os.environ["RAG_DATA_DIR"] = str(Path(folder) / "data")
        first: tuple[float, float] | None = None
        have = 0
        for size in sorted(map(int, arguments.sizes.split(","))):
            for number in range(have, size, CHUNKS_PER_NOTE):
                _write_note(vault, number, min(CHUNKS_PER_NOTE, size - number), sources, rng)
            have = size
            chunks, seconds = _index(vault)
            whole, store, wider = _measure(queries)
            medians = median(whole), median(store)
            first = first or medians
            print(
                f"{chunks:8}{seconds:9.1f}{_spread(whole)}{_spread(store)}"
                f"{median(wider) * 1000:14.2f}{median(wider) / medians[0]:6.2f}"
                f"{medians[0] / first[0]:10.1f}{medians[1] / first[1]:9.1f}",
                flush=True,
            )


def _spread(seconds: list[float]) -> str:
    """Return the median, the 95th percentile and the longest, in milliseconds."""
    ordered = sorted(seconds)
    p95 = ordered[len(ordered) * 95 // 100]
    return f"{median(ordered) * 1000:12.2f}{p95 * 1000:8.2f}{ordered[-1] * 1000:8.2f}"


def _index(vault: Path) -> tuple[int, float]:
    """Bring the index up to date; return its chunks and how long it took."""
    started = time.perf_counter()
    with IndexRun(load_config()) as run:
        run.index_vault("scale", vault)
        run.publish()
    return run.report.chunks, time.perf_counter() - started


def _measure(queries: list[str]) -> tuple[list[float], list[float], list[float]]:
    """Return what each query took, in all and in the store, and what with variants, in seconds."""
    whole: list[list[float]] = [[] for _ in queries]
    wider: list[list[float]] = [[] for _ in queries]
    inside: list[list[float]] = [[] for _ in queries]
    store = TimedStore(str(load_config().index_dir))
    with store:
        pipeline = create_search_pipeline(store, transforms=[])
        widening = _with_variants(store, queries)
        for query in queries[::-1][:WARM_UP]:
            search(pipeline, query, top_k=10)
            search(widening, query, top_k=10)
        for _ in range(ROUNDS):
            for number, query in enumerate(queries):
                before, started = store.seconds, time.perf_counter()
                search(pipeline, query, top_k=10)
                whole[number].append(time.perf_counter() - started)
                inside[number].append(store.seconds - before)
                started = time.perf_counter()
                search(widening, query, top_k=10)
                wider[number].append(time.perf_counter() - started)
    medians = ([median(times) for times in times_of] for times_of in (whole, inside, wider))
    return next(medians), next(medians), next(medians)


def _with_variants(store: BaseDocumentStore, queries: list[str]) -> Pipeline:
    """Make a search pipeline whose expander has five variants of each query at hand."""
    pipeline: Pipeline = create_search_pipeline(store, transforms=["multi-query"])
    rng = random.Random(5)
    known = {query: weighed(list(_variants(query, queries, rng))) for query in queries}
    expander: Any = pipeline.get_component("expander")
    expander.run = lambda text, **_: {"variants": known.get(text, Variants()), "notices": []}
    return pipeline


def _variants(query: str, queries: list[str], rng: random.Random) -> Iterator[Variant]:
    """Yield two thirds of a query, and a third of another one."""
    pieces = query.split() if query.isascii() else list(query)
    space = " " if query.isascii() else ""
    for number in range(VARIANTS):
        other = rng.choice([q for q in queries if q.isascii() == query.isascii()])
        words = other.split() if other.isascii() else list(other)
        kept = _part(pieces, max(1, len(pieces) * 2 // 3), rng)
        text = space.join([*kept, *_part(words, max(1, len(pieces) // 3), rng)])
        yield Variant(f"{number}", "multi-query", text, 0.0)


# -- text --------------------------------------------------------------------------------


def _queries(data: Path, rng: random.Random) -> list[str]:
    """Return parts of the shared questions, English and Japanese in turn."""
    found = []
    for english, japanese in zip(_questions(data / "en"), _questions(data / "ja"), strict=False):
        words = rng.randint(2, 12)
        found.append(" ".join(_part(english.split(), words, rng)))
        part = _part(_JAPANESE_WORD.findall(japanese), (words + 1) // 2, rng)
        found.append("".join(part).strip("、。"))
    return found[:QUERIES]


def _questions(folder: Path) -> Iterator[str]:
    for line in (folder / "queries.jsonl").read_text("utf-8").splitlines():
        yield json.loads(line)["query"]


def _sources(data: Path) -> tuple[Source, Source]:
    english = " ".join(_bodies(data / "en" / "notes")).split()
    japanese = list("".join(_bodies(data / "ja" / "notes")))
    return Source(english, " ", 6, 100), Source(japanese, "", 16, 300)


def _bodies(root: Path) -> Iterator[str]:
    for file in scan_folder(str(root)).notes:
        note = read_note((root / file.file).read_bytes(), "", file.path, 0)
        yield from note.lines[note.body_line :]


def _write_note(
    vault: Path, number: int, sections: int, sources: tuple[Source, Source], rng: random.Random
) -> None:
    """Write a note of some sections, each of which is one chunk."""
    source = rng.choice(sources)
    folder = vault / f"{number // 500:04}"
    folder.mkdir(parents=True, exist_ok=True)
    parts = [
        f"## {source.space.join(_part(source.pieces, source.phrase, rng))}\n\n"
        f"{_section(source, rng)}\n"
        for _ in range(sections)
    ]
    (folder / f"note {number}.md").write_text("\n".join(parts), "utf-8")


def _section(source: Source, rng: random.Random) -> str:
    pieces: list[str] = []
    # Half as long again at most: a section beyond the size of a chunk would be cut.
    size = source.section * min(1.5, rng.lognormvariate(0, 0.4))
    while len(pieces) < size:
        pieces += _part(source.pieces, rng.randint(2, source.phrase), rng)
        if rng.random() < 0.1:
            # A name, a date, an amount: the vocabulary grows with the text, as it does in life.
            pieces.append(str(rng.randrange(1_000_000)))
    return source.space.join(pieces)


def _part(pieces: list[str], count: int, rng: random.Random) -> list[str]:
    """Return `count` neighbouring pieces, all when there are fewer."""
    start = rng.randrange(max(1, len(pieces) - count + 1))
    return pieces[start : start + count]


if __name__ == "__main__":
    main()
