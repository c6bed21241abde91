"""The notes that a query names: `the note "X"`, `note called X`, 「X」というノート, "X"."""

from __future__ import annotations

import re

from rag.query.planner.rules.name_resolver import Resolver
from rag.query.planner.rules.name_spans import QUOTED, Names, Read
from rag.query.planner.rules.negation import negation
from rag.query.planner.rules.normalized_query import NormalizedQuery
from rag.query.planner.rules.shared_patterns import JA_NOTE, NOTE, B, E
from rag.query.planner.rules.tag_vault_reader import Slots, matches

_NOTE = f"(?:{NOTE}|pages?)"
_CALLED = "(?:called|titled|named|entitled)"
_QUOTED = re.compile(QUOTED)
_BEFORE = re.compile(rf"{B}{_NOTE}(?P<called> +{_CALLED})? +$|(?:{JA_NOTE})の?$")
_AFTER = re.compile(
    "(?P<ja>(?:という|と題した|と題する|っていう|って)?(?:(?:タイトル|題名|題|名前|名)の)?の?"
    rf"(?:{JA_NOTE})(?:の|を|に|で|から)?)"
    rf"| +(?P<en>{_NOTE}){E}"
)
_PARTICLE = re.compile("(?P<other>という|って|と題)|の|を|に|で|は|から")
# What notes mention are words, whatever note has them as its title.
_MENTIONED = re.compile(
    rf"{B}(?:notes|memos|entries){E}[^.?!]*?{B}(?:mention(?:s|ed|ing)?|contain(?:s|ed|ing)?|about"
    r"|hold(?:s|ing)?|discuss(?:es|ed|ing)?|refer(?:s|red|ring)? to|regarding|with)"
    rf"(?: +the +(?:words?|phrases?|terms?))?(?: +(?:{QUOTED}),?(?: +(?:and|or))?)* +$"
)
_JA_MENTIONED = re.compile(
    "(?:[をが]含|に(?:触れ|言及)|が(?:出て|載|書)|(?:について|に関する|に関して)"
    f"(?:の|書いた|書かれた)?(?:{JA_NOTE}))"
)
_REACH = 120  # characters before what is quoted
_NAMED = re.compile(rf"{B}{_NOTE}(?P<called> +{_CALLED} +)")
_STOP_WORDS = "about in from since that which tagged with modified created"
_STOPS = frozenset(_STOP_WORDS.split())
_MOST_WORDS = 8


def read_titles(normalized: NormalizedQuery, resolver: Resolver, slots: Slots) -> None:
    """Read the titles of a query into its slots."""
    for quoted in matches(_QUOTED, normalized):
        _read_quoted(normalized, resolver, slots, *quoted.span())
    names = Names(normalized, resolver.title)
    for cue in matches(_NAMED, normalized):
        if read := names.after(cue.end(), _MOST_WORDS, _STOPS):
            _note(normalized, slots, read, cue.start("called"), read.end)


def _read_quoted(
    normalized: NormalizedQuery, resolver: Resolver, slots: Slots, start: int, end: int
) -> None:
    """Read a title in quotes: any other phrase in quotes stays one."""
    if _MENTIONED.search(normalized.open[max(0, start - _REACH) : start]):
        return
    if _JA_MENTIONED.match(normalized.open, end):
        return
    before = _BEFORE.search(normalized.open[max(0, start - 30) : start])
    after = _AFTER.match(normalized.open, end)
    words = normalized.plain[start + 1 : end - 1]
    found = resolver.title(words, alike=bool(before or after))
    read = Read(start, end, normalized.words(start + 1, end - 1), found.name if found else "")
    particle = _PARTICLE.match(normalized.open, end)
    if not (before or after) and (not found or (particle and particle["other"])):
        return
    if after and after["ja"]:
        end = after.end()
    elif particle:
        end = particle.end()
    if before:
        start -= len(before["called"] or "") + 1 if before[0].isascii() else len(before[0])
    _note(normalized, slots, read, start, end)


def _note(normalized: NormalizedQuery, slots: Slots, read: Read, start: int, end: int) -> None:
    turned = negation(normalized.open, start, end) if read.name else None
    if turned:
        normalized.hide(turned.start, turned.end)  # no filter leaves titles out
    elif read.name:
        slots.add("title", read, slots.titles)
        normalized.take(start, end)
    else:
        slots.leave("title", read, normalized)
