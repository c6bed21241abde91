"""From the words of a query to the names of the index: exactly, by another spelling, by an alias,
or by likeness where that leaves no doubt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from rag.query.planner.catalog import Catalogue
from rag.query.planner.fuzzy_match import best_matches
from rag.query.planner.plan import Named
from rag.text.normalize import name_key
from rag.text.scripts import is_latin

# A slip of one letter in a word of six scores 83; the next best must be clearly worse.
_ALIKE = 83.0
_CLEARLY = 4.0
_ALIKE_FEW = 79.0  # two letters changed about in a vault's name of five: vaults are few
_SHORTEST = 4  # Latin letters; a slip in a shorter word is another word
_SHORTEST_OTHER = 3  # characters of other scripts
_LONGEST = 100  # characters of a name
_NUMERONYM = re.compile(r"([a-z])(\d{1,2})([a-z])$")
_SEPARATORS = str.maketrans("", "", " -_/.・")


class Resolved(NamedTuple):
    """A name of the index, and how it was found: `exact`, `spelling`, `alias`, `number` (k8s),
    `nested`, `meant` or `alike`."""

    name: str
    how: str


class Resolver:
    """Finds what words name.

    :param aliases: other names of tags and vaults, in any case and width.
    :param meant: what words mean that the index does not have, as somebody said; they come last.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        aliases: Mapping[str, str] | None = None,
        meant: Sequence[Named] = (),
    ) -> None:
        self.catalogue = catalogue
        self._meant = {(named.kind, _key(named.words)): named.name for named in meant}
        self._aliases = {name_key(words): name for words, name in (aliases or {}).items()}
        self._values: dict[str, _Names] = {}

    def tag(self, words: str, *, alike: bool = True) -> Resolved | None:
        """Return the tag that words name, if they name one.

        :param alike: whether a slip may be in it.
        """
        key = name_key(words.lstrip("#＃"))[:_LONGEST].strip("/ ")
        if not key:
            return None
        if self.catalogue.has_tag(key):
            return Resolved(key, "exact")
        if found := self._by_letters(key):
            return Resolved(found, "spelling")
        if found := self._by_alias(key):
            return Resolved(found, "alias")
        if found := self._by_number(key):
            return Resolved(found, "number")
        if found := self._leaves.get(_bare(key), ""):
            return Resolved(found, "nested")
        if (said := self._meant.get(("tag", key), "")) and self.catalogue.has_tag(said):
            return Resolved(said, "meant")
        near = _alike(key, self.catalogue.tags()) if alike else ""
        return Resolved(near, "alike") if near else None

    def vault(self, words: str, *, alike: bool = True) -> Resolved | None:
        """Return the vault that words name, if they name one.

        :param alike: whether a slip may be in it.
        """
        key = name_key(words)[:_LONGEST]
        if not key:
            return None
        also = self._aliases.get(key) or self._meant.get(("vault", _key(words)), "")
        return self._vaults.find(words, key, name_key(also), alike, _ALIKE_FEW)

    def title(self, words: str, *, alike: bool = False) -> Resolved | None:
        """Return the title of the note that words name, if there is one.

        :param alike: whether a slip may be in it.
        """
        if found := self.catalogue.titled(words[:_LONGEST]):
            return Resolved(found[0], "exact")
        said = self._meant.get(("title", _key(words)), "")
        near = said or (_alike(name_key(words)[:_LONGEST], self._titles) if alike else "")
        titles = self.catalogue.titled(near) if near else ()
        return Resolved(titles[0], "alike") if titles else None

    def field(self, words: str) -> Resolved | None:
        """Return the front matter field that words name, if there is one."""
        bare = _bare(name_key(words))
        found = [field for field in self.catalogue.fields() if _bare(name_key(field)) == bare]
        return Resolved(found[0], "exact") if found else None

    def value(self, field: str, words: str, *, alike: bool = True) -> Resolved | None:
        """Return what a field holds that words name, if they name one.

        :param alike: whether a slip may be in it.
        """
        if field not in self._values:
            self._values[field] = _Names(self.catalogue.values(field))
        key = name_key(words)[:_LONGEST]
        return self._values[field].find(words, key, "", alike) if key else None

    @cached_property
    def _vaults(self) -> _Names:
        return _Names(self.catalogue.vaults())

    @cached_property
    def _titles(self) -> list[str]:
        titles = self.catalogue.titles()
        return [title.lower() if title.isascii() else name_key(title) for title in titles]

    @cached_property
    def _letters(self) -> dict[str, str]:
        """Tags by their letters alone; of several the shortest."""
        tags = sorted(sorted(self.catalogue.tags()), key=len, reverse=True)
        return {tag if tag.isalnum() else _letters(tag): tag for tag in tags}

    def _by_letters(self, key: str) -> str:
        """Return the tag of these letters, in the singular or the plural.

        All tags are read for it, so nothing is worked out about each of them.
        """
        one = _bare(key)
        for letters in (one, f"{one}s", f"{one[:-1]}ies"):
            if letters in self._letters and _bare(letters) == one:
                return self._letters[letters]
        return ""

    @cached_property
    def _leaves(self) -> dict[str, str]:
        """Nested tags by their last part, where no other tag ends so."""
        ends: dict[str, list[str]] = {}
        for tag in self.catalogue.tags():
            if "/" in tag:
                ends.setdefault(_bare(tag.rpartition("/")[2]), []).append(tag)
        return {end: tags[0] for end, tags in ends.items() if len(tags) == 1}

    def _by_alias(self, key: str) -> str:
        """Return the tag that the settings, or a note's aliases, give another name."""
        for name in (self._aliases.get(key, ""), *self.catalogue.titled(key)):
            if name and (found := self._by_letters(name_key(name))):
                return found
        return ""

    def _by_number(self, key: str) -> str:
        """Return the tag that k8s or i18n is short for: so many letters between two others."""
        if not (short := _NUMERONYM.match(key)):
            return ""
        first, count, last = short[1], int(short[2]), short[3]
        length = count + 2
        found = [
            tag
            for tag in self.catalogue.tags()
            if len(tag) == length and tag[0] == first and tag[-1] == last
        ]
        return found[0] if len(found) == 1 else ""


