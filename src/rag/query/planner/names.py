"""Names of vaults, tags, properties and notes in a query."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import islice
from typing import NamedTuple, Protocol, runtime_checkable

from rapidfuzz import fuzz, process

from rag.query.planner.plan import Named
from rag.query.planner.query_text import HIDDEN, TAKEN, NormalizedQuery
from rag.text.scripts import is_latin
from rag.text.tokenizer import name_key

# A slip of one letter in a word of six scores 83; the next best must be clearly worse.
_ALIKE = 83.0
_CLEARLY = 4.0
_ALIKE_FEW = 79.0  # two letters changed about in a vault's name of five: vaults are few
_SHORTEST = 4  # Latin letters; a slip in a shorter word is another word
_SHORTEST_OTHER = 3  # characters of other scripts
_LONGEST_NAME = 100  # characters of a name
_NUMERONYM = re.compile(r"([a-z])(\d{1,2})([a-z])$")
_SEPARATORS = str.maketrans("", "", " -_/.・")


class Resolver:
    """Finds what words name; what names nothing is empty. `alike` says whether a slip may be in it.

    :param aliases: other names of tags and vaults, in any case and width.
    :param meant: what words mean that the index does not have, as a model said.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        aliases: Mapping[str, str] | None = None,
        meant: Sequence[Named] = (),
    ) -> None:
        self.catalogue = catalogue
        also = {name_key(words): name for words, name in (aliases or {}).items()}
        self._also: dict[str, dict[str, str]] = {"tag": {**also}, "vault": {**also}, "title": {}}
        for named in meant:
            self._also[named.kind].setdefault(name_key(named.words).strip("/ #\"'"), named.name)
        self._values: dict[str, _Names] = {}

    def tag(self, words: str, *, alike: bool = True) -> str:
        """Return the tag that words name: as they are, in the singular or plural, by an alias of
        the settings or of a note, as a numeronym (k8s), or as the end of one nested tag."""
        key = name_key(words.lstrip("#＃"))[:_LONGEST_NAME].strip("/ ")
        if not key or self.catalogue.has_tag(key):
            return key
        others = filter(None, (self._also["tag"].get(key, ""), *self.catalogue.titled(key)))
        bare = map(_bare, (key, *map(name_key, others)))
        return (
            next((self._tags[name] for name in bare if name in self._tags), "")
            or self._by_number(key)
            or self._leaves.get(_bare(key), "")
            or (_alike(key, [*self.catalogue.tags()]) if alike else "")
        )

    def vault(self, words: str, *, alike: bool = True) -> str:
        """Return the vault that words name."""
        key = name_key(words)[:_LONGEST_NAME]
        also = name_key(self._also["vault"].get(key.strip("/ #\"'"), ""))
        return self._vaults.find(key, also, alike, _ALIKE_FEW)

    def title(self, words: str, *, alike: bool = False) -> str:
        """Return the title of the note that words name."""
        key = name_key(words)[:_LONGEST_NAME]
        for name in (words[:_LONGEST_NAME], self._also["title"].get(key.strip("/ #\"'"), "")):
            if name and (titles := self.catalogue.titled(name)):
                return titles[0]
        near = _alike(key, self._titles) if alike else ""
        return next(iter(self.catalogue.titled(near)), "") if near else ""

    def field(self, words: str) -> str:
        """Return the front matter field that words name."""
        bare = _bare(name_key(words))
        fields = self.catalogue.fields()
        return next((field for field in fields if _bare(name_key(field)) == bare), "")

    def value(self, field: str, words: str, *, alike: bool = True) -> str:
        """Return what a field holds that words name."""
        if field not in self._values:
            self._values[field] = _Names(self.catalogue.values(field))
        return self._values[field].find(name_key(words)[:_LONGEST_NAME], "", alike)

    @cached_property
    def _vaults(self) -> _Names:
        return _Names(self.catalogue.vaults())

    @cached_property
    def _titles(self) -> list[str]:
        titles = self.catalogue.titles()
        return [title.lower() if title.isascii() else name_key(title) for title in titles]

    @cached_property
    def _tags(self) -> dict[str, str]:
        """Tags without what sets words apart and a plural's end; of several the shortest."""
        tags = sorted(sorted(self.catalogue.tags()), key=len, reverse=True)
        return {_bare(tag): tag for tag in tags}

    @cached_property
    def _leaves(self) -> dict[str, str]:
        """Nested tags by their last part, where no other tag ends so."""
        ends: dict[str, list[str]] = {}
        for tag in self.catalogue.tags():
            if "/" in tag:
                ends.setdefault(_bare(tag.rpartition("/")[2]), []).append(tag)
        return {end: tags[0] for end, tags in ends.items() if len(tags) == 1}

    def _by_number(self, key: str) -> str:
        """Return the one tag of so many letters between two others."""
        if not (short := _NUMERONYM.match(key)):
            return ""
        whole = re.compile(f"{short[1]}.{{{int(short[2])}}}{short[3]}")
        tags = [tag for tag in self.catalogue.tags() if whole.fullmatch(tag)]
        return tags[0] if len(tags) == 1 else ""


