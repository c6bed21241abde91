"""The passages of notes, and which of them many notes repeat."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from rag.vault.readable import readable_lines
from rag.vault.sentence_units import sentence_units

if TYPE_CHECKING:
    from haystack import Document

MANY = 4  # other notes with a line, or all of three, make it part of a template
_NUMBER = re.compile(r"\d+")
_LINKS_ONLY = re.compile(r"(?:[\s\d.,;·|*+>・、-]|!?\[\[[^\[\]]*\]\]|!?\[[^\[\]]*\]\([^()]*\))+")


class Sentence(NamedTuple):
    """A sentence or two: the number of the line in the file where they begin, what they say, and
    that line."""

    line: int
    text: str
    written: str


def sentences_of(chunk: Document) -> list[Sentence]:
    """Return the sentences of a chunk, in order; of a chunk without any, its first line."""
    content, first = chunk.content or "", int(chunk.meta["line_start"])
    first -= int(chunk.meta.get("repeated") or 0)
    lines = content.splitlines() or [""]
    if units := sentence_units(content):
        return [Sentence(first + unit.line, unit.text, lines[unit.line]) for unit in units]
    if read := readable_lines(content):
        return [Sentence(first + read[0].number, read[0].text, lines[read[0].number])]
    return [Sentence(first, content.strip(), lines[0])]


def leads_elsewhere(line: str) -> bool:
    """Return whether a line holds nothing but links."""
    return bool(_LINKS_ONLY.fullmatch(line))


class RepeatedLines:
    """The lines, headings and titles that many notes hold, whatever numbers stand in them."""

    def __init__(self, chunks: Iterable[Document]) -> None:
        notes: dict[str, set[str]] = defaultdict(set)
        every = set()
        for chunk in chunks:
            note = str(chunk.meta.get("file_id"))
            every.add(note)
            names = (str(chunk.meta.get("title") or ""), *(chunk.meta.get("heading") or ()))
            for line in (*(chunk.content or "").splitlines(), *names):
                notes[_bare(line)].add(note)
        many = min(max(4, len(every)), MANY + 1)  # the note itself among them
        self._lines = {line for line, held in notes.items() if line and len(held) >= many}

    def __contains__(self, line: str) -> bool:
        return _bare(line) in self._lines

    def without(self, text: str) -> str:
        """Return a text without these lines."""
        return "\n".join(line for line in text.splitlines() if line not in self)


def _bare(line: str) -> str:
    return _NUMBER.sub("0", line).strip().casefold()
