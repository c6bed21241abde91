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
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from math import ceil
from multiprocessing.connection import Connection
from pathlib import Path

from rag.config import IndexConfig
from rag.exceptions import INDEX_AGAIN, IndexingError
from rag.index.note_rows import NoteRow
from rag.index.searchable_text import beside, indexed_text
from rag.index.snapshots import IndexDirectory
from rag.indexing.changes import Changes
from rag.indexing.note_reader import NoteChunk, read_files
from rag.stores.base.points import Point, chunk_point, weight
from rag.stores.edge.shard import build_segments
from rag.support.disk_space import disk_full
from rag.support.file_kinds import DOCUMENTS
from rag.support.memory_limits import free_memory, give_back, limit_arenas
from rag.support.owned_folders import make_owned
from rag.support.pipeline_parts import own_errors
from rag.support.processes import PythonProcess, may_start, processors
from rag.text.bm25_documents import DocumentEncoder
from rag.vault.discovery import NoteFile
from rag.vault.readers import reader_of

# A note batch makes a segment, which is not merged again. To build one takes 75 MB and 13 KB a
# chunk; but every search opens every segment, for some 10 ms, and each repeats what several have of
# a word. So batches of 9 MB, some 15,000 chunks, keep the first index of 10,000 notes below 700 MB
# of memory, and those of large vaults grow with them.
SMALLEST = 1_000_000
USUAL = 9_000_000
LARGEST = 16_000_000
_USUALLY = 8  # batches, before they grow
_MOST_NOTES = 5_000
_BATCH_CHUNKS = 1000
_TOGETHER = 512  # chunks whose vectors are held at once; those of one may take 100 KB
_TEXTS = tuple(s for s, kind in DOCUMENTS.items() if kind in ("text", "csv", "org", "rst"))
_PACKED = 30_000  # bytes of text of a small PDF or file of Office, and what it takes to read it
_MEMORY = 900 << 20  # bytes that two processes may take, the files counted that they have mapped
Progress = Callable[[int], None]


@dataclass
class BuiltSegments:
    """What became of a batch of notes: a folder of segments, and what the manifest is to know of
    them.

    `failed` are files that could not be read, and why; `counts` are from `build_segments`.
    """

    folder: Path
    rows: list[NoteRow] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    failed: list[tuple[NoteFile, str]] = field(default_factory=list)
    chunks: int = 0
    counts: Counter[int] = field(default_factory=Counter)


