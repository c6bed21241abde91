"""Where sentences end, in English and Japanese."""

from __future__ import annotations

import re
from collections.abc import Iterator

# A Japanese stop ends a sentence wherever it stands; a Latin one only before white space.
# A closing quote or bracket belongs to the sentence it closes; blank lines are taken at once.
# A run of Latin stops is examined once, and not again from each of them; most abbreviations
# (see below) are passed over at once too.
_SHORT = (
    r"(?:(?<=\b[A-Za-z]\.)|(?<=\b(?:vs|cf|Mr|Ms|Dr|St|No|Eq|ca)\.)"
    r"|(?<=\b(?:e\.g|i\.e|etc|Mrs|Fig)\.)|(?<=\bProf\.)|(?<=\bapprox\.))"
)
_END = re.compile(
    r"[。．！？]+[」』）】”’]*"
    rf"|[.!?](?<![.!?][.!?])(?!{_SHORT}\s)[.!?]*+[\"'”’)\]]*+(?=\s)"
    r"|\n(?:[ \t\u3000]*\n)*"
)
ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Za-z]|e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|Prof|St|No|Fig|Eq|approx|ca)|^\s*\d+)\.$"
)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of every sentence; together they cover `text` without gaps.

    A line end ends a sentence too: a heading or a list item is one.
    """
    return list(iter_sentence_spans(text))


def iter_sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield what `sentence_spans` returns."""
    held: tuple[int, int] | None = None  # it may yet take up the white space behind it
    start = blank = 0  # from `start` to `blank` there is white space only
    for stop in _END.finditer(text):
        end = stop.end()
        if stop[0][0] == "." and ABBREVIATION.search(text[max(start, end - 12) : end]):
            continue
        if text[blank:end].strip():
            if held:
                yield held
            held, start = (start, end), end
        blank = end
    if start < len(text):
        if text[blank:].strip() or not held:
            if held:
                yield held
            held = start, len(text)
        else:
            held = held[0], len(text)
    if held:
        yield held
