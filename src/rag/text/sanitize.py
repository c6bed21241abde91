"""Characters that steer a terminal instead of being shown.

Names (of files, vaults, settings) are made visible whole: nobody should mistake one for another.
In text, such as that of a note, what steers is left out, and lines and tabs stay.
"""

from __future__ import annotations

import re

# Marks, embeddings, overrides and isolates, which turn the direction of what follows.
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Whole ANSI sequences, so that no `[31m` is left of one; other controls but tab and line feed.
_STEERING = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b.?"
    f"|[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}]",
    re.DOTALL,
)
# What any of that begins with; most texts hold none of it, and are looked through much faster.
_BEGINNING = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}]")
# C0, DEL and C1; what ends a line or a paragraph; surrogates, as of bytes that are no UTF-8.
_UNSEEN = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029{_BIDI}\ud800-\udfff]")
# The same without what ends lines and sets columns.
_UNSEEN_IN_LINES = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{_BIDI}\ud800-\udfff]")


def without_controls(text: str) -> str:
    """Return a text that is safe on a terminal: a note, a model or a server may say anything."""
    return _STEERING.sub("", text) if _BEGINNING.search(text) else text


def visible(text: str) -> str:
    r"""Return a name as one line in which every character is seen: `\x1b`, `\n`, `\u202e`."""
    return _UNSEEN.sub(_escaped, text)


def visible_lines(text: str) -> str:
    """Return the same of several lines, which stay lines, as do tabs."""
    return _UNSEEN_IN_LINES.sub(_escaped, text)


def escaped_json(text: str) -> str:
    r"""Return JSON in which the same characters are `\u009b`, and all others as they were."""
    return _UNSEEN_IN_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
