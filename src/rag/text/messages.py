"""Words for messages: what they count, and what they quote."""

from __future__ import annotations

from rag.text.sanitize import without_controls

_LONGEST = 160  # characters of what a message quotes


def plural(count: int, noun: str) -> str:
    """`1 note`, `1,204 notes`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def time_left(items: int, rate: float) -> str:
    """`about 20 minutes`, for what is left at so many items a second."""
    minutes = items / rate / 60
    if minutes < 1.5:
        return "about a minute"
    if minutes < 90:
        return f"about {minutes:.0f} minutes"
    return f"about {minutes / 60:.0f} hours"


def minute(time: str) -> str:
    """`2026-11-25 09:30`, for a time in ISO 8601."""
    return time[:16].replace("T", " ")


def brief(text: str, longest: int = _LONGEST) -> str:
    """Return a text, such as that of an error, as one line that is not too long for a message."""
    line = " ".join(without_controls(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def shortened(text: str, width: int = 80) -> str:
    """Return the beginning of a text that may be long."""
    return text if len(text) <= width else f"{text[: width - 1]}…"
