"""Embedding an index once: what took an hour is read from a file the next time."""

from __future__ import annotations

import shutil
from pathlib import Path

from rag.config import RAGConfig
from rag.index.vector_cache import VECTORS
from rag.indexing.run import IndexRun


def embed(config: RAGConfig, known: Path) -> None:
    """Embed all notes of an index, with the vectors that the file `known` has, and keep in it
    those that were made, also when embedding breaks off."""
    vectors = config.index_dir / VECTORS
    if known.exists():
        shutil.copy(known, vectors)
    try:
        with IndexRun(config) as run:
            run.embed()
    finally:
        known.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(vectors, known)
