"""The query syntax people know from other search boxes.

| written | means |
|---|---|
| `"exact phrase"` | only notes that hold these words in a row |
| `-word`, `-"a phrase"` | no note that holds it |
| `kube*` | words that begin so |
| `tag:`, `vault:`, `path:`, `title:` | only such notes; with `-` before it, none of these |

A value with spaces is quoted (`title:"Daily note"`). Curly and full-width quotes, full-width
colons and minus signs count too. Whatever else is written is plain text: a quote that is never
closed, a lone minus, a colon after any other word. Nothing is a syntax error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from rag.text.tokens import has_words

FIELDS = ("tag", "vault", "path", "title")

_QUOTED = r'"(?:[^"]*)"|“(?:[^”]*)”|＂(?:[^＂]*)＂|„(?:[^“”]*)[“”]'
_TOKEN = re.compile(
    rf"""(?P<minus>[-－−](?=[^\s\-－−]))?
    (?:(?P<field>{"|".join(FIELDS)})[:：](?:(?P<quoted_value>{_QUOTED})|(?P<value>[^\s"“＂„]\S*))
    |(?P<phrase>{_QUOTED})
    |(?P<word>\S+))""",
    re.IGNORECASE | re.VERBOSE,
)
_PREFIX = re.compile(r"(\w[\w'’-]+)\*$")


class FieldTerm(NamedTuple):
    """A condition on a note's tag, vault, path or title."""

    field: str
    value: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What a query says.

    `text` is what notes are ranked by: the plain words, with those of phrases, prefixes and
    titles, in the order in which they were written. `phrases` must stand in a note, `excluded`
    words and phrases must not; `prefixes` are beginnings of words, without the star.
    """

    text: str
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    fields: tuple[FieldTerm, ...] = ()

    def values(self, field: str, negated: bool = False) -> list[str]:
        """Return the values given for one field."""
        return [f.value for f in self.fields if (f.field, f.negated) == (field, negated)]


def parse_query(query: str) -> ParsedQuery:
    """Read a query; every text is one."""
    words: list[str] = []
    phrases: list[str] = []
    excluded: list[str] = []
    prefixes: list[str] = []
    fields: list[FieldTerm] = []
    for token in _TOKEN.finditer(query):
        negated = token["minus"] is not None
        if token["field"]:
            value = (token["value"] or token["quoted_value"][1:-1]).strip()
            field = token["field"].lower()
            if value:
                fields.append(FieldTerm(field, value, negated))
                if field == "title" and not negated:
                    words.append(value)
            continue
        phrase = token["phrase"][1:-1] if token["phrase"] else ""
        text = phrase or token["word"] or ""
        prefix = _PREFIX.match(text) if not phrase else None
        if negated and has_words(text):
            excluded.append(text)
        elif phrase and has_words(phrase):
            phrases.append(phrase)
            words.append(phrase)
        elif prefix:
            prefixes.append(prefix[1])
            words.append(prefix[1])
        else:
            words.append(text)
    return ParsedQuery(
        " ".join(words), tuple(phrases), tuple(excluded), tuple(prefixes), tuple(fields)
    )
