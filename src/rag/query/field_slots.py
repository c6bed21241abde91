"""The front matter that a query speaks of: "with status draft", `author: Sato`, 作者が佐藤の."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import partial

from rag.query.concepts import CONCEPTS
from rag.query.folding import Folded
from rag.query.naming import Names
from rag.query.resolving import Resolved, Resolver
from rag.query.slots import MOST, matches
from rag.query.time_points import find_points
from rag.text.normalize import name_key

_B, _E = "(?<![a-z0-9_])", "(?![a-z0-9_])"
_WITH = re.compile(rf"{_B}(?:with|whose|having|where|by|of)(?: +(?:the|an?))? +$")
_SAYS = re.compile(" *[:=] *| +(?:is|are|equals) +|(?:が|は) ?")
_IS = re.compile(" +(?:of +)?")
_DUE = re.compile(
    r" +(?:on +|by +|before +|in +)?(?=this|next|last|today|tomorrow|\d)|(?:が|は|の)?"
)
_BY = re.compile(
    rf"{_B}(?P<by>(?:written|notes?|memos?|entries) +by +)|(?P<ja>が(?:書いた|作成した|執筆した))"
)
_ENDS = re.compile("(?:である|の|で|な)?、?")
_STOPS = frozenset({"from", "about", "since", "and", "or", "that"})
_OTHERS = {"tag", "tags", "vault", "title", "aliases", "alias", "created", "modified", "date"}


class FieldReader:
    """Reads what a query says of front matter fields.

    :ivar fields: those it speaks of.
    :ivar values: what it says they hold, where the index has that.
    """

    def __init__(self, folded: Folded, resolver: Resolver, today: date) -> None:
        self._folded, self._resolver, self._today = folded, resolver, today
        self.fields: list[str] = []
        self.values: dict[str, str] = {}

    def read(self) -> None:
        """Read all of them."""
        for count, (start, end, field) in enumerate(self._named()):
            if count >= MOST:
                return
            self._read(start, end, field)
        if author := self._known().get("author"):
            self._read_author(author)

    def _read_author(self, field: str) -> None:
        """Read "notes by X", Xが書いた."""
        names = Names(self._folded, partial(self._exactly, field))
        for cue in matches(_BY, self._folded):
            read = names.after(cue.end()) if cue["by"] else names.before(cue.start())
            if read and read.name:
                self._holds(field, read.name)
                self._folded.take(min(cue.start(), read.start), max(cue.end(), read.end))

    def _exactly(self, field: str, words: str, *, alike: bool) -> Resolved | None:
        return None if alike else self._resolver.value(field, words, alike=False)

    def _holds(self, field: str, value: str) -> None:
        self.values.setdefault(field, value)
        self._speaks_of(field)

    def _read(self, start: int, end: int, field: str) -> None:
        text = self._folded.open
        if not text[start].isascii():
            held = Names(self._folded, partial(self._exactly, field)).before(start)
            if held and held.name and held.end == start:  # 下書き状態の
                self._holds(field, held.name)
                ends = _ENDS.match(text, end)
                self._folded.take(held.start, ends.end() if ends else end)
                return
        behind = _WITH.search(text[max(0, start - 20) : start])
        by = text[start:end].endswith(" by")
        due = field in ("due", *CONCEPTS["due"])
        says = _SAYS.match(text, end) or (_IS.match(text, end) if behind or by or due else None)
        if says and (
            value := Names(self._folded, partial(self._resolver.value, field)).after(
                says.end(), stops=_STOPS
            )
        ):
            if value.name:
                ends = _ENDS.match(text, value.end)
                self._holds(field, value.name)
                start -= len(behind[0]) if behind else 0
                self._folded.take(start, ends.end() if ends else value.end)
                return
            if not (by or due):
                self._speaks_of(field)
        if due:
            self._hide_due(start, end, field)

    def _hide_due(self, start: int, end: int, field: str) -> None:
        """Let nobody take the time at which something is due for the time of a note."""
        opens = _DUE.match(self._folded.open, end)
        at = opens.end() if opens else end
        point = next(find_points(self._folded.open[at : at + 40], self._today), None)
        if point and point.start == 0:
            self._speaks_of(field)
            self._folded.hide(start, at + point.end)

    def _speaks_of(self, field: str) -> None:
        if field not in self.fields:
            self.fields.append(field)

    def _named(self) -> Iterator[tuple[int, int, str]]:
        """Yield where a query names a field, and which."""
        for word, field in self._known().items():
            if word not in self._folded.open:
                continue
            edges = (_B if word[0].isascii() else "", _E if word[-1].isascii() else "")
            pattern = re.escape(word).join(edges)
            for found in re.finditer(pattern, self._folded.open):
                yield *found.span(), field

    def _known(self) -> dict[str, str]:
        """Return the fields of the index by the words that mean them, its own first."""
        fields = [f for f in self._resolver.catalogue.fields() if name_key(f) not in _OTHERS]
        known = {name_key(field): field for field in fields}
        for name, words in CONCEPTS.items():
            for field in [known[word] for word in (name, *words) if word in known][:1]:
                known |= {word: field for word in (name, *words) if word not in known}
        return known
