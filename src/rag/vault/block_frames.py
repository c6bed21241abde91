"""What each part of a long fence or table repeats, so that it can be read by itself."""

from __future__ import annotations

from typing import NamedTuple

from rag.vault.markdown import Kind, closes_fence

_HEADER_LINES = {Kind.CODE: 1, Kind.TABLE: 2}  # a fence's language; names of columns and the rule


class Frame(NamedTuple):
    """The lines around the rows of a block: `head` ends with a line end and `tail` begins with
    one, or they are empty. The rows are the block's text from `first` to before `last`.
    """

    head: str
    tail: str
    first: int
    last: int

    def around(self, rows: str) -> str:
        """Return rows as a block of their own."""
        return f"{self.head}{rows}{self.tail}"


def frame_of(text: str, start: int, end: int, kind: Kind) -> Frame:
    """Return the frame of a block.

    :param kind: whether the block, `text` from `start` to before `end`, is a fence or a table.
    """
    end = start + len(text[start:end].rstrip())
    first = start
    for _ in range(_HEADER_LINES[kind]):
        first = text.find("\n", first, end) + 1 or end
    last = end
    if kind == Kind.CODE and closes_fence(text[text.rfind("\n", 0, end) + 1 : end]):
        last = max(first, text.rfind("\n", first - 1, end))
    return Frame(text[start:first], text[last:end], first, last)
