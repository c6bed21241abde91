"""Where sentences end, in English and Japanese."""

from __future__ import annotations

import re

# A Japanese stop ends a sentence wherever it stands; a Latin one only before white space.
# A closing quote or bracket belongs to the sentence it closes; blank lines are taken at once.
_END = re.compile(r"[。．！？]+[」』）】”’]*|[.!?]+[\"'”’)\]]*(?=\s)|\n(?:[ \t\u3000]*\n)*")
ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Za-z]|e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|Prof|St|No|Fig|Eq|approx|ca)|^\s*\d+)\.$"
)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of every sentence; together they cover `text` without gaps.

    A line end ends a sentence too: a heading or a list item is one.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for stop in _END.finditer(text):
        end = stop.end()
        if stop[0][0] == "." and ABBREVIATION.search(text[max(start, end - 12) : end]):
            continue
        if text[start:end].strip():
            spans.append((start, end))
            start = end
    if start < len(text):
        if text[start:].strip() or not spans:
            spans.append((start, len(text)))
        else:
            spans[-1] = (spans[-1][0], len(text))
    return spans