def _bare(key: str) -> str:
    """Return a name without what sets words apart, and without a plural's end."""
    text = key.translate(_SEPARATORS) or key
    if len(text) > 3 and text.endswith("s") and not text.endswith(("ss", "us", "is")):
        return text[:-1]
    return text


class _Names:
    """A few names, by their normal form and by their letters alone; of several the first."""

    def __init__(self, names: Sequence[str]) -> None:
        self._by_key = {name_key(name): name for name in reversed(names)}
        self._by_letters = {_bare(key): name for key, name in self._by_key.items()}

    def find(self, key: str, also: str, alike: bool, least: float = _ALIKE) -> str:
        """Return the name of words in normal form, or that of others."""
        if not key:
            return ""
        name = self._by_key.get(key) or self._by_key.get(also) or self._by_letters.get(_bare(key))
        near = _alike(key, list(self._by_key), least) if alike and not name else ""
        return name or (self._by_key[near] if near else "")


def _alike(key: str, choices: Sequence[str], least: float = _ALIKE) -> str:
    """Return the name most like another, all in normal form; empty where there is any doubt."""
    if len(key) < (_SHORTEST if is_latin(key) else _SHORTEST_OTHER):
        return ""
    matches = best_matches(key, choices, 2, cutoff=least - _CLEARLY, keyed=True)
    (best, score), (_, next_score) = [*matches, ("", 0.0), ("", 0.0)][:2]
    return best if score >= least and score - next_score >= _CLEARLY else ""


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
# Where a Japanese name may end, or begin after.
_PARTICLE = re.compile(
    "の|と|や|か|が|を|で|に|は|も|へ|または|もしくは|および|及び|以外|なし|無し|付|つき|から|まで|タグ|について|に関|という"
    "|(?<=[a-z0-9])(?=[ぁ-鿿])|(?<=[ぁ-鿿])(?=[a-z0-9])"
)
JAPANESE = re.compile("[\u3041-\u30fa\u30fc-\u30ff\u3400-\u9fff]")


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

    def __init__(
        self, normalized: NormalizedQuery, resolve: Callable[..., str], slips: int = 12
    ) -> None:
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

    def _quoted(self, start: int, end: int) -> Read:
        name = self._find(start + 1, end - 1, alike=True)
        return Read(start, end, self._normalized.words(start + 1, end - 1), name)

    def _longest(self, spans: list[tuple[int, int]]) -> Read | None:
        """Try spans, the longest first, at first to the letter and then with a slip."""
        for alike in (False, True):
            for start, end in spans:
                if name := self._find(start, end, alike=alike):
                    return Read(start, end, self._normalized.words(start, end), name)
        if not spans:
            return None
        # Nobody knows where a Japanese name ends: at the next particle, most likely.
        start, end = spans[-1 if JAPANESE.search(self._normalized.open, *spans[0]) else 0]
        return Read(start, end, self._normalized.words(start, end), "")

    def _find(self, start: int, end: int, alike: bool) -> str:
        alike = alike and self._slips > 0
        self._slips -= alike
        return self._resolve(self._normalized.words(start, end), alike=alike)


def _skip(text: str, at: int) -> int:
    return len(text) - len(text[at:].lstrip(" "))


def _ends(text: str, at: int, stops: frozenset[str], most: int) -> Iterator[int]:
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
        at = _skip(text, word.end())


def _starts(text: str, at: int, stops: frozenset[str]) -> Iterator[int]:
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


MOST = 64  # names in a list