def split(files: Sequence[NoteFile]) -> list[list[NoteFile]]:
    """Part files into runs of about the same number of bytes; none when they are too few."""
    total = sum(map(_weight, files))
    if total < SMALLEST:
        return []
    size = min(max(USUAL, total / _USUALLY), LARGEST)
    count = max(round(total / size), ceil(len(files) / _MOST_NOTES))
    runs: list[list[NoteFile]] = [[] for _ in range(count)]
    before = 0
    for file in files:
        runs[min(before * count // total, count - 1)].append(file)
        before += _weight(file)
    return [run for run in runs if run]


def _weight(file: NoteFile) -> int:
    """Return about how many bytes of text a file holds. Of a PDF most is pictures and fonts, but it
    takes longer to read."""
    is_packed = reader_of(file.path).is_document and not file.path.lower().endswith(_TEXTS)
    return min(file.size, _PACKED + file.size // 20) if is_packed else file.size


# -- reading and weighing --------------------------------------------------------------


def build_all(
    batches: Iterable[Sequence[NoteFile]],
    changes: Changes,
    config: IndexConfig,
    directory: IndexDirectory,
    progress: Progress,
) -> Generator[BuiltSegments]:
    """Write batches of the new notes of a vault as segments, and yield what became of each, in
    order.

    :param progress: called repeatedly with how many more notes are done.
    :raises IndexingError: when the disk has no room, a chunk cannot be written, or the process that
        writes ends.
    """
    encoder = DocumentEncoder()
    with ExitStack() as stack, own_errors(IndexingError, "the indexing pipeline failed"):
        process: PythonProcess | None = None
        if _pays():
            threads = stack.enter_context(ThreadPoolExecutor(1))
            with suppress(OSError):  # the system allows no more
                process = stack.enter_context(PythonProcess(__name__, write_segments.__name__))
        waiting: tuple[BuiltSegments, Future[Counter[int]]] | None = None
        for files in batches:
            make_owned(directory.parts)
            # A name of its own: a process that outlived another run must not meet this one.
            built = BuiltSegments(Path(tempfile.mkdtemp(dir=directory.parts)) / "shard")
            notes = _read(files, changes, config, directory, built, progress)
            words: set[str] = set()
            points = chain.from_iterable(_points(some, directory, encoder, words) for some in notes)
            if process:
                for order in chain([built.folder], points, [None]):
                    process.order(order)
                built.words = sorted(words)
                if waiting:
                    yield _finished(*waiting)
                waiting = built, threads.submit(_answer, process, directory)
            else:
                built.counts = build_segments(built.folder, points)
                built.words = sorted(words)
                yield built
            give_back()
        if waiting:
            yield _finished(*waiting)


def _pays() -> bool:
    """Return whether another process is to write: there are processors and memory for two."""
    free = free_memory()
    return processors() > 1 and may_start() and (free is None or free >= _MEMORY)


def _finished(built: BuiltSegments, counts: Future[Counter[int]]) -> BuiltSegments:
    built.counts = counts.result()
    return built


def _answer(process: PythonProcess, directory: IndexDirectory) -> Counter[int]:
    try:
        answer = process.answer()
    except EOFError as error:  # it ended before, or it cannot be trusted
        raise _why_ended(process.kill(), directory) from error
    if isinstance(answer, BaseException):
        raise answer
    counts: Counter[int] = answer
    return counts


def _read(
    files: Sequence[NoteFile],
    changes: Changes,
    config: IndexConfig,
    directory: IndexDirectory,
    built: BuiltSegments,
    progress: Progress,
) -> Iterator[list[NoteChunk]]:
    """Yield the chunks of some notes, those of a few at a time; fill in `built`."""
    chunks: list[NoteChunk] = []
    done, of = 0, changes
    for file, note in read_files(of.root, of.vault, files, config, of.copied, directory.path):
        done += 1
        if note is None:
            continue
        if isinstance(note, str):
            built.failed.append((file, note))
            continue
        built.rows.append(note.row)
        built.chunks += len(note.chunks)
        chunks += note.chunks
        if len(chunks) >= _BATCH_CHUNKS:
            yield chunks
            progress(done)
            chunks, done = [], 0
    if chunks:
        yield chunks
    progress(done)


def _points(
    chunks: Sequence[NoteChunk],
    directory: IndexDirectory,
    encoder: DocumentEncoder,
    words: set[str],
) -> Iterator[list[Point]]:
    """Yield the points of chunks, some at a time; add the words they are written with."""
    for start in range(0, len(chunks), _TOGETHER):
        part = chunks[start : start + _TOGETHER]
        encoded = encoder.encode(
            [indexed_text(c.meta, c.text) for c in part], [beside(c.meta, c.text) for c in part]
        )
        words.update(encoded.words)
        points = [
            chunk_point(chunk.id, chunk.text, chunk.meta, vector)
            for chunk, vector in zip(part, encoded.vectors, strict=True)
        ]
        directory.require_reserve(sum(map(weight, points)))
        yield points


# -- writing, in a process of its own --------------------------------------------------


def _why_ended(code: int, directory: IndexDirectory) -> IndexingError:
    """Return what the end of the process means."""
    if code == -signal.SIGBUS:  # no block of the disk for what the engine has mapped
        return disk_full(directory.path)
    return IndexingError(
        "the process that writes segments ended before its time",
        f"signal {-code}" if code < 0 else f"exit code {code}",
        hint=INDEX_AGAIN,
    )


def write_segments() -> None:
    """Be that process: write segments, each given as a folder, batches of points, and `None`, until
    the standard input ends."""
    limit_arenas(1)
    gc.disable()  # points are millions of short-lived lists and no circles among them
    answers = Connection(os.dup(1), readable=False)
    os.dup2(2, 1)  # nothing else may get among the answers
    next_order = partial(pickle.load, sys.stdin.buffer)
    with suppress(EOFError, BrokenPipeError):  # who ordered is gone
        while True:
            folder = next_order()
            try:
                answers.send(build_segments(folder, iter(next_order, None)))
            except Exception as error:
                answers.send(error)
                return
            gc.collect()
            give_back()
