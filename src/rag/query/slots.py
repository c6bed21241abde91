"""Tags and vaults that a query says it filters by, beside the words that announce them.

Words without such a cue are a topic, even where they name a tag. What a cue announces and the
index does not have is an open slot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from rag.query.folding import Folded
from rag.query.naming import STOP, Names, Read
from rag.query.plan import Kind, Named
from rag.query.resolving import Resolver

MOST = 64  # slots of a kind that are read in a query, and names in one

_B, _E = "(?<![a-z0-9_])", "(?![a-z0-9_])"
_NOT = r"(?:(?:and|but) +)?(?:not|without|except(?: +for)?|excluding|isn't|aren't)"
_OR = re.compile(" *,? *(?:or|または|もしくは|あるいは|か) *(?P<hash>#)?")
_AND = re.compile(" *(?:, *(?:and +)?|(?P<firm>and|&|[+]) |、|と|や|および|及び) *(?P<hash>#)?")
_OR_BEFORE = re.compile(" *(?:(?:^| )or|または|もしくは|あるいは|か) *$")
_AND_BEFORE = re.compile(" *(?:(?:^| )and|,|&|、|と|や|および|及び|・) *$")

_HASH = re.compile(
    rf"(?:{_B}(?P<no>{_NOT}) +(?:tagged +)?)?(?<![a-z0-9_#&/=?.])#(?=[^\W\d]|\d+[^\W\d])"
)
_TAGGED = re.compile(
    rf"{_B}(?:(?P<no>{_NOT}) +)?(?:tagged(?: +(?:with|as))?|(?:(?P<without>without)|with|having"
    rf"|under|bearing) +(?:the +|an? +)?tags?|tags? *:) *#?(?<=[ #])"
)
_TAG_BEHIND = re.compile(rf"{_B}(?:with|under|having|(?P<no>without)) +(?:the +|an? +)?$")
_TAG_WORD = re.compile(rf"{_B}tags?{_E}|タグ")
_JA_TAG_OPENS = re.compile("(?:名)?(?:が|は|に|:)? ?")
_JA_NEGATED = re.compile(
    " ?(?:タグ)?(?:以外(?:の|で|に)?|(?:なし|無し)(?:の|で)?|を(?:除く|除いた|除いて|除き)"
    "|(?:の|が|は)?(?:付いて|ついて)い?ない|(?:の|が)(?:ない|無い))"
)
_JA_BORNE = re.compile(
    "(?: ?タグ(?=[のがをでには付つ、 ]|$))?"
    "(?:(?:の|が)(?:付い|つい)(?:た|ている|てる)|(?:付き|つき)の?"
    "|[のが]ある|を(?:持つ|もつ)| ?のうち、?| ?の|で|から|は|が|を|に)?"
)
_JA_TAGGED = re.compile("(?:の|が)?(?:付|つ)|のノート|のメモ|の記事")
_JA_NOTES = re.compile("の?(?:ノート|メモ|記事)")

_VAULT = re.compile(rf"{_B}vaults?{_E}|保管庫|ボルト|ヴォルト")
_BEFORE_VAULT = re.compile(
    rf"(?:{_B}(?P<place>in|from|inside|within|of|across) +)?(?:{_B}(?P<whose>the|my|our) +)?$"
)
_VAULT_OPENS = re.compile("(?: +(?P<called>called|named))? *")
_JA_VAULT_ENDS = re.compile("(?:の中|内)?(?:にある|から|の|で|に|を|は|が)?")
_PLACES = "in from inside within of across on the my our at"
_VAULT_STOPS = frozenset(_PLACES.split())
_UNNAMED = (
    "obsidian own entire whole new first second local remote other old same default current"
    " encrypted existing every each all these those サンドボックス"
)
_NO_NAME = frozenset(_UNNAMED.split())


@dataclass
class Slots:
    """What was read, and what stayed open."""

    tags: list[str] = field(default_factory=list)
    tag_match: Literal["all", "any"] = "all"
    excluded_tags: list[str] = field(default_factory=list)
    vaults: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    found: list[Named] = field(default_factory=list)
    open: list[Named] = field(default_factory=list)

    def add(self, kind: Kind, read: Read, to: list[str]) -> None:
        """Note a name, once."""
        if read.name not in to:
            to.append(read.name)
        self.found.append(Named(kind=kind, words=read.words, name=read.name))

    def leave(self, kind: Kind, read: Read, folded: Folded) -> None:
        """Note words that the index does not have, which nobody is to read again."""
        self.open.append(Named(kind=kind, words=read.words))
        folded.hide(read.start, read.end)


@dataclass
class _List:
    """Names that are joined: all of them, or any."""

    reads: list[Read] = field(default_factory=list)
    any: bool = False

    @property
    def known(self) -> list[Read]:
        return [read for read in self.reads if read.name]

    @property
    def unknown(self) -> list[Read]:
        return [read for read in self.reads if not read.name]


def matches(pattern: re.Pattern[str], folded: Folded) -> Iterator[re.Match[str]]:
    """Yield where a pattern stands in what is still open, which may change meanwhile."""
    at = 0
    for _ in range(MOST):
        found = pattern.search(folded.open, at)
        if not found:
            return
        yield found
        at = max(found.end(), at + 1)


class SlotReader:
    """Reads the tags and vaults of a query."""

    def __init__(self, folded: Folded, resolver: Resolver, slots: Slots) -> None:
        self._folded, self._slots = folded, slots
        self._tags = Names(folded, resolver.tag)
        self._vaults = Names(folded, resolver.vault)

    def read_hashes(self) -> None:
        """Read `#tag`."""
        for cue in matches(_HASH, self._folded):
            listed = self._forward(self._tags, cue.end(), most_words=1)
            self._tag(cue.start(), listed, bool(cue["no"]))

    def read_tags(self) -> None:
        """Read "tagged X", "with the tag X", "with the X tag", タグX, Xタグ."""
        for cue in matches(_TAGGED, self._folded):
            listed = self._forward(self._tags, cue.end())
            self._tag(cue.start(), listed, bool(cue["no"] or cue["without"]))
        for cue in matches(_TAG_WORD, self._folded):
            if cue[0] == "タグ":
                self._japanese_tag(*cue.span())
            else:
                listed = self._backward(self._tags, cue.start())
                behind = self._behind(_TAG_BEHIND, listed)
                if behind and (listed.known or "the " in behind[0]):
                    start = listed.reads[0].start - len(behind[0])
                    self._tag(start, listed, bool(behind["no"]), cue.end())

    def read_vaults(self) -> None:
        """Read "in my X vault", "in vault X", X保管庫, 保管庫「X」."""
        for cue in matches(_VAULT, self._folded):
            start, end = cue.span()
            behind = self._backward(
                self._vaults, self._without(("の", "という", "用"), start), _VAULT_STOPS
            )
            if behind.known:
                before = self._behind(_BEFORE_VAULT, behind)
                self._vault(behind.known[0].start - len(before[0] if before else ""), behind, end)
                continue
            before = _BEFORE_VAULT.search(self._folded.open[max(0, start - 20) : start])
            opens = _VAULT_OPENS.match(self._folded.open, end)
            assert opens
            ahead = self._forward(self._vaults, opens.end())
            named = opens["called"] or (before and before["place"]) or not cue[0].isascii()
            if ahead.known and named:
                start -= len(before[0] if before else "")
                self._vault(start, ahead, ahead.known[-1].end)
            else:
                self._open_vault(cue, behind, ahead, bool(opens["called"]))

    # -- tags -----------------------------------------------------------------------------

    def _tag(self, start: int, listed: _List, negated: bool, end: int = 0) -> None:
        """Take the tags of a list, from its cue at `start` on."""
        slots, folded = self._slots, self._folded
        if listed.known:
            end = max(end, *(read.end for read in listed.known))
            if excludes := _JA_NEGATED.match(folded.open, end):
                negated, end = True, excludes.end()
            elif borne := _JA_BORNE.match(folded.open, end):
                end = borne.end()
            for read in listed.known:
                slots.add("tag", read, slots.excluded_tags if negated else slots.tags)
            if listed.any and not negated:
                slots.tag_match = "any"
            folded.take(min(start, listed.known[0].start), end)
        for read in listed.unknown:
            slots.leave("tag", read, folded)
        if listed.reads and not listed.known:
            names = listed.reads[0].start
            if "#" not in folded.plain[start:names]:
                folded.drop(start, names)

    def _japanese_tag(self, start: int, end: int) -> None:
        text = self._folded.open
        behind = self._backward(self._tags, self._without(("の", "という"), start))
        if behind.known:
            self._tag(start, behind, False, end)
            return
        opens = _JA_TAG_OPENS.match(text, end)
        ahead = self._forward(self._tags, opens.end() if opens else end)
        if ahead.known:
            self._tag(start, ahead, False)
            return
        for listed, sure in (
            (behind, _JA_TAGGED.match(text, end)),
            (ahead, ahead.reads and _JA_NOTES.match(text, ahead.reads[0].end)),
        ):
            for read in listed.reads[:1]:
                quoted = text[read.start] in '「『"'
                if quoted or (
                    sure and len(read.words) > 1 and read.words[0] not in "のがをでには付つ"
                ):
                    self._slots.leave("tag", read, self._folded)
                    return

    # -- vaults ---------------------------------------------------------------------------

    def _vault(self, start: int, listed: _List, end: int) -> None:
        """Take the vaults of a list."""
        slots, folded = self._slots, self._folded
        for read in listed.known:
            slots.add("vault", read, slots.vaults)
        if ends := _JA_VAULT_ENDS.match(folded.open, end):
            end = ends.end()
        folded.take(start, end)

    def _open_vault(self, cue: re.Match[str], behind: _List, ahead: _List, called: bool) -> None:
        text, end = self._folded.open, cue.end()
        for read in ahead.reads[:1]:
            if called or text[read.start] in '「『"':
                self._slots.leave("vault", read, self._folded)
                return
        for read in behind.reads[:1]:
            before = self._behind(_BEFORE_VAULT, behind)
            ends = _JA_VAULT_ENDS.match(text, end)
            named = before and before["place"] and before["whose"]
            if cue[0] == "保管庫":
                named = ends and ends[0] and read.end == cue.start() and len(read.words) > 1
            if text[read.start] in '「『"' or (
                named and not _NO_NAME & {*read.words.lower().split()}
            ):
                self._slots.leave("vault", read, self._folded)

    # -- lists ----------------------------------------------------------------------------

    def _forward(self, names: Names, at: int, most_words: int = 5) -> _List:
        """Read names that follow a cue; by hashes, if `most_words` is 1."""
        listed = _List()
        firm, joined_by_or = True, False
        while len(listed.reads) < MOST:
            read = names.after(at, most_words)
            if read is None or not (read.name or firm):
                break
            listed.reads.append(read)
            listed.any |= joined_by_or and bool(read.name)
            if not read.name:
                break
            text = self._folded.open
            joint = (either := _OR.match(text, read.end)) or _AND.match(text, read.end)
            if not joint or (most_words == 1 and not joint["hash"]):
                break
            joined_by_or = either is not None
            firm = joint[0].strip(" ,#") in ("and", "or")
            at = joint.end()
        return listed

    def _backward(self, names: Names, at: int, stops: frozenset[str] = STOP) -> _List:
        """Read names that end before a position; the last comes first."""
        listed = _List()
        while len(listed.reads) < MOST:
            read = names.before(at, stops)
            if read is None or (listed.reads and not read.name):
                break
            listed.reads.append(read)
            if not read.name:
                break
            text = self._folded.open[max(0, read.start - 8) : read.start]
            joint = (either := _OR_BEFORE.search(text)) or _AND_BEFORE.search(text)
            if not joint:
                break
            listed.any |= either is not None
            at = read.start - len(joint[0])
        if len(listed.reads) == 1:
            listed.any = False
        listed.reads.reverse()
        return listed

    def _behind(self, pattern: re.Pattern[str], listed: _List) -> re.Match[str] | None:
        """Match what stands before a list."""
        if not listed.reads:
            return None
        start = listed.reads[0].start
        return pattern.search(self._folded.open[max(0, start - 20) : start])

    def _without(self, ends: tuple[str, ...], at: int) -> int:
        for end in ends:
            if self._folded.open.endswith(end, 0, at):
                return at - len(end)
        return at
