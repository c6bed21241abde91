"""Properties and tags that a query states, and tags that mean the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from itertools import chain

from rag.query.planner.plan import MetadataExtraction
from rag.query.planner.rules.field_synonyms import CONCEPTS, field_words
from rag.query.planner.rules.names import Names, Resolver
from rag.query.planner.rules.query_text import NormalizedQuery, negation
from rag.query.planner.rules.shared_patterns import EXAMINED, NOTE, B, E
from rag.query.planner.rules.slot_reader import MOST, matches
from rag.query.planner.rules.time_mentions import find_mentions
from rag.text.scripts import KATAKANA
from rag.text.tokenizer import name_key

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
_STOPS = frozenset({"from", "about", "since", "and", "or", "that"})
_OTHER_WORDS = "tag tags vault title aliases alias created modified date"
_OTHERS = frozenset(_OTHER_WORDS.split())


class FieldReader:
    """Reads what a query says of front matter fields.

    A field filters by one value: of several, and of one that is not wanted, none does.

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
        for count, (start, end, field) in enumerate(self._named()):
            if count >= MOST:
                break
            self._read(start, end, field)
        for author in self._words.get("author", ())[:1]:
            self._read_author(author)
        for field, value, start, end in self._held:
            if {value} == {other for name, other, *_ in self._held if name == field}:
                self._metadata.values[field] = value
                self._normalized.take(start, end)
        self._hide_due()

    def _read_author(self, field: str) -> None:
        """Read "notes by X", Xが書いた."""
        names = Names(self._normalized, partial(self._exactly, field))
        for cue in matches(_BY, self._normalized):
            read = names.after(cue.end()) if cue["by"] else names.before(cue.start())
            if read and read.name:
                start, end = min(cue.start(), read.start), max(cue.end(), read.end)
                self._holds(field, read.name, start, end, read.end)

    def _exactly(self, field: str, words: str, *, alike: bool) -> str:
        return "" if alike else self._resolver.value(field, words, alike=False)

    def _holds(self, field: str, value: str, start: int, end: int, ends: int) -> None:
        """Note what a field is to hold; the words from `start` to `end` say so, and the value's
        end at `ends`."""
        self._speaks_of(field)
        turned = negation(self._normalized.open, start, ends)
        others = Names(self._normalized, partial(self._exactly, field))
        joint = _OR.match(self._normalized.open, ends)
        other = others.after(joint.end(), stops=_STOPS) if joint else None
        if turned:
            self._normalized.hide(turned.start, max(end, turned.end))
        elif other and other.name:
            self._normalized.hide(start, other.end)
        else:
            self._held.append((field, value, start, end))
            self._normalized.hide(start, end)

    def _read(self, start: int, end: int, field: str) -> None:
        text = self._normalized.open
        if not text[start].isascii():
            held = Names(self._normalized, partial(self._exactly, field)).before(start)
            if held and held.name and held.end == start:  # 下書き状態の
                ends = _ENDS.match(text, end)
                self._holds(field, held.name, held.start, ends.end() if ends else end, end)
                return
        behind = _WITH.search(text[max(0, start - 20) : start])
        due = field in ("due", *CONCEPTS["due"])
        spaced = behind or text[start:end].endswith(" by") or due
        says = _SAYS.match(text, end) or (_IS.match(text, end) if spaced else None)
        names = Names(self._normalized, partial(self._resolver.value, field))
        value = names.after(says.end(), stops=_STOPS) if says else None
        if value and value.name:
            ends = _ENDS.match(text, value.end)
            start -= len(behind[0]) if behind else 0
            stop = ends.end() if ends else value.end
            self._holds(field, value.name, start, stop, value.end)
        elif value and not due and not text[start:end].endswith(" by"):
            self._speaks_of(field)

    def _hide_due(self) -> None:
        """Let nobody take the time at which something is due for the time of a note."""
        for cue in matches(_DUE_WORDS, self._normalized):
            opens = _DUE.match(self._normalized.open, cue.end())
            at = opens.end() if opens else cue.end()
            mention = next(find_mentions(self._normalized.open[at : at + 40], self._today), None)
            if mention and mention.start == 0:
                for field in self._words.get(cue[0], ())[:1]:
                    self._speaks_of(field)
                self._normalized.hide(cue.start(), at + mention.end)

    def _speaks_of(self, field: str) -> None:
        if field not in self._metadata.fields:
            self._metadata.fields.append(field)

    def _named(self) -> Iterator[tuple[int, int, str]]:
        """Yield where a query names a field, and which."""
        for word, fields in self._words.items():
            if word not in self._normalized.open:
                continue
            edges = (B if word[0].isascii() else "", E if word[-1].isascii() else "")
            pattern = re.escape(word).join(edges)
            for found in re.finditer(pattern, self._normalized.open):
                yield *found.span(), fields[0]


def mentioned_fields(
    resolver: Resolver, query: str, meant: Mapping[str, Sequence[str]] | None = None
) -> list[str]:
    """Return the front matter fields of the index that the words of a query mean."""
    text = name_key(query[:EXAMINED])
    words = field_words(resolver, meant)
    fields = [names for word, names in words.items() if _says(text, word)]
    return list(dict.fromkeys(chain.from_iterable(fields)))


def _says(text: str, word: str) -> bool:
    """Return whether a text holds a word, as a word: Latin letters and katakana end where others
    begin."""
    if word not in text:
        return False
    kind = f"[{KATAKANA}]" if re.match(f"[{KATAKANA}]", word) else "[a-z0-9]"
    before = f"(?<!{kind})" if re.match(kind, word) else ""
    after = f"(?!{kind})" if re.search(f"{kind}$", word) else ""
    return re.search(f"{before}{re.escape(word)}{after}", text) is not None
