"""Alternatives in the subject of a question about the notes themselves: "flour, butter or milk"."""

from __future__ import annotations

import re

from rag.query.syntax import condition_spans

_HIRAGANA = "\u3041-\u3096"
_JOINED = re.compile(
    # What is quoted is passed over. 静か, 3か月: not every か joins two words.
    '"[^"]*"|“[^”]*”|「[^」]*」'
    r"|(?P<or>,? +or +(?:about |on |the words? )?|[、 ]?(?:または|もしくは|あるいは|それとも)、?"
    rf"|(?<=[^{_HIRAGANA}\s静豊確僅遥])か(?=[^{_HIRAGANA}\s月所国条年]))"
    "|(?P<comma>, +|、)",
    re.IGNORECASE,
)
_EITHER = re.compile(r"either (?=\S)", re.IGNORECASE)


def alternatives(subject: str) -> list[str]:
    """Return the alternatives of a subject, each with the conditions of the query syntax that
    stand in it; none where it has no "or".

    >>> alternatives("flour, butter or milk -Tom")
    ['flour -Tom', 'butter -Tom', 'milk -Tom']
    >>> alternatives("フェリーかバス"), alternatives("the ferry")
    (['フェリー', 'バス'], [])
    """
    if not any(match["or"] for match in _JOINED.finditer(subject)):
        return []
    conditions, rest, at = [], "", 0
    for start, end in condition_spans(subject):
        conditions.append(subject[start:end])
        rest, at = rest + subject[at:start], end
    rest = _EITHER.sub("", (rest + subject[at:]).strip(), count=1)
    parts, at = [], 0
    for match in _JOINED.finditer(rest):
        if match.lastgroup:
            parts.append(rest[at : match.start()].strip())
            at = match.end()
    parts.append(rest[at:].strip())
    if len(parts) < 2 or not all(parts):  # an "or" of the query syntax, or of a filter
        return []
    return [" ".join([part, *conditions]) for part in parts]
