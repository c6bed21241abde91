"""Many new notes: read, cut and weighed here, and written as segments of the index by another
process meanwhile.

What segments hold depends on their notes alone, not on which process writes them, nor on when.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from rag.exceptions import INDEX_AGAIN, IndexingError
from rag.index.manifest import CHUNKS
from rag.index.searchable_text import beside, indexed_text
from rag.stores.base.points import chunk_point
from rag.stores.edge.document_store import QdrantEdgeDocumentStore, build_segments
from rag.support.closing import Closing
from rag.support.disk_space import disk_full
from rag.support.files import make_owned, remove
from rag.support.processes import FEW_ARENAS, PythonProcess

if TYPE_CHECKING:
    from rag.indexing.note_reader import NoteChunk

# Chunks of a segment, which is not merged again. To build one takes 75 MB and 13 KB a chunk; but
# every search opens every segment, for some 10 ms, and each repeats what several have of a word. So
# a first index of 10,000 notes stays below 700 MB of memory, and large ones get larger segments.
USUAL, LARGEST = 16_000, 27_000
_FEW = 3  # segments, before they grow


class SegmentWriter(Closing):
    """Writes chunks of notes that an index does not hold as segments of it, without embeddings.

    :raises OSError: when the system starts no other process.
    """

    def __init__(self, store: QdrantEdgeDocumentStore) -> None:
        self._store, self._directory = store, store.directory
        self._words: set[str] = set()  # that were returned
        self._held: list[list[int]] = []  # the dimensions of each chunk of the segment
        self._process = PythonProcess(__name__, write_segments.__name__, FEW_ARENAS)
        self._folder: Path | None = None  # of the segment that is being written
        self._chunks = self._all_chunks = 0  # of that, and of those before

    def write(self, chunks: Sequence[NoteChunk]) -> list[str]:
        """Write chunks, which are in the index after `end`; return the words they are written with,
        each once.

        :raises IndexingError: when the disk has no room, or the process that writes has ended.
        """
        # Here, for it loads numpy, which the process that writes does without.
        from rag.text.bm25_documents import encode_documents

        encoded = encode_documents(
            [indexed_text(c.meta, c.text) for c in chunks], [beside(c.meta, c.text) for c in chunks]
        )
        points = [
            chunk_point(chunk.id, chunk.text, chunk.meta, vector)
            for chunk, vector in zip(chunks, encoded.vectors, strict=True)
        ]
        self._directory.require_reserve()
        if self._folder is None:
            make_owned(self._directory.parts)
            # A name of its own: a process that outlived another run must not meet this one.
            self._folder = Path(tempfile.mkdtemp(dir=self._directory.parts)) / "shard"
            self._process.order(self._folder)
        self._process.order(points)
        self._held += [vector.indices for vector in encoded.vectors if vector.indices]
        self._chunks += len(points)
        if self._chunks >= min(max(USUAL, self._all_chunks // _FEW), LARGEST):
            self.end()
        words = [word for word in encoded.words if word not in self._words]
        self._words.update(words)
        return words

    def end(self) -> None:
        """Move what was written into the index; errors are those of `write`."""
        if self._folder is None:
            return
        self._process.order(None)
        counts = _dimension_counts(self._held)
        try:
            failure = self._process.answer()
        except EOFError as error:
            raise self._why_ended(self._process.kill()) from error
        if isinstance(failure, BaseException):
            raise failure
        self._store.import_segments(self._folder, counts)
        self._all_chunks += self._chunks
        self._folder, self._chunks = None, 0
        self._held.clear()
        _give_back()

    def _why_ended(self, code: int) -> IndexingError:
        if code == -signal.SIGBUS:  # no block of the disk for what the engine has mapped
            return disk_full(self._directory.path)
        return IndexingError(
            "the process that writes segments ended before its time",
            f"signal {-code}" if code < 0 else f"exit code {code}",
            hint=INDEX_AGAIN,
        )

    def close(self) -> None:
        """End the process; what is not in the index yet is lost."""
        self._process.close()
        remove(self._directory.parts)


def _dimension_counts(held: Sequence[Sequence[int]]) -> Counter[int]:
    """Return what `rag.index.manifest.dimension_counts` does, in a tenth of the time where chunks
    are many.

    :param held: the dimensions of each chunk.
    """
    import numpy as np

    counts = Counter[int]()
    if held:
        dimensions, chunks = np.unique(np.concatenate(held), return_counts=True)
        counts.update(dict(zip(dimensions.tolist(), chunks.tolist(), strict=True)))
        counts[CHUNKS] = len(held)
    return counts


def write_segments() -> None:
    """Be the process that writes segments, each ordered as a folder, lists of points, and `None`,
    until the standard input ends."""
    gc.disable()  # points are millions of short-lived lists and no circles among them
    answers = Connection(os.dup(1), readable=False)
    os.dup2(2, 1)  # nothing else may get among the answers
    next_order = partial(pickle.load, sys.stdin.buffer)
    with suppress(EOFError, BrokenPipeError):  # who ordered is gone
        while True:
            folder = next_order()
            try:
                build_segments(folder, iter(next_order, None))
                answers.send(None)
            except Exception as error:
                answers.send(error)
                return
            gc.collect()
            _give_back()


def _give_back() -> None:
    """Return to the system what was freed; glibc keeps it where something above is in use, which
    after a segment was built is two thirds. Other systems do nothing."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
