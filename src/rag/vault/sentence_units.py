"""The sentences of a text that are worth an embedding of their own, with their lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from rag.vault.markdown import Kind
from rag.vault.readable import ReadableLine, readable_lines
from rag.vault.sentences import sentence_spans

# What a unit has at least: shorter ones say little alone, and rank worse. 25 Japanese characters
# say as much as 60 of an alphabet.
_LEAST = 60
_DENSE_SCRIPT = re.compile("[\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3]")  # ideographs, kana, Hangul
_CHARACTER = 1.4  # that one of those counts for besides


class SentenceUnit(NamedTuple):
    """A sentence, or a few short ones: `line` is the number of the first one's line, from 0."""

    line: int
    text: str


def sentence_units(content: str) -> list[SentenceUnit]:
    """Cut Markdown into sentences as a reader sees them, without headings.

    A row of a table is one, with the names of its columns. Short ones go together.
    """
    units: list[SentenceUnit] = []
    line, held = 0, ""
    for start, text in _sentences(content):
        line, held = (line, f"{held} {text}") if held else (start, text)
        if _says_enough(held):
            units.append(SentenceUnit(line, held))
            held = ""
    if held and units:
        last = units.pop()
        units.append(last._replace(text=f"{last.text} {held}"))
    elif held:
        units.append(SentenceUnit(line, held))
    return units


def _says_enough(text: str) -> bool:
    if len(text) >= _LEAST:
        return True
    return len(text) + _CHARACTER * len(_DENSE_SCRIPT.findall(text)) >= _LEAST


def _sentences(content: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of each paragraph, with the line that each begins in."""
    for lines in _paragraphs(content):
        text = " ".join(line.text for line in lines)
        if lines[0].kind != Kind.TEXT:
            yield lines[0].number, text
            continue
        starts = list(accumulate((len(line.text) + 1 for line in lines[:-1]), initial=0))
        for start, end in sentence_spans(text):
            said = text[start:end].lstrip()  # white space before it belongs to the line before
            yield lines[bisect_right(starts, end - len(said)) - 1].number, said.rstrip()


def _paragraphs(content: str) -> Iterator[list[ReadableLine]]:
    """Yield the lines of running text that belong together; any other line stands alone."""
    held: list[ReadableLine] = []
    for line in readable_lines(content):
        if held and not (line.goes_on and line.kind == Kind.TEXT):
            yield held
            held = []
        if line.kind != Kind.HEADING:
            held.append(line)
    if held:
        yield held
