"""From notes to points: the one way, whoever writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rag.index.searchable_text import beside, indexed_text
from rag.indexing.note_reader import ReadNote
from rag.stores.base.points import Point, chunk_point
from rag.text.bm25_documents import DocumentEncoder, Encoded


class NoteChunk(NamedTuple):
    """A chunk to be written: its id, its text, and what its point holds beside it."""

    id: str
    text: str | None
    meta: dict[str, Any]


class EncodedPoints(NamedTuple):
    """The points of some chunks, in their order, and the words that they are written with."""

    points: list[Point]
    words: list[str]


def chunks_of(note: ReadNote) -> list[NoteChunk]:
    """Return the chunks of a note that was read."""
    return [
        NoteChunk(chunk.id, chunk.text, meta)
        for chunk, meta in zip(note.chunks, note.metas, strict=True)
    ]


def encode(chunks: Sequence[NoteChunk], encoder: DocumentEncoder) -> Encoded:
    """Return the sparse vectors of chunks: each is found by its title, headings and text, by the
    parts of words in mixed case, and by what is `beside` it.

    :param encoder: any; one that is kept knows the words of earlier chunks.
    """
    return encoder.encode(
        [indexed_text(c.meta, c.text) for c in chunks], [beside(c.meta, c.text) for c in chunks]
    )


def to_points(chunks: Sequence[NoteChunk], encoder: DocumentEncoder) -> EncodedPoints:
    """Make the points of chunks, with the vectors of `encode`."""
    encoded = encode(chunks, encoder)
    points = [
        chunk_point(chunk.id, chunk.text, chunk.meta, vector)
        for chunk, vector in zip(chunks, encoded.vectors, strict=True)
    ]
    return EncodedPoints(points, encoded.words)
