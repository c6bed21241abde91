"""Indexes for a benchmark, embedded once: what took an hour is read from a file the next time."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rag.config import ChatConfig, EmbeddingConfig, RAGConfig
from rag.index.embedding_space import VECTORS
from rag.indexing.chunk_embedding import embed_chunks
from rag.indexing.run import IndexRun


def _embed(config: RAGConfig, known: Path) -> None:
    """Embed all notes of an index, with the vectors that the file `known` has, and keep in it
    those that were made, also when embedding breaks off."""
    vectors = config.index_dir / VECTORS
    if known.exists():
        shutil.copy(known, vectors)
    try:
        with IndexRun(config) as run:
            embed_chunks(run)
    finally:
        known.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(vectors, known)


@contextmanager
def indexed(vaults: Mapping[str, Path], known: Path | None = None) -> Iterator[RAGConfig]:
    """Index folders together, by the names of their vaults, without a chat model, while this lasts.

    :param known: embed them with the built-in model too; this file keeps their vectors.
    """
    with tempfile.TemporaryDirectory() as data:
        config = RAGConfig(
            data_dir=Path(data),
            embedding=EmbeddingConfig("builtin" if known else "none"),
            chat=ChatConfig("none"),
        )
        with IndexRun(config) as run:
            for name, folder in vaults.items():
                run.index_vault(name, folder)
            run.publish()
        if known:
            _embed(config, known)
        yield config
