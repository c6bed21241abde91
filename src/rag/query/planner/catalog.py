"""What an index holds that a query may name, and which of its names are most alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from hashlib import sha256
from typing import NamedTuple, Protocol, runtime_checkable

from rag.text.tokenizer import name_key

try:
    from rapidfuzz import fuzz, process
except ImportError:  # difflib knows one way to compare, whatever scorer is asked for
    ENGINE = "difflib"
    SCORERS: dict[str, Callable[..., float]] = {}
else:
    ENGINE = "rapidfuzz"
    SCORERS = {
        "WRatio": fuzz.WRatio,
        "ratio": fuzz.ratio,
        "partial_ratio": fuzz.partial_ratio,
        "token_sort_ratio": fuzz.token_sort_ratio,
        "token_set_ratio": fuzz.token_set_ratio,
    }


@runtime_checkable
class Catalogue(Protocol):
    """The allowlist of a plan. Names are returned as the index writes them.

    An index may have 10,000 notes: only `tags` and `titles` may read all of them.
    """

    def vaults(self) -> Sequence[str]:
        """Return the names of the vaults."""

    def tags(self) -> Sequence[str]:
        """Return all tags, lower case, parents of nested ones too."""

    def has_tag(self, tag: str) -> bool:
        """Return whether a note has exactly this tag."""

    def titles(self) -> Sequence[str]:
        """Return titles, aliases and file names of all notes."""

    def titled(self, name: str) -> Sequence[str]:
        """Return the titles of the notes that have a name as title, alias or file name, in any
        case and width."""

    def fields(self) -> Sequence[str]:
        """Return the names of the front matter fields."""

    def values(self, field: str) -> Sequence[str]:
        """Return what a field holds, the most frequent first, at most 1,000."""

    def neighbours(self, tag: str, limit: int = 5) -> Sequence[str]:
        """Return the tags that stand beside a tag most often."""

    def digest(self) -> str:
        """Return a hash of all names, to detect a changed index."""


def names_by_kind(catalogue: Catalogue) -> dict[str, Sequence[str]]:
    """Return the names of vaults, tags, titles and fields, by `vault`, `tag`, `title` and
    `field`."""
    vaults, tags = catalogue.vaults(), catalogue.tags()
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


class Match(NamedTuple):
    """A choice, and how like the query it is, from 0 to 100."""

    value: str
    score: float


def best_matches(
    query: str,
    choices: Sequence[str],
    limit: int = 5,
    scorer: str = "ratio",
    cutoff: float = 0.0,
    keyed: bool = False,
) -> list[Match]:
    """Return the choices most like a query, the best first and of equal ones the first given.

    Case and width do not count.

    :param scorer: one of `SCORERS`; another is `WRatio`.
    :param cutoff: the least score.
    :param keyed: whether query and choices are in normal form already, which saves much time.
    """
    if limit < 1 or not choices:
        return []
    if not SCORERS:
        return _by_difflib(query, choices, limit, cutoff)
    chosen = SCORERS.get(scorer, SCORERS["WRatio"])
    found = process.extract(
        query if keyed else name_key(query),
        choices,
        scorer=chosen,
        processor=None if keyed else name_key,
        limit=limit,
        score_cutoff=cutoff,
    )
    return [Match(value, round(score, 2)) for value, score, _ in found]


def _by_difflib(query: str, choices: Sequence[str], limit: int, cutoff: float) -> list[Match]:
    wanted = name_key(query)
    matches = [
        Match(choice, round(100 * SequenceMatcher(None, name_key(choice), wanted).ratio(), 2))
        for choice in choices
    ]
    likely = sorted((m for m in matches if m.score >= cutoff), key=lambda match: -match.score)
    return likely[:limit]
