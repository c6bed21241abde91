"""Names that a query lists: "python, rust and go", 旅行または料理, all of them or any."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from rag.query.planner.rules.name_spans import JAPANESE, QUOTES, STOP, Names, Read
from rag.query.planner.rules.normalized_query import HIDDEN, TAKEN, NormalizedQuery

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
