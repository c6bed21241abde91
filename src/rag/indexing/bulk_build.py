"""Note batches: enough new notes to be read and written apart, as segments of the index.

What a note batch becomes depends on its notes alone, not on which process makes it, nor on when.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import ceil
from pathlib import Path

from rag.config import IndexConfig
from rag.exceptions import IndexingError
from rag.index.note_rows import NoteRow, Span
from rag.index.snapshots import IndexDirectory
from rag.indexing.note_points import chunks_of, to_points
from rag.indexing.note_reader import ReadNote, read_file
from rag.stores.base.points import Point, weight
from rag.stores.edge.segments import build_segments
from rag.support.pipeline_errors import own_errors
from rag.text.bm25_documents import DocumentEncoder
from rag.vault.discovery import NoteFile

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

    `failed` are files that could not be read, and why.
    """

    folder: Path
    rows: list[NoteRow] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    failed: list[tuple[NoteFile, str]] = field(default_factory=list)
    chunks: int = 0


def split(files: Sequence[NoteFile]) -> list[list[NoteFile]]:
    """Part files into runs of about the same number of bytes; none when they are too few."""
    total = sum(file.size for file in files)
    if total < SMALLEST:
        return []
    size = min(max(USUAL, total / _USUALLY), LARGEST)
    count = max(ceil(total / size), ceil(len(files) / _MOST_NOTES))
    if total >= _TWO_PROCESSES:
        count += count % 2  # so that both have as much to do
    runs: list[list[NoteFile]] = [[] for _ in range(count)]
    before = 0
    for file in files:
        runs[min(before * count // total, count - 1)].append(file)
        before += file.size
    return [run for run in runs if run]


def build(note_batch: NoteBatch, encoder: DocumentEncoder, progress: Progress) -> BuiltSegments:
    """Read the notes of a note batch and write their chunks into segments.

    :param encoder: any; one that is kept knows the words of earlier batches.
    :param progress: called repeatedly with how many more notes are done.
    :raises IndexingError: when the disk has no room, or a chunk cannot be written.
    """
    directory = IndexDirectory(note_batch.directory)
    words: set[str] = set()
    with own_errors(IndexingError, "the indexing pipeline failed"):
        directory.make_parts()
        # A name of its own: a process that outlived another run must not meet this one.
        built = BuiltSegments(Path(tempfile.mkdtemp(dir=directory.parts)) / "shard")
        batches = _batches(note_batch, built, progress)
        points = (_points(notes, directory, encoder, words) for notes in batches)
        build_segments(built.folder, chain.from_iterable(points))
    built.words = sorted(words)
    return built


def _batches(
    note_batch: NoteBatch, built: BuiltSegments, progress: Progress
) -> Iterator[list[ReadNote]]:
    """Yield the notes of a note batch, some at a time; fill in `built`."""
    notes: list[ReadNote] = []
    size = told = 0
    for done, file in enumerate(note_batch.files, 1):
        try:
            of = note_batch
            note = read_file(of.root, of.vault, file, of.config, of.copied)
        except FileNotFoundError:
            continue
        except OSError as error:
            built.failed.append((file, error.strerror or type(error).__name__))
            continue
        built.rows.append(note.row)
        built.chunks += len(note.chunks)
        notes.append(note)
        size += len(note.chunks)
        if size >= _BATCH_CHUNKS:
            yield notes
            progress(done - told)
            notes, size, told = [], 0, done
    if size:
        yield notes
    progress(len(note_batch.files) - told)


def _points(
    notes: list[ReadNote], directory: IndexDirectory, encoder: DocumentEncoder, words: set[str]
) -> Iterator[list[Point]]:
    """Yield the points of some notes; those of a large note some at a time."""
    chunks = [chunk for note in notes for chunk in chunks_of(note)]
    for start in range(0, len(chunks), _TOGETHER):
        encoded = to_points(chunks[start : start + _TOGETHER], encoder)
        words.update(encoded.words)
        directory.require_reserve(sum(map(weight, encoded.points)))
        yield encoded.points
