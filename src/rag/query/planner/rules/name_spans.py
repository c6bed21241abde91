"""Which words beside a cue are names that it speaks of: as many as the index knows together.

Names may be listed: "python, rust and go", 旅行または料理, all of them or any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
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


MOST = 64  # names in a list

_AGAIN = "(?:tagged +(?:with +|as +)?|(?:the|my|our) +)?"
_PAIR = re.compile(" *(?:both|either) +(?:(?:the|my|our) +)?")
_OR = re.compile(" *,? *(?:or|または|もしくは|あるいは|か) *" + _AGAIN + "(?P<hash>#)?")
_AND = re.compile(
    " *(?:, *(?:and +)?|(?P<firm>and|&|[+]) |、|と|や|および|及び) *" + _AGAIN + "(?P<hash>#)?"
)
_OR_BEFORE = re.compile(" *(?:(?:^| )or(?: +(?:the|my|our))?|または|もしくは|あるいは|か) *$")
_AND_BEFORE = re.compile(" *(?:(?:^| )and(?: +(?:the|my|our))?|,|&|、|と|や|および|及び|・) *$")
_JOINED = re.compile(" *, *(?:and +|or +)?| +(?:and|or|&) +")
_CUE_WORD = re.compile("(?:タグ|保管庫|ボルト|ヴォルト|\\b(?:tag|vault)s?)$")
_NEXT = re.compile(f" +([^ ,;:!?.(){TAKEN}{HIDDEN}]+)")
_OR_BEHIND = re.compile(rf"(?<={TAKEN}) *(?:,? *or|または|もしくは|あるいは|か) *$")


@dataclass
class Listed:
    """Names that are joined.

    :ivar any: whether any of them will do.
    :ivar mixed: whether some are joined by "and", others by "or".
    """

    reads: list[Read] = field(default_factory=list)
    any: bool = False
    mixed: bool = False

    @property
    def known(self) -> list[Read]:
        """Those of the index."""
        return [read for read in self.reads if read.name]

    @property
    def unknown(self) -> list[Read]:
        """Those that the index does not have."""
        return [read for read in self.reads if not read.name]

    def from_known(self, quoted: str = "") -> Listed:
        """Return the list without the unknown names before the first known one.

        :param quoted: the query; an unknown name in quotes stays.
        """
        at = next(
            (n for n, r in enumerate(self.reads) if r.name or quoted[r.start :][:1] in QUOTES), 0
        )
        return replace(self, reads=self.reads[at:])


def or_behind(text: str, start: int) -> int:
    """Return where "or" begins that joins what stands at a position to a filter before it; the
    position itself where none does."""
    from_ = max(0, start - 12)
    found = _OR_BEHIND.search(text[from_:start])
    return from_ + found.start() if found else start


def forward(normalized: NormalizedQuery, names: Names, at: int, most_words: int = 5) -> Listed:
    """Read the names that follow a cue; by hashes, if `most_words` is 1.

    A name that the index does not have counts where it is the first, quoted or joined by a word;
    after a comma only where a name of the index follows and ends the list.
    """
    listed, joints = Listed(), set[str]()
    pending: list[Read] = []
    firm, joint = True, ""
    pair = _PAIR.match(normalized.open, at)
    at = pair.end() if pair else at
    while len(listed.reads) + len(pending) < MOST:
        read = names.after(at, most_words)
        if read is None:
            break
        if joined := None if read.name else _JOINED.search(normalized.open, read.start, read.end):
            end = joined.start()
            read = Read(read.start, end, normalized.words(read.start, end), "")
        if parts := names.parts(read):
            listed.reads += [*pending, *parts]
            pending = []
            joint, read = "or", parts[-1]
        elif read.name and (not pending or _ends_a_list(normalized.open, read.end)):
            listed.reads += [*pending, read]
            pending = []
        elif firm and not pending and not read.name:
            listed.reads.append(read)
        else:
            pending.append(read)
        joints.add(joint)
        text = normalized.open
        found = (either := _OR.match(text, read.end)) or _AND.match(text, read.end)
        if not found or (most_words == 1 and not found["hash"]):
            break
        at = found.end()
        mark = found[0].strip()
        is_quoted = (
            mark != "," and text[at : at + 1] in QUOTES
        )  # 'travel, "hotel booking"': a phrase
        firm = either is not None or bool(found["firm"]) or is_quoted
        joint = "or" if either else "" if mark in (",", "、", "や") else "and"
    listed.any, listed.mixed = "or" in joints, {"or", "and"} <= joints
    return listed


def backward(
    normalized: NormalizedQuery, names: Names, at: int, stops: frozenset[str] = STOP
) -> Listed:
    """Read the names that end before a position, in their order; any of them may be unknown."""
    listed, joints = Listed(), set[str]()
    joint = ""
    while len(listed.reads) < MOST:
        read = names.before(at, stops)
        if read is None:
            break
        if not read.name:
            read = _last_of(normalized, read)
            if listed.reads and _CUE_WORD.search(normalized.open, read.start, read.end):
                break  # a name of another list: 仕事保管庫と日記保管庫
        if parts := names.parts(read):
            listed.reads += reversed(parts)
            joint, read = "or", parts[0]
        else:
            listed.reads.append(read)
        joints.add(joint)
        text = normalized.open[max(0, read.start - 12) : read.start]
        found = (either := _OR_BEFORE.search(text)) or _AND_BEFORE.search(text)
        if not found:
            break
        joint = "or" if either else "" if found[0].strip() in (",", "、", "や", "・") else "and"
        at = read.start - len(found[0])
    listed.any, listed.mixed = "or" in joints, {"or", "and"} <= joints
    listed.reads.reverse()
    return listed


def _ends_a_list(text: str, end: int) -> bool:
    """Return True if no further word of a phrase follows a name: "python", not "python tips"."""
    following = _NEXT.match(text, end)
    return following is None or following[1] in STOP or bool(JAPANESE.match(following[1]))


def _last_of(normalized: NormalizedQuery, read: Read) -> Read:
    """Return the last of the words that are joined in what was read as one unknown name."""
    joints = list(_JOINED.finditer(normalized.open, read.start, read.end))
    if not joints:
        return read
    start = joints[-1].end()
    return Read(start, read.end, normalized.words(start, read.end), "")
