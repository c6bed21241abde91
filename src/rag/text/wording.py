"""Words for what messages count."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """`1 note`, `1,204 notes`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
