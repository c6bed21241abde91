"""Messages on a terminal: broken between words, and not where the terminal ends."""

from __future__ import annotations

import os
import re
import unicodedata
from shutil import get_terminal_size
from typing import TextIO

_PART = re.compile(r"[^ ]+ *")


def wrapped(text: str, columns: int, indent: int = 0) -> str:
    """Return a line as lines that are no wider than a terminal, if words let it.

    A word that is wider by itself stays whole: the terminal breaks it, and a path that is copied
    from there is one.

    :param columns: of the terminal; a character of Chinese or Japanese fills two.
    :param indent: columns that all lines but the first begin after.
    """
    if width(text) <= columns:
        return text
    start = len(text) - len(text.lstrip(" "))
    lines, line = [], text[:start]
    for part in _PART.findall(text[start:]):
        if line.strip() and width(line + part.rstrip(" ")) > columns:
            lines.append(line.rstrip(" "))
            line = " " * indent
        line += part
    return "\n".join([*lines, line.rstrip(" ")])


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