_AGAIN = "(?:tagged +(?:with +|as +)?|(?:the|my|our) +)?"
_PAIR = re.compile(" *(?:both|either) +(?:(?:the|my|our) +)?")
_OR = re.compile(" *,? *(?:or|または|もしくは|あるいは|か) *" + _AGAIN + "(?P<hash>#)?")
_AND = re.compile(
    " *(?:, *(?:and +)?|(?P<firm>and|&|[+]) |、|と|や|および|及び) *" + _AGAIN + "(?P<hash>#)?"
)
_OR_BEFORE = re.compile(" *(?:(?:^| )or(?: +(?:the|my|our))?|または|もしくは|あるいは|か) *$")
_AND_BEFORE = re.compile(" *(?:(?:^| )and(?: +(?:the|my|our))?|,|&|、|と|や|および|及び|・) *$")
_CUE_WORD = re.compile("(?:タグ|保管庫|ボルト|ヴォルト)$")
_JOINED = re.compile(" *, *(?:and +|or +)?| +(?:and|or|&) +")
_OR_BEHIND = re.compile(rf"(?<={TAKEN}) *(?:,? *or|または|もしくは|あるいは|か) *$")


class Listed(NamedTuple):
    """Names of the index that are joined.

    :ivar unknown: the name next to them that the index does not have.
    :ivar joints: `or` and `and`, as far as they join them.
    """

    known: list[Read]
    unknown: list[Read]
    joints: set[str]


def or_behind(text: str, start: int) -> int:
    """Return where "or" begins that joins what stands at a position to a filter before it; the
    position itself where none does."""
    from_ = max(0, start - 12)
    match = _OR_BEHIND.search(text[from_:start])
    return from_ + match.start() if match else start


def forward(normalized: NormalizedQuery, names: Names, at: int, most_words: int = 5) -> Listed:
    """Read the names that follow a cue; by hashes, if `most_words` is 1. One that the index does
    not have counts where no comma alone joins it, and ends the list elsewhere."""
    listed, joint, firm = Listed([], [], set()), "", True
    pair = _PAIR.match(normalized.open, at)
    at = pair.end() if pair else at
    while len(listed.known) < MOST and (read := names.after(at, most_words)):
        text = normalized.open
        if read.name:
            listed.known.append(read)
        elif firm:
            if cut := _JOINED.search(text, read.start, read.end):
                words = normalized.words(read.start, cut.start())
                read = Read(read.start, cut.start(), words, "")
            listed.unknown.append(read)
        else:
            break
        listed.joints.add(joint)
        join = (either := _OR.match(text, read.end)) or _AND.match(text, read.end)
        if not join or (most_words == 1 and not join["hash"]):
            break
        at, mark = join.end(), join[0].strip()
        firm = bool(either or join["firm"]) or (mark != "," and text[at : at + 1] in QUOTES)
        joint = "or" if either else "" if mark in (",", "、", "や") else "and"
    return listed


def backward(
    normalized: NormalizedQuery, names: Names, at: int, stops: frozenset[str] = STOP
) -> Listed:
    """Read the names that end before a position, in their order. One that the index does not have
    counts where it is the only one, or a Japanese particle joins it."""
    listed, joint, mark = Listed([], [], set()), "", "と"
    while len(listed.known) < MOST and (read := names.before(at, stops)):
        if read.name:
            listed.known.insert(0, read)
        elif listed.joints and _CUE_WORD.search(read.words):
            break  # a name of another list: 仕事保管庫と日記保管庫
        else:
            cuts = [cut.end() for cut in _JOINED.finditer(normalized.open, read.start, read.end)]
            if cuts:
                read = Read(cuts[-1], read.end, normalized.words(cuts[-1], read.end), "")
            if mark.isascii():
                break
            listed.unknown.insert(0, read)
        listed.joints.add(joint)
        text = normalized.open[max(0, read.start - 12) : read.start]
        match = (either := _OR_BEFORE.search(text)) or _AND_BEFORE.search(text)
        mark = match[0].strip() if match else ""
        if not match or (listed.unknown and mark.isascii()):
            break
        joint = "or" if either else "" if mark in (",", "、", "や", "・") else "and"
        at = read.start - len(match[0])
    return listed


