"""Indexes for a benchmark, embedded once: what took an hour is read from a file the next time."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rag.config import ChatConfig, EmbeddingConfig, RAGConfig
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


@contextmanager
def indexed(name: str, folder: Path, meaning: Path | None) -> Iterator[RAGConfig]:
    """Index a folder by itself as the vault `name`, without a chat model, while this lasts.

    :param meaning: embed it with the built-in model too; vectors are kept in this folder.
    """
    with tempfile.TemporaryDirectory() as data:
        config = RAGConfig(
            data_dir=Path(data),
            embedding=EmbeddingConfig("builtin" if meaning else "none"),
            chat=ChatConfig("none"),
        )
        with IndexRun(config) as run:
            run.index_vault(name, folder)
            run.publish()
        if meaning:
            embed(config, meaning / f"{name}.sqlite3")
        yield config
