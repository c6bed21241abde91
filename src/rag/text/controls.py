"""Characters that steer a terminal instead of being shown."""

from __future__ import annotations

import re

# Whole ANSI sequences, so that no `[31m` is left of one; other controls but tab and line feed;
# marks that turn the direction of what follows.
_CONTROL = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b.?"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]",
    re.DOTALL,
)


def without_controls(text: str) -> str:
    """Return a text that is safe on a terminal: a note, a model or a server may say anything."""
    return _CONTROL.sub("", text)