SCORERS: dict[str, Callable[..., float]] = {
    "WRatio": fuzz.WRatio,
    "ratio": fuzz.ratio,
    "partial_ratio": fuzz.partial_ratio,
    "token_sort_ratio": fuzz.token_sort_ratio,
    "token_set_ratio": fuzz.token_set_ratio,
}


@runtime_checkable
class Catalogue(Protocol):
    """The allowlist of a plan: names as the index writes them. It may have 10,000 notes: only
    `tags` (in lower case, parents of nested ones too) and `titles` (aliases and file names too) may
    read all of them. `titled` gives the titles of the notes of a name, in any case and width;
    `values` what a field holds, at most 1,000; `neighbours` tags that stand beside one; `digest` a
    hash."""

    def vaults(self) -> Sequence[str]: ...
    def tags(self) -> Collection[str]: ...
    def has_tag(self, tag: str) -> bool: ...
    def titles(self) -> Sequence[str]: ...
    def titled(self, name: str) -> Sequence[str]: ...
    def fields(self) -> Sequence[str]: ...
    def values(self, field: str) -> Sequence[str]: ...
    def neighbours(self, tag: str, limit: int = 5) -> Sequence[str]: ...
    def digest(self) -> str: ...


def names_by_kind(catalogue: Catalogue) -> dict[str, Sequence[str]]:
    """Return the names of vaults, tags, titles and fields, by `vault`, `tag`, `title` and
    `field`."""
    vaults, tags = catalogue.vaults(), [*catalogue.tags()]
    return {"vault": vaults, "tag": tags, "title": catalogue.titles(), "field": catalogue.fields()}


class StaticCatalogue:
    """A catalogue of what it is given.

    :param notes: the tags of each note; `aliases`: titles by other names; `fields`: values.
    """

    def __init__(
        self,
        vaults: Sequence[str] = (),
        tags: Sequence[str] = (),
        titles: Sequence[str] = (),
        aliases: Mapping[str, str] | None = None,
        fields: Mapping[str, Sequence[str]] | None = None,
        notes: Sequence[Sequence[str]] = (),
    ) -> None:
        self._vaults, self._notes = list(vaults), [list(some) for some in notes]
        self._tags = list(dict.fromkeys([*tags, *(tag for some in notes for tag in some)]))
        self._titles, self._aliases = list(titles), dict(aliases or {})
        self._fields = {name: list(values) for name, values in (fields or {}).items()}

    def vaults(self) -> Sequence[str]:
        return self._vaults

    def tags(self) -> Sequence[str]:
        return self._tags

    def has_tag(self, tag: str) -> bool:
        return tag in self._tags

    def titles(self) -> Sequence[str]:
        return [*self._titles, *self._aliases]

    def titled(self, name: str) -> Sequence[str]:
        named = [(title, title) for title in self._titles] + [*self._aliases.items()]
        key = name_key(name)
        return list(dict.fromkeys(title for other, title in named if name_key(other) == key))

    def fields(self) -> Sequence[str]:
        return list(self._fields)

    def values(self, field: str) -> Sequence[str]:
        return self._fields.get(field, [])

    def neighbours(self, tag: str, limit: int = 5) -> Sequence[str]:
        beside = Counter(other for some in self._notes if tag in some for other in some)
        del beside[tag]
        return [name for name, _ in sorted(beside.items(), key=lambda i: (-i[1], i[0]))[:limit]]

    def digest(self) -> str:
        parts = (self._vaults, self._tags, self._titles, self._aliases, self._fields, self._notes)
        return sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:16]


def best_matches(
    query: str,
    choices: Sequence[str],
    limit: int = 5,
    scorer: str = "ratio",
    cutoff: float = 0.0,
    keyed: bool = False,
) -> list[tuple[str, float]]:
    """Return the choices most like a query and how like each is, from 0 to 100, the best first and
    of equal ones the first given; case and width do not count. `cutoff` is the least score.

    :param scorer: one of `SCORERS`; another is `WRatio`.
    :param keyed: whether query and choices are in normal form already, which saves much time.
    """
    if limit < 1 or not choices:
        return []
    wanted, normal = (query, None) if keyed else (name_key(query), name_key)
    compare = SCORERS.get(scorer, fuzz.WRatio)
    matches = process.extract(
        wanted, choices, scorer=compare, processor=normal, limit=limit, score_cutoff=cutoff
    )
    return [(value, round(score, 2)) for value, score, _ in matches]
