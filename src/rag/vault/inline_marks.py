"""Code spans and emphasis within lines, found at a cost that is linear in the text."""

from __future__ import annotations

import re

# A run of backquotes that no run of the same length follows costs reading the rest of its line.
# There are as many such runs in a line as lengths, so the lengths are few: nobody writes longer.
_MOST_BACKQUOTES = 8
# The group is atomic, not possessive: Python before 3.11.5 matches `(?:…)*+` wrongly.
CODE_SPAN = rf"(?<!`)(`{{1,{_MOST_BACKQUOTES}}})(?!`)[^`\n]*+(?>(?:(?!\1(?!`))`++[^`\n]*+)*)\1(?!`)"

# Emphasis by single marks, and code, in which they are none. A mark within a word is a letter.
_EMPHASIS = re.compile(
    rf"{CODE_SPAN}"
    r"|(?<![A-Za-z0-9*])\*(?=[^\s*])(?P<star>[^*\n]*[^\s*])\*(?![A-Za-z0-9*])"
    r"|(?<!\w)_(?=[^\s_])(?P<line>[^_\n]*[^\s_])_(?!\w)"
)
_OPENING = re.compile(r"(\*\*|__|~~|==)(?=\S)")
_CLOSING = {mark: re.compile(rf"(?<=\S){re.escape(mark)}|\n") for mark in ("**", "__", "~~", "==")}


def without_emphasis(text: str) -> str:
    r"""Return Markdown without the marks of emphasis: `(\*\*|__|~~|==)(?=\S)(.+?)(?<=\S)\1`
    replaced by its second group, but that what is opened again and again and never closed costs
    one look at its line and no more."""
    kept: list[str] = []
    done = at = 0
    unclosed: dict[str, int] = {}  # up to where it is known that a mark is not closed
    while opening := _OPENING.search(text, at):
        begin, mark = opening.start(), opening[1]
        at = begin + 1
        if begin < unclosed.get(mark, 0):
            continue
        closing = _CLOSING[mark].search(text, begin + 3)
        if closing and closing[0] == mark:
            kept += text[done:begin], text[begin + 2 : closing.start()]
            done = at = closing.end()
        else:
            unclosed[mark] = closing.start() if closing else len(text)
    kept.append(text[done:])
    return "".join(kept)


def without_single_marks(text: str) -> str:
    """Return Markdown without the single marks of emphasis around words."""
    if "*" not in text and "_" not in text:
        return text
    return _EMPHASIS.sub(lambda found: found["star"] or found["line"] or found[0], text)
