"""What is printed on a terminal: broken between words, and not where the terminal ends.

Chinese and Japanese are broken between characters too, but not inside a Latin word among them, and
no line begins with a mark such as 。 or ends with one such as 「.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from shutil import get_terminal_size
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.text import Text

_WORD = re.compile(r"[^ ]+ *")
_WIDE = (
    "\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f"
    "\uff01-\uff60\uffe0-\uffe6\U00020000-\U0003fffd"
)
_OPENING, _CLOSING = (
    "（「『【〔《〈［｛(",
    "、。，．・：；？！）」』】〕》〉］｝々ー…ぁぃぅぇぉっゃゅょァィゥェォッャュョ",
)
_UNIT = re.compile(rf"[{_OPENING}]*(?:[^ {_WIDE}]+|[{_WIDE}]?)[{_CLOSING}]* *|.", re.DOTALL)


def wrapped(text: str, columns: int, indent: int = 0) -> str:
    """Return a line as lines that are no wider than a terminal, if words let it.

    A word that is wider by itself stays whole: the terminal breaks it, and a path that is copied
    from there is one.

    :param columns: of the terminal; a character of Chinese or Japanese fills two.
    :param indent: columns that all lines but the first begin after.
    """
    if width(text) <= columns:
        return text
    edges = [0, *_breaks(text, columns, indent), len(text)]
    lines = [text[start:end].rstrip(" ") for start, end in pairwise(edges)]
    return f"\n{' ' * indent}".join(lines)


def wrapped_text(text: Text, columns: int, indent: int = 0) -> Text:
    """Do as `wrapped` with a styled text of any number of lines."""
    lines = []
    for line in text.split("\n", allow_blank=True):
        first, *others = line.divide([*_breaks(line.plain, columns, indent)])
        for other in others:
            other.pad_left(indent)
        lines += [first, *others]
    for line in lines:
        line.rstrip()
    return text.blank_copy("\n").join(lines)


def _breaks(text: str, columns: int, indent: int) -> Iterator[int]:
    """Yield where lines begin, but for the first."""
    at = start = len(text) - len(text.lstrip(" "))
    used = at
    for unit in _units(text[start:], columns - indent):
        if at > start and used + width(unit.rstrip(" ")) > columns:
            yield at
            start, used = at, indent
        at, used = at + len(unit), used + width(unit)


def _units(text: str, columns: int) -> Iterator[str]:
    """Yield what is not broken: words, which may be paths, and single wide characters."""
    for word in _WORD.findall(text):
        if word.isascii() or ("/" in word and width(word.rstrip(" ")) <= columns):
            yield word
        else:
            yield from filter(None, _UNIT.findall(word))


def width(text: str) -> int:
    """Return how many columns a text fills."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def columns_of(stream: TextIO) -> int:
    """Return how wide the terminal of a stream is; 80 where it does not say."""
    if not os.environ.get("COLUMNS", "").strip("0"):
        try:
            return os.get_terminal_size(stream.fileno()).columns or 80
        except (OSError, ValueError):  # it is none, or no file
            return 80
    return get_terminal_size().columns
