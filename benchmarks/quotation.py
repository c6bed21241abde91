"""How well `rag ask` answers without a model, on the shared question sets.

    python benchmarks/quotation.py [--questions 200]

Answerable: questions asked of the notes they were written for; the quotes should hold the
known answer. Unanswerable: the same questions asked of a help vault on another subject; the
right answer is "not found in your notes".
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from pathlib import Path

from rag.config import load_config
from rag.indexing.run import IndexRun
from rag.pipelines import Answer, ask, create_qa_pipeline
from rag.stores import get_document_store

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=200)
    count = parser.parse_args().questions
    if not DATA.is_dir():
        sys.exit(f"skipped: there are no question sets at {DATA}")
    print(f"{'':4}{'answered':>10}{'in quotes':>11}{'in first':>10}{'wrongly answered':>18}")
    for language in ("en", "ja"):
        lines = (DATA / "retrieval" / language / "queries.jsonl").read_text("utf-8").splitlines()
        questions = random.Random(5).sample([json.loads(line) for line in lines], count)
        right = _answers(DATA / "retrieval" / language / "notes", questions)
        wrong = _answers(DATA / "vaults" / f"obsidian-help-{language}", questions)
        pairs = list(zip(questions, right, strict=True))
        rates = (
            sum(a.found for a in right),
            sum(any(q["answer"] in quote.text for quote in a.quotes) for q, a in pairs),
            sum(a.found and q["answer"] in a.quotes[0].text for q, a in pairs),
            sum(a.found for a in wrong),
        )
        cells = (
            f"{rate / count:>{width}.3f}"
            for rate, width in zip(rates, (10, 11, 10, 18), strict=True)
        )
        print(f"{language:4}" + "".join(cells))


def _answers(vault: Path, questions: list[dict[str, str]]) -> list[Answer]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RAG_DATA_DIR"] = folder
        config = load_config()
        with IndexRun(config) as run:
            run.index_vault("notes", vault)
            run.publish()
        with get_document_store(config) as store:
            pipeline = create_qa_pipeline(store)
            return [ask(pipeline, question["query"]) for question in questions]


if __name__ == "__main__":
    main()
