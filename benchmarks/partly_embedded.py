"""What meaning adds while an index is being embedded: 10, 50, 90 and 100 % of its chunks.

    rag index NOTES…
    python benchmarks/partly_embedded.py QUESTIONS…

The index is that of the settings in force, with all its embeddings. A copy of it is given so many
of them as are asked for, those of the lowest chunk ids, which are hashes, and is asked the
questions: 0 % is a search by words.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

from rag.config import RAGConfig, load_config
from rag.evaluation.questions import Question, read_questions
from rag.evaluation.run import Judge, run_questions, summary
from rag.index.embedding_space import read_embedded, record_embedded
from rag.indexing.run import IndexRun
from rag.pipelines import create_search_pipeline
from rag.stores import get_document_store

SHARES = (0, 10, 50, 90, 100)  # per cent
METRICS = ("hit_1", "recall_10", "ndcg_5", "ndcg_10")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("questions", type=Path, nargs="+")
    sets = {path: read_questions(path) for path in parser.parse_args().questions}
    config = load_config()
    with tempfile.TemporaryDirectory() as folder:
        copied = replace(config, data_dir=Path(folder))
        shutil.copytree(config.index_dir, copied.index_dir)
        vectors = _vectors(copied)
        print(f"{'questions':32}{'embedded':>9}" + "".join(f"{name:>11}" for name in METRICS))
        for share in SHARES:
            if share:
                _embed(copied, vectors, share)
            for path, questions in sets.items():
                means = _measured(copied, questions, "hybrid" if share else "lexical")
                row = "".join(f"{means[name]:11.3f}" for name in METRICS)
                print(f"{str(path)[-31:]:32}{share:7} %{row}", flush=True)


def _vectors(config: RAGConfig) -> dict[str, list[list[float]]]:
    """Return the embeddings of an index by chunk id, in order of id."""
    with get_document_store(config) as store, store.pinned():
        ids = [document.id for page in store.pages() for document in page]
        return store.embeddings_of(ids)


def _embed(config: RAGConfig, vectors: Mapping[str, list[list[float]]], share: int) -> None:
    """Take all embeddings out of an index, and give it so many per cent of them."""
    with IndexRun(config) as run:
        writer = run.writer
        writer.prepare()
        writer.store.drop_embeddings()
        count = len(vectors) * share // 100
        writer.store.write_embeddings({key: vectors[key] for key in islice(sorted(vectors), count)})
        embedded = read_embedded(run.manifest)
        assert embedded
        record_embedded(run.manifest, replace(embedded, embedded=count))
        run.manifest.raise_revision()
        run.publish()


def _measured(config: RAGConfig, questions: Sequence[Question], mode: str) -> dict[str, float]:
    with get_document_store(config) as store:
        manifest = store.manifest()
        assert manifest
        judge = Judge((vault, path) for vault, path, *_ in manifest.names())
        with closing(create_search_pipeline(store, config)) as pipeline:
            return summary(run_questions(pipeline, questions, judge, mode=mode).outcomes)


if __name__ == "__main__":
    main()
