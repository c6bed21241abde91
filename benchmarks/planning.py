"""What planning a query without a model adds to its search: 10,000 notes, 5,000 tags.

    python benchmarks/planning.py [--notes 10000] [--tags 5000]

The queries are those of `tests/support/plan_table.py`, and their names are among those of the
index. A plan is made as the program makes it, the record of it included, and nothing is kept
from one query to the next. Each query is planned and searched three times, in turn; its median
counts. Every tag stands on about as many notes, and a note has four words and three tags.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from rag.config import RAGConfig, load_config
from rag.indexing.run import IndexRun
from rag.pipelines import create_search_pipeline, search
from rag.query.note_hints import may_filter
from rag.search.planned_query import find_intent
from rag.stores import get_document_store

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from plan_table import CATALOGUE, ROWS, TODAY  # type: ignore[import-not-found]

ROUNDS = 3
_LETTERS = "bcdfghjklmnprstvw", "aeiou"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--tags", type=int, default=5_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RAG_DATA_DIR"] = str(Path(folder) / "data")
        os.environ["RAG_OLLAMA__ENABLED"] = "false"
        _index(Path(folder), arguments.notes, arguments.tags)
        config, queries = load_config(), [row.query for row in ROWS]
        with get_document_store(config) as store:
            pipeline = create_search_pipeline(store, config)
            clocks: list[tuple[str, Callable[[str], object]]] = [
                ("hints", may_filter),
                ("plan", lambda query: _plan(store, config, query)),
                ("search", lambda query: search(pipeline, query, top_k=10)),
            ]
            times = _measure(queries, clocks)
        first = [_first_plan() for _ in range(ROUNDS)]
    print(f"{'':8}{'median ms':>11}{'p95':>8}{'max':>8}   over {len(queries)} queries")
    for name, _ in clocks:
        ordered = sorted(times[name])
        p95 = ordered[len(ordered) * 95 // 100]
        row = "".join(f"{1e3 * took:8.2f}" for took in (p95, ordered[-1]))
        print(f"{name:8}{1e3 * median(ordered):11.3f}{row}")
    print(f"plan ÷ search: {median(times['plan']) / median(times['search']):.2f}")
    slowest = max(zip(times["plan"], queries, strict=True))
    print(f"slowest plan: {slowest[1]}")
    print(f"the first plan of a process, after its first search: {median(first):.0f} ms")


def _plan(store: Any, config: RAGConfig, query: str) -> None:
    """Plan a query; a plan that could not be made would look quick."""
    intent, notices = find_intent(store, config, query, today=TODAY)
    if intent is None:
        raise SystemExit(f"no plan of {query!r}: {notices}")


_FIRST = """
import time
from rag.config import load_config
from rag.pipelines import create_search_pipeline, search
from rag.stores import get_document_store
config = load_config()
with get_document_store(config) as store:
    search(create_search_pipeline(store, config), "word")
    started = time.perf_counter()
    from rag.search.planned_query import find_intent
    find_intent(store, config, "notes tagged k8s from last month in my work vault about rollbacks")
    print(1e3 * (time.perf_counter() - started))
"""


def _first_plan() -> float:
    """Return what the first plan of a fresh process takes, its imports included, in ms."""
    ran = subprocess.run([sys.executable, "-c", _FIRST], check=True, capture_output=True, text=True)
    return float(ran.stdout)


def _measure(
    queries: list[str], clocks: list[tuple[str, Callable[[str], object]]]
) -> dict[str, list[float]]:
    """Return what each query took by clock, in seconds."""
    taken: dict[str, list[list[float]]] = {name: [[] for _ in queries] for name, _ in clocks}
    for number in range(ROUNDS + 1):
        for at, query in enumerate(queries):
            for name, work in clocks:
                started = time.perf_counter()
                work(query)
                if number:  # the first round warms up
                    taken[name][at].append(time.perf_counter() - started)
    return {name: [median(some) for some in times] for name, times in taken.items()}


def _index(folder: Path, notes: int, tags: int) -> None:
    """Index notes that share the names of the table among many others."""
    rng = random.Random(6)
    names = [*CATALOGUE.tags(), *(_word(rng) for _ in range(tags - len(CATALOGUE.tags())))]
    vaults, titles = CATALOGUE.vaults(), [*CATALOGUE.titles()]
    words = [_word(rng) for _ in range(3_000)]
    for number in range(notes):
        title = titles[number] if number < len(titles) else " ".join(rng.sample(words, 4))
        held = [f"{name}: {rng.choice(CATALOGUE.values(name))}" for name in CATALOGUE.fields()]
        borne = [names[number % len(names)], *rng.sample(names, 2)]
        path = folder / vaults[number % len(vaults)] / f"{number}.md"
        path.parent.mkdir(exist_ok=True)
        front = "\n".join([f"title: {title!r}", f"tags: {borne}", *held])
        path.write_text(f"---\n{front}\n---\n{' '.join(rng.sample(words, 40))}\n", "utf-8")
    with IndexRun(load_config()) as run:
        for vault in vaults:
            run.index_vault(vault, folder / vault)
        run.publish()
    print(f"{run.report.chunks} chunks, {len(set(names))} tags")


def _word(rng: random.Random) -> str:
    """Return a word of three to five syllables."""
    consonants, vowels = _LETTERS
    syllables = (rng.choice(consonants) + rng.choice(vowels) for _ in range(rng.randint(3, 5)))
    return "".join(syllables)


if __name__ == "__main__":
    main()
