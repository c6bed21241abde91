"""Words that turn a filter round: "not", "except" and "haven't" before it, 以外 and ではない after.

Tags that are not wanted can be left out, and so can times with one open end. What cannot be said
as a filter filters nothing, and its words stay as they are.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rag.query.planner.rules.shared_patterns import NOTE, B

_NO = (
    "not|never|no|without|except(?:ing)?(?: +for)?|excluding|excludes?|besides|minus|ignor(?:e|ing)"
    "|outside(?: +of)?|other +than|apart +from|(?:every|any)thing +but|all +but|hid(?:e|ing)"
    "|omit(?:ting)?|skip(?:ping)?|leav(?:e|ing) +out"
    "|(?:is|are|was|were|have|has|had|do|does|did)n'?t"
)
_BETWEEN = (
    f"{NOTE}|been|be|from|show|list|find|include|want|need|give|see|me|any|all|the|my|our|an?|those"
    "|these|ones?|anything|everything|stuff|that|which|are|is|were|was|have|has|i've|i|we"
)
_LOOSE = "only|just|write|edit|create|make|change|update|touch|modify|revise|record|save|add"
_BEFORE = re.compile(
    rf"{B}(?:(?:and|but|or|that|which|i|we|are|is|were|was|have|has|do|did) +)*"
    rf"(?<!not )(?<!n't )(?:{_NO}) +"
    rf"(?:(?:(?P<loose>{_LOOSE})|{_BETWEEN}) +){{0,6}}(?:\( *)?$"
)
_AFTER = re.compile(
    " ?(?:タグ|保管庫)?(?:以外|(?:なし|無し)|を(?:除|のぞ)(?:く|いた|いて|き)?"
    "|(?:では|じゃ|で)な(?:い|く)|(?:の|が|は)?(?:付いて|ついて)い?ない|(?:の|が|に|には)(?:ない|無い)"
    "|(?P<loose>だけで?(?:は|じゃ)?な(?:い|く))"
    "|(?:し|さ|され|れ)?(?:[てで]い?)?な(?:い|かった))(?:の|で|に|は)?"
)
_REACH = 60  # characters before a filter


class Negation(NamedTuple):
    """From where to where a filter is spoken of, with what turns it round.

    :ivar exact: whether it says that just this is not wanted; "not only" does not.
    """

    start: int
    end: int
    exact: bool


def negation(text: str, start: int, end: int) -> Negation | None:
    """Return what turns a filter round that stands between two positions of a normalized query."""
    if after := _AFTER.match(text, end):
        return Negation(start, after.end(), not after["loose"])
    from_ = max(0, start - _REACH)
    if before := _BEFORE.search(f"{text[from_:start].rstrip()} "):
        return Negation(from_ + before.start(), end, not before["loose"])
    return None
