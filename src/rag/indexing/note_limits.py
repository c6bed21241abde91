"""Bounds of what a note's chunks come to together: their words, and what each of them repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from rag.text.word_count import rough_words
from rag.vault import Chunk, Note, limits

_FEWEST = 2  # characters of a word and what parts it from the next


def bound_chunks(note: Note, chunks: list[Chunk]) -> list[Chunk]:
    """Return the chunks of a note as far as they are indexed.

    What they repeat (title, headings and tags) is cut in proportion where it comes to too much;
    the note is changed then, and its `problems` say so.
    """
    kept = _within_words(note, chunks)
    most = _within_budget(note.tags, limits.MOST_OF_TAGS // max(1, len(kept)))
    if len(note.tags) > most:
        note.problems.append(
            f"{len(note.tags):,} tags are too many for a note of {len(kept):,} chunks:"
            f" only the first {most:,} are kept"
        )
        note.tags = note.tags[:most]
    return _within_share(note, kept)


def _within_budget(tags: Sequence[str], budget: int) -> int:
    """Return how many tags there is room for, from the first on."""
    costs = accumulate(limits.COST_OF_TAG + len(tag) for tag in tags)
    return sum(cost <= budget for cost in costs)


def _within_words(note: Note, chunks: list[Chunk]) -> list[Chunk]:
    if sum(len(chunk.text) for chunk in chunks) < _FEWEST * limits.MOST_WORDS:
        return chunks
    known: set[str | bytes] = set()
    for number, chunk in enumerate(chunks):
        known.update(rough_words(chunk.text))
        if len(known) > limits.MOST_WORDS:
            note.problems.append(
                f"more than {limits.MOST_WORDS:,} different words:"
                f" only its first {number:,} chunks are indexed"
            )
            return chunks[:number]
    return chunks


def _within_share(note: Note, chunks: list[Chunk]) -> list[Chunk]:
    share = limits.MOST_REPEATED // max(1, len(chunks))
    longest = max((sum(map(len, chunk.heading)) for chunk in chunks), default=0)
    if len(note.title) + longest <= share:
        return chunks
    note.problems.append(
        f"title and headings are too long for a note of {len(chunks):,} chunks:"
        f" only {share:,} characters of them are kept with each"
    )
    note.title = note.title[: share // 2].rstrip()
    room = share - len(note.title)
    return [replace(chunk, heading=_innermost(chunk.heading, room)) for chunk in chunks]


def _innermost(heading: Sequence[str], room: int) -> tuple[str, ...]:
    """Return the last headings of a path, as many as there is room for."""
    kept: list[str] = []
    for text in reversed(heading):
        if room <= 0:
            break
        kept.append(text[:room])
        room -= len(text)
    return tuple(reversed(kept))
