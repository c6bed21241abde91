"""The notes that a query names: `the note "X"`, `note called X`, 「X」というノート, "X"."""

from __future__ import annotations

import re

from rag.query.planner.rules.name_resolver import Resolver
from rag.query.planner.rules.name_spans import QUOTED, Names, Read
from rag.query.planner.rules.negation import negation
from rag.query.planner.rules.normalized_query import Folded
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
_NAMED = re.compile(rf"{B}{_NOTE}(?P<called> +{_CALLED} +)")
_STOP_WORDS = "about in from since that which tagged with modified created"
_STOPS = frozenset(_STOP_WORDS.split())
_MOST_WORDS = 8


def read_titles(folded: Folded, resolver: Resolver, slots: Slots) -> None:
    """Read the titles of a query into its slots."""
    for quoted in matches(_QUOTED, folded):
        _read_quoted(folded, resolver, slots, *quoted.span())
    names = Names(folded, resolver.title)
    for cue in matches(_NAMED, folded):
        if read := names.after(cue.end(), _MOST_WORDS, _STOPS):
            _note(folded, slots, read, cue.start("called"), read.end)


def _read_quoted(folded: Folded, resolver: Resolver, slots: Slots, start: int, end: int) -> None:
    """Read a title in quotes: any other phrase in quotes stays one."""
    before = _BEFORE.search(folded.open[max(0, start - 30) : start])
    after = _AFTER.match(folded.open, end)
    words = folded.plain[start + 1 : end - 1]
    found = resolver.title(words, alike=bool(before or after))
    read = Read(start, end, folded.words(start + 1, end - 1), found.name if found else "")
    particle = _PARTICLE.match(folded.open, end)
    if not (before or after) and (not found or (particle and particle["other"])):
        return
    if after and after["ja"]:
        end = after.end()
    elif particle:
        end = particle.end()
    if before:
        start -= len(before["called"] or "") + 1 if before[0].isascii() else len(before[0])
    _note(folded, slots, read, start, end)


def _note(folded: Folded, slots: Slots, read: Read, start: int, end: int) -> None:
    turned = negation(folded.open, start, end) if read.name else None
    if turned:
        folded.hide(turned.start, turned.end)  # no filter leaves titles out
    elif read.name:
        slots.add("title", read, slots.titles)
        folded.take(start, end)
    else:
        slots.leave("title", read, folded)
