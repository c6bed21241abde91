"""Text that a callback made, which may say that it had to do without its model."""

from __future__ import annotations

from typing import Any


class GeneratedText(str):
    """A text; `fallback` says why no model wrote it, and is empty when one did."""

    fallback: str

    def __new__(cls, text: str, fallback: str = "") -> GeneratedText:
        """Make a text."""
        made = super().__new__(cls, text)
        made.fallback = fallback
        return made


class GeneratedTexts(list[str]):
    """Texts; `fallback` says why no model wrote them, and is empty when one did."""

    def __init__(self, texts: list[str], fallback: str = "") -> None:
        super().__init__(texts)
        self.fallback = fallback


def fallback_of(made: object) -> dict[str, Any]:
    """Return what a query's metadata should say of how its text was made."""
    reason = getattr(made, "fallback", "")
    return {"fallback": reason} if reason else {}
