"""Reasoning that a model writes into its answer, told apart from the answer as it streams."""

from __future__ import annotations

_OPEN, _CLOSE = "<think>", "</think>"


class ThinkSplitter:
    """Split a stream of text into answer and reasoning.

    Servers separate the reasoning of the models they know; others begin their answer with
    `<think>`. Only at the very beginning is it taken for a mark, so that an answer may write
    about it. Reasoning that never ends is all reasoning.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state = "start"

    def feed(self, text: str) -> tuple[str, str]:
        """Return what is now certain to be answer, and what is certain to be reasoning."""
        if self._state == "answer":
            return text, ""
        self._held += text
        if self._state == "start":
            begun = self._held.lstrip()
            if _OPEN.startswith(begun[: len(_OPEN)]) and len(begun) < len(_OPEN):
                return "", ""
            if not begun.startswith(_OPEN):
                return self._all("answer"), ""
            self._state, self._held = "thinking", begun[len(_OPEN) :]
        thought, mark, rest = self._held.partition(_CLOSE)
        if mark:
            self._state, self._held = "gap", rest
            answer, _ = self._gap()
            return answer, thought
        if self._state == "gap":
            return self._gap()
        keep = next((n for n in range(len(_CLOSE) - 1, 0, -1) if thought.endswith(_CLOSE[:n])), 0)
        self._held = thought[len(thought) - keep :]
        return "", thought[: len(thought) - keep]

    def end(self) -> tuple[str, str]:
        """Return what was held back until now."""
        held = self._all(self._state)
        return ("", held) if self._state == "thinking" else (held, "")

    def _gap(self) -> tuple[str, str]:
        """Leave out the blank lines between reasoning and answer."""
        self._held = self._held.lstrip()
        return (self._all("answer"), "") if self._held else ("", "")

    def _all(self, state: str) -> str:
        held, self._held, self._state = self._held, "", state
        return held
