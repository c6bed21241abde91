"""What both ways of finding related notes give, and how passages are numbered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rag.vault.readable import readable_lines
from rag.vault.sentence_units import sentence_units

if TYPE_CHECKING:
    from haystack import Document

PASSAGES = 2  # of a note, that are given


@dataclass(frozen=True)
class Passage:
    """A sentence or two of a note that tell why it is related: `line` is the number in its file
    where they begin."""

    line: int
    text: str
    score: float


@dataclass
class Ranked:
    """A note that was found: its id, its score from 0 to 1, and its chunks, the best first.

    `likeness` is how near in meaning its nearest sentences are, 0 where words alone told; `nearest`
    are these: chunk, number of the sentence in it, and score, the best first.
    """

    id: str
    score: float
    chunks: list[str]
    likeness: float = 0.0
    nearest: list[tuple[str, int, float]] = field(default_factory=list)


def passages_of(chunk: Document) -> Iterator[tuple[int, str]]:
    """Yield line and text of each sentence of a chunk, in order; of a chunk without any, its first
    line."""
    content, first = chunk.content or "", int(chunk.meta["line_start"])
    first -= int(chunk.meta.get("repeated") or 0)
    units = sentence_units(content)
    for unit in units:
        yield first + unit.line, unit.text
    if not units:
        read = readable_lines(content)
        yield (first + read[0].number, read[0].text) if read else (first, content.strip())
