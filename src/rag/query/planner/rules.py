"""Tags, vaults, notes and properties that a query filters by, beside the words that announce them:
`#tag`, "in my work vault", `the note "X"`, 「X」というノート, "status is done".

Words without such a cue are a topic, even where they name a tag. What a cue announces and the
index does not have is an open slot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from itertools import chain, islice

from rag.query.planner.names import (
    JAPANESE,
    QUOTED,
    Catalogue,
    Listed,
    Names,
    Read,
    Resolver,
    backward,
    forward,
    or_behind,
)
from rag.query.planner.plan import Extraction, Kind, MetadataExtraction, Named, TimeWindow
from rag.query.planner.query_text import (
    NormalizedQuery,
    negation,
    read_unwanted,
    residual_text,
    subject_words,
)
from rag.query.planner.time_windows import find_mentions, find_slot, find_time
from rag.query.planner.words import CONCEPTS, EXAMINED, JA_NOTE, NOTE, B, E
from rag.query.syntax import plain_words
from rag.text.messages import without_halves
from rag.text.scripts import is_japanese
from rag.text.tokenizer import name_key

MOST = 64  # slots of a kind that are read in a query

_HASH = re.compile(r"(?<![a-z0-9_#&/=?.])#(?=[^\W\d]|\d+[^\W\d])")
_TAGGED = re.compile(
    rf"{B}(?:tagged(?: +(?:with|as))?|(?:(?P<without>without)|with|having|have|has|bears?"
    rf"|under|bearing) +(?:the +|an? +)?tags?|tags? *:) *#?(?<=[ #])"
)
_BUT_NOT = re.compile(
    " *,? *(?:(?:and|but) +)?(?:not|except(?: +for)?|excluding|other +than) +(?:(?:for|the) +)?#?"
)
_TAG_BEHIND = re.compile(
    rf"{B}(?:(?P<without>without)|with|under|having|have|has) +(?:(?:both|either) +)?"
    r"(?:the +|an? +)?$"
)
_TAG_WORD = re.compile(rf"{B}tags?{E}|タグ")
_JA_TAG_OPENS = re.compile("(?:名)?(?:が|は|に|:)? ?")
_JA_BORNE = re.compile(
    "(?: ?タグ(?=[のがをでには付つ、 ]|$))?"
    "(?:(?:の|が)(?:付い|つい)(?:た|ている|てる)|(?:付き|つき)の?"
    "|[のが]ある|を(?:持つ|もつ)| ?のうち、?| ?の|で|から|は|が|を|に)?"
)
_JA_TAGGED = re.compile("(?:の|が)?(?:付|つ)|の(?:ノート|メモ|記事)|を除|なし|無し|以外")
_JA_NOTES = re.compile("の?(?:ノート|メモ|記事)")

_PARTICLES = "のをはがにでとへも"

_VAULT = re.compile(rf"{B}vaults?{E}|保管庫|ボルト|ヴォルト")
_BEFORE_VAULT = re.compile(
    rf"(?:{B}(?P<place>in|from|inside|within|of|across) +)?(?:{B}(?:both|either) +)?"
    rf"(?:{B}(?P<whose>the|my|our) +)?$"
)
_VAULT_OPENS = re.compile("(?: +(?P<called>called|named))? *")
_JA_VAULT_ENDS = re.compile("(?:の中|内)?(?:にある|から|の|で|に|を|は|が)?")
_VAULT_STOPS = frozenset(
    ["in", "from", "inside", "within", "of", "across", "on", "the", "my", "our", "at"]
)
_UNNAMED = (
    "obsidian sandbox own entire whole new first second local remote other old same default current"
    " encrypted existing every each all these those サンドボックス"
)
_NO_NAME = frozenset(_UNNAMED.split())


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
_STOPS = frozenset(
    ["about", "in", "from", "since", "that", "which", "tagged", "with", "modified", "created"]
)
_MOST_TITLE_WORDS = 8


def matches(pattern: re.Pattern[str], normalized: NormalizedQuery) -> Iterator[re.Match[str]]:
    """Yield where a pattern stands in what is still open, which may change meanwhile."""
    at = 0
    for _ in range(MOST):
        match = pattern.search(normalized.open, at)
        if not match:
            return
        yield match
        at = max(match.end(), at + 1)


def _first(listed: Listed) -> Read:
    return min([*listed.known, *listed.unknown])


class SlotReader:
    """Reads the tags, vaults and titles of a query into an extraction."""

    def __init__(
        self, normalized: NormalizedQuery, resolver: Resolver, extraction: Extraction
    ) -> None:
        self._normalized, self._resolver = normalized, resolver
        self._extraction, self._metadata = extraction, extraction.metadata
        self._tags = Names(normalized, resolver.tag)
        self._vaults = Names(normalized, resolver.vault)

    def _add(self, kind: Kind, read: Read, names: list[str]) -> None:
        if read.name not in names:
            names.append(read.name)
        self._extraction.found.append(Named(kind=kind, words=read.words, name=read.name))

    def _leave(self, kind: Kind, read: Read) -> None:
        self._extraction.open.append(Named(kind=kind, words=read.words))
        self._normalized.hide(read.start, read.end)

    def read_hashes(self) -> None:
        """Read `#tag`."""
        for cue in matches(_HASH, self._normalized):
            self._tag(cue.start(), forward(self._normalized, self._tags, cue.end(), most_words=1))

    def read_tags(self) -> None:
        """Read "tagged X", "with the tag X", "with the X tag", タグX, Xタグ."""
        for cue in matches(_TAGGED, self._normalized):
            listed = forward(self._normalized, self._tags, cue.end())
            self._tag(cue.start(), listed, bool(cue["without"]))
        for cue in matches(_TAG_WORD, self._normalized):
            if cue[0] == "タグ":
                self._japanese_tag(*cue.span())
                continue
            listed = backward(self._normalized, self._tags, cue.start())
            behind = self._behind(_TAG_BEHIND, listed, cue.start())
            if behind and (listed.known or (listed.unknown and "the " in behind[0])):
                start = _first(listed).start - len(behind[0])
                self._tag(start, listed, bool(behind["without"]), cue.end())

    def read_vaults(self) -> None:
        """Read "in my X vault", "in vault X", X保管庫, 保管庫「X」."""
        normalized = self._normalized
        for cue in matches(_VAULT, normalized):
            start, end = cue.span()
            at = self._without(("の", "という", "用"), start)
            behind = backward(normalized, self._vaults, at, _VAULT_STOPS)
            before = self._behind(_BEFORE_VAULT, behind, start)
            if behind.known:
                lead = len(before[0]) if before else 0
                self._vault(behind.known[0].start - lead, behind, end)
                continue
            opens = _VAULT_OPENS.match(normalized.open, end)
            assert opens
            ahead = forward(normalized, self._vaults, opens.end())
            placed = _BEFORE_VAULT.search(normalized.open[max(0, start - 20) : start])
            named = opens["called"] or (placed and placed["place"]) or not cue[0].isascii()
            if ahead.known and named:
                start -= len(placed[0]) if placed else 0
                self._vault(start, ahead, ahead.known[-1].end)
            elif ahead.unknown and (opens["called"] or self._is_quoted(ahead.unknown[0])):
                self._leave("vault", ahead.unknown[0])
            elif behind.unknown:
                self._open_vault(cue, behind.unknown[-1], before)

    # -- tags -----------------------------------------------------------------------------

    def _tag(self, start: int, listed: Listed, without: bool = False, end: int = 0) -> None:
        normalized = self._normalized
        if listed.known:
            start, end = min(start, _first(listed).start), max(end, listed.known[-1].end)
            turned = negation(normalized.open, start, end)
            if turned:
                start, end = turned.start, turned.end
            elif borne := _JA_BORNE.match(normalized.open, end):
                end = borne.end()
            excluded = without or turned is not None
            if ({"or", "and"} <= listed.joints and not excluded) or (turned and not turned.exact):
                normalized.hide(start, end)  # no filter says that
            elif excluded:
                self._take(start, end, listed, self._metadata.excluded_tags)
            else:
                joint = or_behind(normalized.open, start)
                if "or" in listed.joints or (joint < start and self._metadata.tags):
                    self._metadata.tag_match = "any"
                self._take(joint, end, listed, self._metadata.tags)
                self._but_not(end)
        for read in listed.unknown:
            if self._is_wanted(read):
                self._leave("tag", read)
        names = _first(listed).start if listed.unknown and not listed.known else start
        if "#" not in normalized.plain[start:names]:
            normalized.drop(start, names)

    def _take(self, start: int, end: int, listed: Listed, tags: list[str]) -> None:
        for read in listed.known:
            self._add("tag", read, tags)
        # What is not wanted is nothing to rank by.
        unknown = [] if tags is self._metadata.excluded_tags else listed.unknown
        self._take_around(start, end, unknown)

    def _take_around(self, start: int, end: int, unknown: list[Read]) -> None:
        """Take what stands between two positions, without the names that the index lacks."""
        for read in unknown:  # the words that join the unknown ones go too
            first = read.start - (self._normalized.plain[read.start - 1 : read.start] == "#")
            if start < first:
                self._normalized.take(start, first)
            start = max(start, read.end)
        if start < end:
            self._normalized.take(start, end)

    def _but_not(self, at: int) -> None:
        """Take the tags of "…, but not X"; what names none is a word that is not wanted."""
        if joint := _BUT_NOT.match(self._normalized.open, at):
            listed = forward(self._normalized, self._tags, joint.end())
            if listed.known:
                self._take(at, listed.known[-1].end, listed, self._metadata.excluded_tags)

    def _is_wanted(self, read: Read) -> bool:
        """Return whether words that name no tag were meant to: "#の使い方" speaks of the sign."""
        start, text = read.start, self._normalized.plain
        return text[start - 1 : start] != "#" or not (
            text[start] in _PARTICLES or JAPANESE.match(text[start - 2 : start - 1])
        )

    def _japanese_tag(self, start: int, end: int) -> None:
        text = self._normalized.open
        behind = backward(self._normalized, self._tags, self._without(("の", "という"), start))
        ahead = forward(self._normalized, self._tags, _after(_JA_TAG_OPENS, text, end))
        if behind.known or ahead.known:
            listed = behind if behind.known else ahead
            self._tag(start, listed, end=end if listed is behind else 0)
            return
        for unknown, pattern in ((behind.unknown, _JA_TAGGED), (ahead.unknown, _JA_NOTES)):
            for read in unknown[-1:] if unknown is behind.unknown else unknown[:1]:
                sure = pattern.match(text, max(end, read.end))
                is_name = len(read.words) > 1 and read.words[0] not in "のがをでには付つ"
                if self._is_quoted(read) or (sure and is_name):
                    self._leave("tag", read)
                    return

    # -- vaults ---------------------------------------------------------------------------

    def _vault(self, start: int, listed: Listed, end: int) -> None:
        normalized = self._normalized
        if turned := negation(normalized.open, start, end):
            normalized.hide(turned.start, turned.end)  # no filter leaves vaults out
            return
        for read in listed.known:
            self._add("vault", read, self._metadata.vaults)
        if ends := _JA_VAULT_ENDS.match(normalized.open, end):
            end = ends.end()
        self._take_around(start, end, listed.unknown)
        for read in listed.unknown:
            self._leave("vault", read)

    def _is_quoted(self, read: Read) -> bool:
        return self._normalized.open[read.start] in '「『"'

    def _open_vault(self, cue: re.Match[str], read: Read, before: re.Match[str] | None) -> None:
        """Leave a name before the word for vaults where it is one, and not "the bank vault"."""
        placed = before and before["whose"] and before["place"]
        if cue[0] == "保管庫":
            ends = _JA_VAULT_ENDS.match(self._normalized.open, cue.end())
            placed = read.end == cue.start() and ends and ends[0] and len(read.words) > 1
        if self._is_quoted(read) or (placed and read.words.lower() not in _NO_NAME):
            self._leave("vault", read)

    def _behind(self, pattern: re.Pattern[str], listed: Listed, at: int) -> re.Match[str] | None:
        start = _first(listed).start if listed.known or listed.unknown else at
        return pattern.search(self._normalized.open[max(0, start - 20) : start])

    def _without(self, ends: tuple[str, ...], at: int) -> int:
        for end in ends:
            if self._normalized.open.endswith(end, 0, at):
                return at - len(end)
        return at

    # -- titles ---------------------------------------------------------------------------

    def read_titles(self) -> None:
        """Read `the note "X"`, "the note called X", 「X」というノート."""
        for quoted in matches(_QUOTED, self._normalized):
            self._read_quoted(*quoted.span())
        names = Names(self._normalized, self._resolver.title)
        for cue in matches(_NAMED, self._normalized):
            if read := names.after(cue.end(), _MOST_TITLE_WORDS, _STOPS):
                self._title(read, cue.start("called"), read.end)

    def _read_quoted(self, start: int, end: int) -> None:
        """Read a title in quotes: any other phrase in quotes stays one."""
        normalized = self._normalized
        if _MENTIONED.search(normalized.open[max(0, start - _REACH) : start]):
            return
        if _JA_MENTIONED.match(normalized.open, end):
            return
        before = _BEFORE.search(normalized.open[max(0, start - 30) : start])
        after = _AFTER.match(normalized.open, end)
        words = normalized.plain[start + 1 : end - 1]
        name = self._resolver.title(words, alike=bool(before or after))
        read = Read(start, end, normalized.words(start + 1, end - 1), name)
        particle = _PARTICLE.match(normalized.open, end)
        if not (before or after) and (not name or (particle and particle["other"])):
            return
        if after and after["ja"]:
            end = after.end()
        elif particle:
            end = particle.end()
        if before:
            start -= len(before["called"] or "") + 1 if before[0].isascii() else len(before[0])
        self._title(read, start, end)

    def _title(self, read: Read, start: int, end: int) -> None:
        normalized = self._normalized
        turned = negation(normalized.open, start, end) if read.name else None
        if turned:
            normalized.hide(turned.start, turned.end)  # no filter leaves titles out
        elif read.name:
            self._add("title", read, self._metadata.titles)
            normalized.take(start, end)
        else:
            self._leave("title", read)


_WITH = re.compile(rf"{B}(?:with|whose|having|where|by|of)(?: +(?:the|an?))? +$")
_SAYS = re.compile(" *[:=] *| +(?:is|are|equals) +|(?:が|は) ?")
_IS = re.compile(" +(?:of +)?")
_DUE_NAMES = sorted(("due", *CONCEPTS["due"]), key=len, reverse=True)
_DUE = re.compile(
    r" *(?:(?:is|are|was|were|[:=]) +)?(?:(?:on|by|before|after|in|until) +)?"
    "(?:the +)?(?:が|は|の)?"
)
_DUE_WORDS = re.compile(
    rf"{B}(?:{'|'.join(w for w in _DUE_NAMES if w.isascii())}){E}"
    f"|{'|'.join(w for w in _DUE_NAMES if not w.isascii())}"
)
_BY = re.compile(rf"{B}(?P<by>(?:written|{NOTE}) +by +)|(?P<ja>が(?:書いた|作成した|執筆した))")
_ENDS = re.compile("(?:である|の|で|な)?、?")
_OR = re.compile(" *(?:,|、|と|または|か|(?:, *)?(?:or|and) ) *")
_VALUE_STOPS = frozenset({"from", "about", "since", "and", "or", "that"})
_OTHERS = frozenset(
    ["tag", "tags", "vault", "title", "aliases", "alias", "created", "modified", "date"]
)


class FieldReader:
    """Reads what a query says of front matter fields. A field filters by one value: of several, and
    of one that is not wanted, none does.

    :param metadata: gets the fields it speaks of, and the values that it says they hold.
    :param meant: words of the settings for fields, by field.
    """

    def __init__(
        self,
        normalized: NormalizedQuery,
        resolver: Resolver,
        today: date,
        metadata: MetadataExtraction,
        meant: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._normalized, self._resolver, self._today = normalized, resolver, today
        self._words = field_words(resolver, meant, _OTHERS)
        self._held: list[tuple[str, str, int, int]] = []
        self._metadata = metadata

    def read(self) -> None:
        """Read all of them."""
        named = (
            (*span, fields[0])
            for word, fields in self._words.items()
            for span in _places(self._normalized.open, word)
        )
        for start, end, field in islice(named, MOST):
            self._read(start, end, field)
        for author in self._words.get("author", ())[:1]:  # notes by X, Xが書いた
            names = self._values(author, slips=0)
            for cue in matches(_BY, self._normalized):
                read = names.after(cue.end()) if cue["by"] else names.before(cue.start())
                if read and read.name:
                    start, end = min(cue.start(), read.start), max(cue.end(), read.end)
                    self._holds(author, read.name, start, end, read.end)
        for field, value, start, end in self._held:
            if {value} == {other for name, other, *_ in self._held if name == field}:
                self._metadata.values[field] = value
                self._normalized.take(start, end)
        self._hide_due()

    def _values(self, field: str, slips: int = 12) -> Names:
        return Names(self._normalized, partial(self._resolver.value, field), slips)

    def _read(self, start: int, end: int, field: str) -> None:
        text = self._normalized.open
        if not text[start].isascii():
            held = self._values(field, slips=0).before(start)
            if held and held.name and held.end == start:  # 下書き状態の
                self._holds(field, held.name, held.start, _after(_ENDS, text, end), end)
                return
        behind = _WITH.search(text[max(0, start - 20) : start])
        due, by = field in ("due", *CONCEPTS["due"]), text[start:end].endswith(" by")
        says = _SAYS.match(text, end) or (_IS.match(text, end) if behind or by or due else None)
        value = self._values(field).after(says.end(), stops=_VALUE_STOPS) if says else None
        if value and value.name:
            start -= len(behind[0]) if behind else 0
            stop = _after(_ENDS, text, value.end)
            self._holds(field, value.name, start, stop, value.end)
        elif value and not due and not by:
            self._speaks_of(field)

    def _holds(self, field: str, value: str, start: int, end: int, ends: int) -> None:
        """Note what a field is to hold; the words from `start` to `end` say so, and the value's
        end at `ends`."""
        self._speaks_of(field)
        text = self._normalized.open
        joint = _OR.match(text, ends)
        others = self._values(field, slips=0)
        other = others.after(joint.end(), stops=_VALUE_STOPS) if joint else None
        if turned := negation(text, start, ends):
            self._normalized.hide(turned.start, max(end, turned.end))
        elif other and other.name:
            self._normalized.hide(start, other.end)
        else:
            self._held.append((field, value, start, end))
            self._normalized.hide(start, end)

    def _hide_due(self) -> None:
        """Let nobody take the time at which something is due for the time of a note."""
        for cue in matches(_DUE_WORDS, self._normalized):
            at = _after(_DUE, self._normalized.open, cue.end())
            mention = next(find_mentions(self._normalized.open[at : at + 40], self._today), None)
            if mention and mention.start == 0:
                for field in self._words.get(cue[0], ())[:1]:
                    self._speaks_of(field)
                self._normalized.hide(cue.start(), at + mention.end)

    def _speaks_of(self, field: str) -> None:
        if field not in self._metadata.fields:
            self._metadata.fields.append(field)


def field_words(
    resolver: Resolver,
    meant: Mapping[str, Sequence[str]] | None = None,
    unlike: frozenset[str] = frozenset(),
) -> dict[str, list[str]]:
    """Return the fields of the index by the words that mean them, each in normal form: first their
    own names, then what the settings say, then the concepts.

    :param meant: words of the settings, by field.
    :param unlike: fields that are left out.
    """
    fields = ((name_key(field), field) for field in resolver.catalogue.fields())
    own = {key: field for key, field in fields if key not in unlike}
    by_word = {key: [field] for key, field in own.items()}
    for name, words in (meant or {}).items():
        if (field := resolver.field(name)) in own.values():
            by_word |= {key: [field] for key in map(name_key, words) if key not in own}
    for name, others in CONCEPTS.items():
        row = [name_key(word) for word in (name, *others)]
        if named := [own[word] for word in row if word in own]:
            by_word |= {word: named for word in row if word not in by_word}
    return by_word


def mentioned_fields(
    resolver: Resolver, query: str, meant: Mapping[str, Sequence[str]] | None = None
) -> list[str]:
    """Return the front matter fields of the index that the words of a query mean."""
    text, words = name_key(query[:EXAMINED]), field_words(resolver, meant)
    fields = [names for word, names in words.items() if any(_places(text, word))]
    return list(dict.fromkeys(chain.from_iterable(fields)))


def _places(text: str, word: str) -> Iterator[tuple[int, int]]:
    """Yield where a text holds a word; Latin letters end where others begin."""
    if word in text:
        before, after = (end if word[at].isascii() else "" for at, end in ((0, B), (-1, E)))
        yield from (m.span() for m in re.finditer(f"{before}{re.escape(word)}{after}", text))


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


_EXAMINED = 300  # characters of a text
_MOST_WORDS = 3
_MOST_PARTS = 8

# In English and Japanese, of names by kind (`not` of a tag that is not wanted), and of days.
_WORDING = {
    "vault": ("“{words}” names the vault {name}", "「{words}」は保管庫 {name}"),
    "tag": ("“{words}” names the tag {name}", "「{words}」はタグ {name}"),
    "title": ("“{words}” names the note {name}", "「{words}」はノート {name}"),
    "not": ("“{words}” names the tag {name}, which is not wanted", "「{words}」は除くタグ {name}"),
    "open": ("nothing is called “{words}”", "「{words}」という名前はない"),
    "value": ("{name} is “{words}”", "{name} は「{words}」"),
    "between": ("“{words}” is {first} to {last}", "「{words}」は {first} から {last} まで"),
    "day": ("“{words}” is {first}", "「{words}」は {first}"),
    "since": ("“{words}” begins on {first}", "「{words}」は {first} 以降"),
    "until": ("“{words}” ends on {last}", "「{words}」は {last} 以前"),
    "nothing": ("no words filter", "絞り込む言葉はない"),
}


def _reasoning(query: str, read: Extraction) -> str:
    """Return in the query's language which of its words filter, and by what."""
    japanese, metadata = is_japanese(query[:_EXAMINED]), read.metadata
    window = metadata.time_window
    parts: list[tuple[str, dict[str, object]]] = []
    for named in read.found:
        is_unwanted = named.kind == "tag" and named.name not in metadata.tags
        parts.append(("not" if is_unwanted else named.kind, vars(named)))
    parts += [("value", {"name": f, "words": v}) for f, v in metadata.values.items()]
    if not window.is_open:
        both = "day" if window.first == window.last else "between"
        kind = both if window.first and window.last else "since" if window.first else "until"
        parts.append((kind, {"words": window.text, **vars(window)}))
    parts += [("open", vars(named)) for named in read.open]
    parts = parts[:_MOST_PARTS] or [("nothing", {})]
    texts = (_WORDING[kind][japanese].format(**names) for kind, names in parts)
    return ("、" if japanese else "; ").join(texts)


