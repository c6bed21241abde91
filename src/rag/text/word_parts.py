"""Words inside a word that is written in mixed case: `OOM` and `Killed` in `OOMKilled`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# Where a part begins with a capital inside a word, as in names of programs. That the expression
# begins with the capital lets `re` skip all else: eight times as fast as one that looks back first.
_SEAM = re.compile(r"[A-Z](?:(?<=[a-z0-9][A-Z])|(?<=[A-Z]{2})[a-z])")
_WORD = re.compile("[A-Za-z0-9]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SHORTEST = 3  # letters of what is worth finding
_MOST_PARTS = 6  # of a word; base64 has more


class WordPart(NamedTuple):
    """Some neighbouring parts of a word, in lower case, and where they stand in the text."""

    text: str
    start: int
    end: int


def word_parts(text: str) -> Iterator[WordPart]:
    """Yield the parts of each word in mixed case, and neighbouring ones together: of
    `CrashLoopBackOff` crash, crashloop, crashloopback, loop, …, backoff, off, but not the whole.
    """
    for word in _words(text):
        parts = [(part.start(), part.end()) for part in _PART.finditer(word[0])]
        if not 1 < len(parts) <= _MOST_PARTS:
            continue
        for first, (start, _) in enumerate(parts):
            for _, end in parts[first : len(parts) - (first == 0)]:
                if end - start >= _SHORTEST:
                    at = word.start()
                    yield WordPart(word[0][start:end].lower(), at + start, at + end)


def _words(text: str) -> Iterator[re.Match[str]]:
    """Yield the words of Latin letters and digits that are in mixed case."""
    done = 0
    for seam in _SEAM.finditer(text):
        if seam.start() < done:
            continue
        begin = seam.start()
        while begin > done and text[begin - 1].isascii() and text[begin - 1].isalnum():
            begin -= 1
        word = _WORD.match(text, begin)
        if word:
            done = word.end()
            yield word
