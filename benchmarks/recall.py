"""Recall of the program itself on the shared question sets: notes as the vault, questions as
queries, through the index on disk and the search pipeline.

    python benchmarks/recall.py [--data ../shared/data/retrieval]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

from rag.config import load_config
from rag.pipelines import create_search_pipeline, search
from rag.pipelines.refresh import IndexRun
from rag.stores import get_document_store

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "retrieval"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    data = parser.parse_args().data
    if not data.is_dir():
        sys.exit(f"skipped: there are no question sets at {data}")
    print(f"{'set':14}{'questions':>10}{'R@1':>8}{'R@10':>8}{'nDCG@10':>9}{'ms p50':>8}")
    for language in ("en", "ja"):
        _measure(language, {language: data / language})
    both = {language: data / language for language in ("en", "ja")}
    for language in both:
        _measure(language, both, f"{language}, both in")


def _measure(language: str, vaults: dict[str, Path], label: str = "") -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RAG_DATA_DIR"] = folder
        config = load_config()
        with IndexRun(config) as run:
            for name, root in vaults.items():
                run.index_vault(name, root / "notes")
            run.publish()
        questions = [
            json.loads(line)
            for line in (vaults[language] / "queries.jsonl").read_text("utf-8").splitlines()
        ]
        first = ten = gain = 0.0
        times = []
        with get_document_store(config) as store:
            pipeline = create_search_pipeline(store)
            for question in questions:
                wanted = {
                    (language, unicodedata.normalize("NFC", path)) for path in question["relevant"]
                }
                started = time.perf_counter()
                response = search(pipeline, question["query"], top_k=10)
                times.append(time.perf_counter() - started)
                ranks = [
                    rank
                    for rank, result in enumerate(response.results, 1)
                    if (result.vault, result.file_path) in wanted
                ]
                if ranks:
                    first += ranks[0] == 1
                    ten += 1
                    gain += 1 / math.log2(ranks[0] + 1)
        n = len(questions)
        p50 = sorted(times)[n // 2] * 1000
        print(
            f"{label or language:14}{n:10}{first / n:8.3f}{ten / n:8.3f}{gain / n:9.3f}{p50:8.1f}"
        )


if __name__ == "__main__":
    main()