def extract(
    query: str,
    catalogue: Catalogue,
    *,
    aliases: Mapping[str, str] | None = None,
    fields: Mapping[str, Sequence[str]] | None = None,
    meant: Sequence[Named] = (),
    time: TimeWindow | None = None,
    today: date | None = None,
) -> Extraction:
    """Return what a query filters by, and the text that is left: the query as it was typed when
    nothing filters. Any text is a query; only its first 4,000 characters are read.

    :param aliases: other names of tags and vaults; `fields`: words for front matter fields.
    :param meant: what words of open slots mean, as a model said, and the time slot: `time`.
    """
    today, query = today or date.today(), without_halves(query)
    normalized, resolver = NormalizedQuery(query), Resolver(catalogue, aliases, meant)
    read = Extraction(text=query)
    metadata, reader = read.metadata, SlotReader(normalized, resolver, read)
    reader.read_hashes()
    FieldReader(normalized, resolver, today, metadata, fields).read()
    metadata.time_window, read.time_slot = _read_time(normalized, today, time)
    reader.read_tags()
    reader.read_vaults()
    reader.read_titles()
    if len(metadata.tags) < 2:
        metadata.tag_match = "all"
    if metadata.filters_anything:
        read.unwanted = read_unwanted(normalized)
        read.text = residual_text(normalized)
    subject = subject_words(plain_words(read.text[:_EXAMINED]))
    metadata.event_keyword = " ".join(subject[:_MOST_WORDS])
    metadata.logical_reasoning = _reasoning(query, read)
    return read


def _read_time(
    normalized: NormalizedQuery, today: date, meant: TimeWindow | None
) -> tuple[TimeWindow, str]:
    """Return the window that a query asks for, and the words of one that nobody knows."""
    time = find_time(normalized.open, today) or find_slot(normalized.open, today)
    if time is None:
        return TimeWindow(), ""
    window, told = time.window, {"text": normalized.words(*time.words)}
    if window.is_open:
        if meant is None:
            return TimeWindow(), told["text"]
        told |= {"field": "modified"} if window.field == "modified" else {}
        window = meant
    normalized.take(time.start, time.end)
    return window.model_copy(update=told), ""
