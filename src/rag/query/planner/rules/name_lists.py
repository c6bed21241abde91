"""Names that a query lists: "python, rust and go", 旅行または料理, all of them or any."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rag.query.planner.rules.name_spans import STOP, Names, Read
from rag.query.planner.rules.normalized_query import TAKEN, Folded

MOST = 64  # names in a list

_AGAIN = "(?:tagged +(?:with +|as +)?)?"
_OR = re.compile(" *,? *(?:or|または|もしくは|あるいは|か) *" + _AGAIN + "(?P<hash>#)?")
_AND = re.compile(
    " *(?:, *(?:and +)?|(?P<firm>and|&|[+]) |、|と|や|および|及び) *" + _AGAIN + "(?P<hash>#)?"
)
_OR_BEFORE = re.compile(" *(?:(?:^| )or|または|もしくは|あるいは|か) *$")
_AND_BEFORE = re.compile(" *(?:(?:^| )and|,|&|、|と|や|および|及び|・) *$")
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


def or_behind(text: str, start: int) -> int:
    """Return where "or" begins that joins what stands at a position to a filter before it; the
    position itself where none does."""
    from_ = max(0, start - 12)
    found = _OR_BEHIND.search(text[from_:start])
    return from_ + found.start() if found else start


def forward(folded: Folded, names: Names, at: int, most_words: int = 5) -> Listed:
    """Read names that follow a cue; by hashes, if `most_words` is 1."""
    listed, joints = Listed(), set[str]()
    firm, joint = True, ""
    while len(listed.reads) < MOST:
        read = names.after(at, most_words)
        if read is None or not (read.name or firm):
            break
        listed.reads.append(read)
        if not read.name:
            break
        joints.add(joint)
        text = folded.open
        found = (either := _OR.match(text, read.end)) or _AND.match(text, read.end)
        if not found or (most_words == 1 and not found["hash"]):
            break
        firm = either is not None or bool(found["firm"])
        joint = "or" if either else "" if found[0].strip() in (",", "、", "や") else "and"
        at = found.end()
    listed.any, listed.mixed = "or" in joints, {"or", "and"} <= joints
    return listed


def backward(folded: Folded, names: Names, at: int, stops: frozenset[str] = STOP) -> Listed:
    """Return names that end before a position, in their order."""
    listed, joints = Listed(), set[str]()
    joint = ""
    while len(listed.reads) < MOST:
        read = names.before(at, stops)
        if read is None or (listed.reads and not read.name):
            break
        listed.reads.append(read)
        if not read.name:
            break
        joints.add(joint)
        text = folded.open[max(0, read.start - 8) : read.start]
        found = (either := _OR_BEFORE.search(text)) or _AND_BEFORE.search(text)
        if not found:
            break
        joint = "or" if either else "" if found[0].strip() in (",", "、", "や", "・") else "and"
        at = read.start - len(found[0])
    listed.any, listed.mixed = "or" in joints, {"or", "and"} <= joints
    listed.reads.reverse()
    return listed
