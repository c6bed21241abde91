"""A query as the rules read it: in one spelling, with marks where nothing is left to read."""

from __future__ import annotations

import re
from bisect import bisect_left as bisect

from rag.query.planner.rules.shared_patterns import EXAMINED
from rag.query.syntax import condition_spans
from rag.text.normalize import normalize

TAKEN = "\x1f"  # where words were read that filter
HIDDEN = "\x1e"  # where words are quoted, belong to the query syntax or were read in vain

_LETTER = re.compile(
    "(?:[^\u0300-\u036f\u3099\u309a\uff9e\uff9f]|^)[\u0300-\u036f\u3099\u309a\uff9e\uff9f]{0,9}|.",
    re.DOTALL,
)
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")
_QUOTES = str.maketrans("“”„‘’", '"""\'\'')
_QUOTED = re.compile(
    r'"[^"]{1,200}"|「[^「」]{1,200}」|『[^『』]{1,200}』|(?<![^ (])\'[^\']{1,100}\'(?![a-z0-9])'
)
_WORK = re.compile(  # 昨日の世界という映画
    '[^ 、。「」『』"でにはを]{1,20}'
    "という(?=映画|曲|歌|本|小説|漫画|ドラマ|アニメ|作品|番組|言葉|題)"
)


class NormalizedQuery:
    """The first characters of a query in normal form; positions in it lead back to the query.

    :ivar plain: all of them, lower case, each control character and white space a space.
    :ivar open: as long as `plain`, with `TAKEN` and `HIDDEN` where nothing is left to read.
    :ivar rest: what comes after them in the query.
    :ivar taken: from where to where something was read that filters.
    :ivar dropped: from where to where words announce what the index does not have.
    """

    def __init__(self, query: str) -> None:
        self.query = query
        head = query[:EXAMINED]
        self._at: range | list[int]
        if head.isascii():
            text, self._at = head.lower(), range(len(head) + 1)
        else:
            text, self._at = _normalized(head)
        self.rest = query[EXAMINED:]
        self.plain = self.open = _BLANK.sub(" ", text).translate(_QUOTES)
        self.taken: list[tuple[int, int]] = []
        self.dropped: list[tuple[int, int]] = []
        self._hide_what_is_quoted(head)

    def original(self, start: int, end: int) -> str:
        """Return the words between two positions as they were typed."""
        return self.query[self._at[start] : self._at[end]]

    def words(self, start: int, end: int) -> str:
        """Return the words between two positions as they were typed, without space around."""
        return self.original(start, end).strip()

    def take(self, start: int, end: int) -> None:
        """Note that the words between two positions filter."""
        self.taken.append((start, end))
        self._mark(start, end, TAKEN)

    def drop(self, start: int, end: int) -> None:
        """Note that the words between two positions only announce others: they are left out of
        the text of a query in which something filters."""
        self.dropped.append((start, end))
        self._mark(start, end, HIDDEN)

    def hide(self, start: int, end: int) -> None:
        """Mark a span as consumed: no rule reads it again."""
        self._mark(start, end, HIDDEN)

    def _mark(self, start: int, end: int, mark: str) -> None:
        self.open = f"{self.open[:start]}{mark * (end - start)}{self.open[end:]}"

    def _hide_what_is_quoted(self, head: str) -> None:
        """Hide conditions of the query syntax, what stands between quotes, and names of works."""
        spans = []
        if conditions := condition_spans(head):
            spans = [(bisect(self._at, start), bisect(self._at, end)) for start, end in conditions]
        spans += [(m.start() + 1, m.end() - 1) for m in _QUOTED.finditer(self.plain)]
        if "という" in self.plain:
            spans += [m.span() for m in _WORK.finditer(self.plain)]
        marked = list(self.open)
        for start, end in spans:
            marked[start:end] = HIDDEN * (end - start)
        self.open = "".join(marked)


def _normalized(text: str) -> tuple[str, list[int]]:
    """Return a text's normal form, and for each position in it the one in the text."""
    if len(lower := text.lower()) == len(text) and normalize(text) == lower:
        return lower, list(range(len(text) + 1))
    parts: list[str] = []
    at: list[int] = []
    for letter in _LETTER.finditer(text):
        part = normalize(letter[0])
        parts.append(part)
        at += [letter.start()] * len(part)
    return "".join(parts), [*at, len(text)]
