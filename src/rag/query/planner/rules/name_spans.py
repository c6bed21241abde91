"""Which words beside a cue are the name that it speaks of: as many as the index knows together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple, Protocol

from rag.query.planner.rules.name_resolver import Resolved
from rag.query.planner.rules.normalized_query import HIDDEN, TAKEN, NormalizedQuery

_LONGEST = 100  # characters of a name in running text
_MOST_WORDS = 5
_MOST_TRIED = 12  # beginnings or ends of a name, those next to the cue first
_STOP_WORDS = (
    "from in inside within about on since of for that which who with without by written created"
    " wrote modified updated edited changed made notes note entries entry memos and or not but"
    " before after until between during this last the a an my our where are is was were has have"
    " i we vault vaults tag tags tagged recently today yesterday called titled named regarding"
    " mentioning related to except excluding it at as if when what how why only all any"
)
STOP = frozenset(_STOP_WORDS.split())
_WORD = re.compile(rf"[^ #,;:!?()\[\]{{}}\"'、。「」『』・{TAKEN}{HIDDEN}]+")
QUOTES = ('"', "「", "『", "'")
QUOTED = rf"\"{HIDDEN}+\"|「{HIDDEN}+」|『{HIDDEN}+』"
_QUOTED = re.compile(rf"{QUOTED}|'{HIDDEN}+'")
_QUOTED_BEFORE = re.compile(rf"(?:{_QUOTED.pattern})$")
_SLASHED = re.compile("[^ /]+(?:/[^ /]+)+")
_PART = re.compile("[^ /]+")
# Where a Japanese name may end, or begin after.
_PARTICLE = re.compile(
    "の|と|や|か|が|を|で|に|は|も|へ|または|もしくは|および|及び|以外|なし|無し|付|つき|から|まで|タグ|について|に関|という"
    "|(?<=[a-z0-9])(?=[ぁ-鿿])|(?<=[ぁ-鿿])(?=[a-z0-9])"
)
JAPANESE = re.compile("[\u3041-\u30fa\u30fc-\u30ff\u3400-\u9fff]")


class Resolve(Protocol):
    """Finds the name that words mean, with or without a slip in them."""

    def __call__(self, words: str, *, alike: bool) -> Resolved | None: ...


class Read(NamedTuple):
    """Words from `start` to `end` and what they name; nothing when the index has no such name.

    Quotes around the words are between `start` and `end`.
    """

    start: int
    end: int
    words: str
    name: str


class Names:
    """Reads names of one kind in a query.

    :param resolve: finds them in the index.
    :param slips: how many more times words may be compared with all names for their likeness.
    """

    def __init__(self, normalized: NormalizedQuery, resolve: Resolve, slips: int = 12) -> None:
        self._normalized, self._resolve, self._slips = normalized, resolve, slips

    def after(
        self, at: int, most_words: int = _MOST_WORDS, stops: frozenset[str] = STOP
    ) -> Read | None:
        """Return the longest name that begins at a position, or the words where it should be."""
        text = self._normalized.open
        at = _skip(text, at)
        if quoted := _QUOTED.match(text, at):
            return self._quoted(*quoted.span())
        ends = list(islice(_ends(text, at, stops, most_words), _MOST_TRIED))
        return self._longest([(at, end) for end in reversed(ends)])

    def before(self, at: int, stops: frozenset[str] = STOP) -> Read | None:
        """Return the longest name that ends at a position, or the words where it should be."""
        text = self._normalized.open
        while at and text[at - 1] == " ":
            at -= 1
        if quoted := _QUOTED_BEFORE.search(text[max(0, at - 210) : at]):
            return self._quoted(at - len(quoted[0]), at)
        starts = list(islice(_starts(text, at, stops), _MOST_TRIED))
        return self._longest([(start, at) for start in reversed(starts)])

    def parts(self, read: Read) -> list[Read]:
        """Return the names that slashes part, "work/health", where one of them is known; none for
        one name, such as that of a nested tag."""
        slashed = _SLASHED.search(self._normalized.open, read.start, read.end)
        if read.name or not slashed:
            return []
        parts = []
        for part in _PART.finditer(self._normalized.open, *slashed.span()):
            start, end = part.span()
            found = self._find(start, end, alike=False)
            parts.append(
                Read(start, end, self._normalized.words(start, end), found.name if found else "")
            )
        return parts if any(part.name for part in parts) else []

    def _quoted(self, start: int, end: int) -> Read:
        found = self._find(start + 1, end - 1, alike=True)
        return Read(
            start, end, self._normalized.words(start + 1, end - 1), found.name if found else ""
        )

    def _longest(self, spans: list[tuple[int, int]]) -> Read | None:
        """Try spans, the longest first, at first to the letter and then with a slip."""
        for alike in (False, True):
            for start, end in spans:
                if found := self._find(start, end, alike=alike):
                    return Read(start, end, self._normalized.words(start, end), found.name)
        if not spans:
            return None
        # Nobody knows where a Japanese name ends: at the next particle, most likely.
        start, end = spans[-1 if JAPANESE.search(self._normalized.open, *spans[0]) else 0]
        return Read(start, end, self._normalized.words(start, end), "")

    def _find(self, start: int, end: int, alike: bool) -> Resolved | None:
        if alike and self._slips <= 0:
            alike = False
        self._slips -= alike
        return self._resolve(self._normalized.words(start, end), alike=alike)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] == " ":
        at += 1
    return at


def _ends(text: str, at: int, stops: frozenset[str], most: int) -> Iterator[int]:
    """Yield where a name that begins at a position may end."""
    begin = at
    for _ in range(most):
        word = _WORD.match(text, at, begin + _LONGEST)
        if not word or word[0].strip(".") in stops:
            return
        end = at + len(word[0].rstrip(".")) if word[0].endswith(".") else word.end()
        if JAPANESE.search(word[0]):
            cuts = [at + cut.start() for cut in _PARTICLE.finditer(word[0]) if cut.start()]
            yield from dict.fromkeys(cuts)
            yield end
            return
        yield end
        if not text.startswith(" ", word.end()):
            return
        at = _skip(text, word.end())


def _starts(text: str, at: int, stops: frozenset[str]) -> Iterator[int]:
    """Yield where a name that ends at a position may begin."""
    limit = max(0, at - _LONGEST)
    for _ in range(_MOST_WORDS):
        start = at
        while start > limit and _WORD.match(text[start - 1]):
            start -= 1
        word = text[start:at]
        if not word or word in stops:
            return
        if JAPANESE.search(word):
            cuts = [start + cut.end() for cut in _PARTICLE.finditer(word) if cut.end() < len(word)]
            yield from sorted(set(cuts), reverse=True)
            yield start
            return
        yield start
        at = start
        while at > limit and text[at - 1] == " ":
            at -= 1
        if at == start:
            return