def _key(words: str) -> str:
    return name_key(words).strip("/ #\"'")[:_LONGEST]


def _letters(key: str) -> str:
    """Return a name without what sets words apart."""
    return key.translate(_SEPARATORS) or key


def _bare(key: str) -> str:
    """Return a name without what sets words apart, and without a plural's end."""
    text = _letters(key)
    if len(text) > 4 and text.endswith("ies"):
        return text[:-3] + "y"
    if len(text) > 3 and text.endswith("s") and not text.endswith(("ss", "us", "is")):
        return text[:-1]
    return text


class _Names:
    """A few names, by their normal form and by their letters alone; of several the first."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(names)
        self._by_key = {name_key(name): name for name in reversed(names)}
        self._by_letters = {_bare(key): name for key, name in self._by_key.items()}

    def find(
        self, words: str, key: str, alias: str, alike: bool, least: float = _ALIKE
    ) -> Resolved | None:
        """Return the name of `words`, whose normal form is `key`, or that of another word."""
        if key in self._by_key:
            return Resolved(words if words in self._names else self._by_key[key], "exact")
        if alias in self._by_key:
            return Resolved(self._by_key[alias], "alias")
        if found := self._by_letters.get(_bare(key)):
            return Resolved(found, "spelling")
        found = _alike(key, list(self._by_key), least) if alike else ""
        return Resolved(self._by_key[found], "alike") if found else None


def _alike(key: str, choices: Sequence[str], least: float = _ALIKE) -> str:
    """Return the name most like another, all in normal form; empty where there is any doubt."""
    if len(key) < (_SHORTEST if is_latin(key) else _SHORTEST_OTHER):
        return ""
    found = best_matches(key, choices, 2, cutoff=least - _CLEARLY, keyed=True)
    if not found or found[0].score < least:
        return ""
    if len(found) > 1 and found[0].score - found[1].score < _CLEARLY:
        return ""
    return found[0].value
