"""An answer as it streams, cut into what can be judged by itself: sentences, rows, fences.

How the text is cut into deltas makes no difference: a unit is given out once nothing that may
still come can change it.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from rag.answers.citations import CITATION
from rag.vault.sentences import goes_on, is_undecided

SENTENCE, QUOTE, ROW, HEADING, FENCE, BLANK = (
    "sentence",
    "quote",
    "row",
    "heading",
    "fence",
    "blank",
)
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_WHOLE_LINE = re.compile(r"\s*(?:[>|#`~]|$)")
_STOP = re.compile(r"[。．！？]+[」』）】”’\"]*|[.!?…]+[\"”’)*_]*")
_CITATIONS = re.compile(rf"(?:[ \t]*(?:{CITATION.pattern}))*", re.IGNORECASE)
_SPACE = re.compile("[ \t\u3000]*")
_BRACKET = re.compile(r"[\]］】]")
_MARKS = re.compile('[“”「」『』"`]')
_LONGEST_CITATION = 120  # a bracket that is not closed by then is none
_LONGEST_SENTENCE = 1000  # one of more waits for its line's end: looking again and again costs
_MORE = " a"  # what may follow a sentence that is whole
_OPENING, _CLOSING = "“「『", "”」』"
_HIRAGANA = re.compile("[\u3041-\u309f]")


class Unit(NamedTuple):
    """A piece of an answer, with the white space behind it; `begins` a line or not."""

    kind: str
    text: str
    begins: bool = True


class UnitSplitter:
    """Cut a stream of text into units; put together they are the text."""

    def __init__(self) -> None:
        self._buffer = ""
        self._begins = True
        self._fence: list[str] = []
        self._mark = ""

    def feed(self, text: str) -> list[Unit]:
        """Return the units that are whole now."""
        self._buffer += text.replace("\r", "")
        found: list[Unit] = []
        while (end := self._buffer.find("\n")) >= 0:
            line, self._buffer = self._buffer[: end + 1], self._buffer[end + 1 :]
            found += self._line(line)
        holds = self._fence or (self._begins and _WHOLE_LINE.match(self._buffer))
        if not holds and len(self._buffer) <= _LONGEST_SENTENCE:
            starts = [0, *sentence_ends(self._buffer)]
            for first, last in pairwise(starts):
                found.append(Unit(SENTENCE, self._buffer[first:last], self._begins))
                self._begins = False
            self._buffer = self._buffer[starts[-1] :]
        return found

    def end(self, whole: bool = True) -> list[Unit]:
        """Return what was held back until now.

        :param whole: whether the answer came to its end; of one that did not, a sentence or
            fence that is not whole is left out.
        """
        line, self._buffer = self._buffer, ""
        if not whole and not self._fence:
            line = line[: max((end for end in sentence_ends(line + _MORE)), default=0)]
        found = self._line(line) if line else []
        if self._fence and whole:
            found.append(Unit(FENCE, "".join(self._fence)))
        self._fence = []
        return found

    def _line(self, line: str) -> list[Unit]:
        begins, self._begins = self._begins, True
        if self._fence:
            self._fence.append(line)
            closing = _FENCE.match(line)
            if closing and closing[1].startswith(self._mark) and line.strip() == closing[1]:
                whole, self._fence = "".join(self._fence), []
                return [Unit(FENCE, whole)]
            return []
        if begins:
            if opening := _FENCE.match(line):
                self._fence, self._mark = [line], opening[1]
                return []
            if not line.strip():
                return [Unit(BLANK, line)]
            kind = {"#": HEADING, "|": ROW, ">": QUOTE}.get(line.lstrip()[0])
            if kind:
                return [Unit(kind, line)]
        return _sentences(line, begins)


def _sentences(line: str, begins: bool) -> list[Unit]:
    starts = [0, *sentence_ends(f"{line}\n"), len(line)]
    return [Unit(SENTENCE, line[a:b], begins and not a) for a, b in pairwise(starts)]


def sentence_ends(text: str) -> list[int]:
    """Return where in `text` sentences end that are certainly whole, white space behind included.

    The citations behind a stop belong to its sentence. What is in quotation marks or code is
    never cut.
    """
    ends: list[int] = []
    counted, marks = 0, Counter[str]()
    for stop in _STOP.finditer(text):
        cited = _CITATIONS.match(text, stop.end())
        behind = cited.end() if cited else stop.end()
        space = _SPACE.match(text, behind)
        following = space.end() if space else behind
        if not text[following : following + 1].strip():
            break  # what follows may change it; a line end belongs to the sentence before it
        if _may_be_cited(text[following : following + _LONGEST_CITATION]):
            break
        marks.update(_MARKS.findall(text, counted, stop.end()))
        counted = stop.end()
        start = ends[-1] if ends else 0
        if is_undecided(text, start, stop.end()):
            break
        if _is_end(text, start, stop, behind) and not _is_open(marks):
            ends.append(following)
            marks.clear()
    return ends


def _may_be_cited(rest: str) -> bool:
    """Return whether a text begins with a bracket that may become a citation."""
    return rest[0] in "\\[［【" and len(rest) < _LONGEST_CITATION and not _BRACKET.search(rest)


def _is_end(text: str, start: int, stop: re.Match[str], behind: int) -> bool:
    if stop[0][0] in ".!?…":
        if behind == stop.end() and not text[behind].isspace():
            return False  # 3.5, rag.toml
        return stop[0] != "." or not goes_on(text, start, stop.end())
    return not (stop[0][-1] in "」』" and _HIRAGANA.match(text, behind))  # 「…。」と書いた


def _is_open(marks: Counter[str]) -> bool:
    """Return whether a quotation or code has begun and not ended."""
    nested = sum(marks[mark] for mark in _OPENING) - sum(marks[mark] for mark in _CLOSING)
    return nested > 0 or marks['"'] % 2 == 1 or marks["`"] % 2 == 1
