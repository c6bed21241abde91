"""Text that files of other kinds hold, as the lines of a note may be."""

from __future__ import annotations

from typing import Any


def plain_text(value: Any) -> str:
    """Return a text with `\\n` as its only line end and nothing that no file could hold; empty for
    what is no text."""
    if not isinstance(value, str):
        return ""
    text = value.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def one_line(value: Any) -> str:
    """Return a text as one line; empty for what is no text."""
    return " ".join(plain_text(value).split())
