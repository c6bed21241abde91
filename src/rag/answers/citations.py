"""The numbers of sources in an answer, in all the ways in which models write them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

_LABEL = r"(?:(?:sources?|notes?|出典|資料|ソース|ノート)\s*[:：#]?\s*)?"
_NUMBER = r"[-−]?[0-9０-９]+"
_ITEM = rf"{_LABEL}{_NUMBER}(?:\s*[-–—~〜～]\s*{_LABEL}{_NUMBER})?"
# [1], [1, 3], [1-3], [[1]], [^1], ［１］, 【1】, 【1†source】, [Source 1], \[1\], [1](address)
CITATION = re.compile(
    rf"(?:\\?[\[［【]){{1,2}}\s*\^?(?P<items>{_ITEM}(?:\s*[,，、;；&]\s*\^?{_ITEM})*)\s*"
    r"(?:†[^\]］】\n]{0,80})?(?:\\?[\]］】]){1,2}(?P<address>\([^()\s]*\))?",
    re.IGNORECASE,
)
_RANGE = re.compile(rf"({_NUMBER})(?:\s*[-–—~〜～]\s*{_LABEL}({_NUMBER}))?", re.IGNORECASE)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)


def named_sources(citation: re.Match[str], count: int) -> tuple[list[int], list[str]]:
    """Return the sources that a citation names, and what it names that is not among `count`.

    A range that is not wholly among them names nothing.
    """
    valid: list[int] = []
    false: list[str] = []
    for found in _RANGE.finditer(unicodedata.normalize("NFKC", citation["items"])):
        first, last = (_number(text) for text in (found[1], found[2] or found[1]))
        if 1 <= first <= last <= count:
            valid += range(first, last + 1)
        else:
            false.append(f"[{found[0]}]"[:40])
    return list(dict.fromkeys(valid)), false


def _number(text: str) -> int:
    return int(text.replace("−", "-")[:9])


def outside_code(change: Callable[[str], str], text: str) -> str:
    """Return a text with everything outside its `code spans` changed."""
    parts: list[str] = []
    at = 0
    for span in _CODE_SPAN.finditer(text):
        parts += [change(text[at : span.start()]), span[0]]
        at = span.end()
    return "".join([*parts, change(text[at:])])


def without_citations(text: str) -> str:
    """Return what a sentence says, without the sources it names."""
    return outside_code(lambda part: CITATION.sub(" ", part), text).strip()
