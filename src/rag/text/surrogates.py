"""Surrogates, which no file and no terminal can hold."""

from __future__ import annotations


def without_halves(text: str) -> str:
    """Return a text with a question mark for each lone half of a surrogate pair: a shell passes
    any bytes, and a model may write anything."""
    return text.encode("utf-8", "replace").decode("utf-8")
