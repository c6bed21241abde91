"""Note batches: enough new notes to be read and written apart, as segments of the index, by two
processes where that pays.

What a note batch becomes depends on its notes alone, not on which process makes it, nor on when.
"""

from __future__ import annotations

import gc
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import chain
from math import ceil
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

from rag.config import IndexConfig
from rag.exceptions import INDEX_AGAIN, IndexingError
from rag.index.note_rows import NoteRow, Span
from rag.index.searchable_text import beside, indexed_text
from rag.index.snapshots import IndexDirectory
from rag.indexing.note_reader import NoteChunk, read_files
from rag.stores.base.points import Point, chunk_point, weight
from rag.stores.edge.shard import build_segments
from rag.support.disk_space import disk_full
from rag.support.file_kinds import DOCUMENTS
from rag.support.memory_limits import free_memory, give_back, limit_arenas
from rag.support.owned_folders import make_owned
from rag.support.pipeline_parts import own_errors
from rag.support.processes import PythonProcess, may_start, processors, take_orders
from rag.text.bm25_documents import DocumentEncoder
from rag.vault.discovery import NoteFile
from rag.vault.document_process import take_one_process
from rag.vault.readers import reader_of

# A note batch makes a segment, which is not merged again. To build one takes 75 MB and 13 KB a
# chunk, twice where two processes do; but every search opens every segment, for some 10 ms, and
# each repeats what several have of a word. So batches of 9 MB, some 15,000 chunks, keep the first
# index of 10,000 notes below 700 MB of memory, and those of large vaults grow with them.
SMALLEST = 1_000_000
USUAL = 9_000_000
LARGEST = 16_000_000
_USUALLY = 8  # batches, before they grow
_TWO_PROCESSES = 9_000_000  # bytes that pay for a second one
_MOST_NOTES = 5_000
_BATCH_CHUNKS = 1000
_TOGETHER = 512  # chunks whose vectors are held at once; those of one may take 100 KB
_MOST_PROCESSES = 2
_TEXTS = tuple(one for one, kind in DOCUMENTS.items() if kind in ("text", "csv", "org", "rst"))
_PACKED = 30_000  # bytes of text of a small PDF or file of Office, and what it takes to read it
_MEMORY = 450 << 20  # bytes that each may take, the files counted that it has mapped
Progress = Callable[[int], None]


@dataclass(frozen=True)
class NoteBatch:
    """Notes to be read, the index they are for, and when their vault was copied."""

    vault: str
    root: str
    files: list[NoteFile]
    config: IndexConfig
    directory: str
    copied: Sequence[Span] = ()


@dataclass
class BuiltSegments:
    """What became of a note batch: a folder of segments, and what the manifest is to know of them.

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
    # Documents are read by processes of their own.
    notes = sum(file.size for file in files if not reader_of(file.path).is_document)
    pays = notes >= _TWO_PROCESSES
    batches = total / min(max(USUAL, total / _USUALLY), LARGEST)
    count = max(ceil(batches) if pays else round(batches), ceil(len(files) / _MOST_NOTES))
    if pays:
        count += count % 2  # so that both have as much to do
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


# -- building --------------------------------------------------------------------------


def build(note_batch: NoteBatch, encoder: DocumentEncoder, progress: Progress) -> BuiltSegments:
    """Read the notes of a note batch and write their chunks into segments. An encoder that is kept
    knows the words of earlier batches.

    :raises IndexingError: when the disk has no room, or a chunk cannot be written.
    """
    directory = IndexDirectory(note_batch.directory)
    words: set[str] = set()
    with own_errors(IndexingError, "the indexing pipeline failed"):
        make_owned(directory.parts)
        # A name of its own: a process that outlived another run must not meet this one.
        built = BuiltSegments(Path(tempfile.mkdtemp(dir=directory.parts)) / "shard")
        batches = _read(note_batch, built, progress)
        points = (_points(chunks, directory, encoder, words) for chunks in batches)
        built.counts = build_segments(built.folder, chain.from_iterable(points))
    built.words = sorted(words)
    return built


def _read(
    note_batch: NoteBatch, built: BuiltSegments, progress: Progress
) -> Iterator[list[NoteChunk]]:
    """Yield the chunks of a note batch, those of some notes at a time; fill in `built`."""
    chunks: list[NoteChunk] = []
    of, done = note_batch, 0
    index = Path(of.directory)
    for file, note in read_files(of.root, of.vault, of.files, of.config, of.copied, index):
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


# -- processes -------------------------------------------------------------------------


def build_all(batches: Sequence[NoteBatch], progress: Progress) -> Generator[BuiltSegments]:
    """Build batches and yield what became of each, in order: in as many processes as there are
    processors and free memory for, at most 2; in this one where that is one, or there is one batch.

    :param progress: called repeatedly with how many more notes are done.
    """
    count = min(_affordable(), len(batches), _MOST_PROCESSES)
    with ExitStack() as stack:
        threads = stack.enter_context(ThreadPoolExecutor(_MOST_PROCESSES))
        idle, telling = SimpleQueue[PythonProcess](), Lock()
        with suppress(OSError):  # the system allows no more
            while 1 < count > idle.qsize() and may_start():
                idle.put(stack.enter_context(PythonProcess(__name__, work.__name__)))

        def order(batch: NoteBatch) -> BuiltSegments:
            worker = idle.get()
            try:
                worker.order(batch)
                while isinstance(answer := worker.answer(), int):
                    with telling:
                        progress(answer)
            except EOFError as error:  # it ended before, or it cannot be trusted
                raise _why_ended(worker.kill(), batch.directory) from error
            finally:
                idle.put(worker)
            if isinstance(answer, BaseException):
                raise answer
            built: BuiltSegments = answer
            return built

        if idle.qsize():
            yield from threads.map(order, batches)
            return
    encoder = DocumentEncoder()
    for batch in batches:
        yield build(batch, encoder, progress)
        give_back()


def _affordable() -> int:
    count, free = processors(), free_memory()
    return count if free is None else max(1, min(count, free // _MEMORY))


def _why_ended(code: int, directory: str) -> IndexingError:
    """Return what the end of a worker means."""
    if code == -signal.SIGBUS:  # no block of the disk for what the engine has mapped
        return disk_full(directory)
    return IndexingError(
        "a process that reads notes ended before its time",
        f"signal {-code}" if code < 0 else f"exit code {code}",
        hint=INDEX_AGAIN,
    )


def work() -> None:
    """Be a worker: build batches until the standard input ends."""
    limit_arenas(1)
    take_one_process()
    gc.disable()  # indexing makes millions of short-lived lists and no circles among them
    encoder = DocumentEncoder()
    take_orders(lambda batch, tell: build(batch, encoder, tell), _clean_up)


def _clean_up() -> None:
    gc.collect()
    give_back()
