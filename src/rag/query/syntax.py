r"""The query syntax people know from other search boxes.

| written | means |
|---|---|
| `"exact phrase"` | only notes that hold these words in a row |
| `-word`, `-"a phrase"`, `-kube*` | no note that holds it |
| `kube*` | words that begin so |
| `tag:`, `vault:`, `path:`, `title:` | only such notes; with `-` before it, none of these |
| `status:done`, `price:>200` | the same of a property of the front matter (`rag.query.values`) |
| `tag:a OR tag:b`, `"one phrase" \| "another"` | only notes of which one of these holds |

A value with spaces is quoted (`title:"Daily note"`). Curly and full-width quotes, full-width
colons and minus signs count too. Whatever else is written is plain text: a quote that is never
closed, a minus alone, before a digit or a single letter, a colon after any other word. In what
looks like a pasted command (`tar -xzf notes.tar`, `--force -it`) so is a minus before up to four
letters. Nothing is a syntax error. Words need not all be found, so `OR` between them changes
nothing; between a word and a phrase it lets the phrase be missing.
Of each kind the first count (`rag.query.syntax`): a phrase or beginning too many is plain text, any
other condition too many is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeVar

from rag.exceptions import QueryError
from rag.support.unicode_forms import with_few_marks
from rag.text.messages import without_halves
from rag.text.tokenizer import TOKEN, cleaned, has_words, normalize

MAX_LENGTH = 4_000  # characters of a query
MOST_PHRASES = 16  # that must stand in a note
MOST_EXCLUDED = 32  # words and phrases that must not
MOST_BEGINNINGS = 16  # of words, with a star; as many again that are excluded
MOST_FIELDS = 16  # `tag:`, `vault:`, `path:` and `title:`
MOST_WORDS = 2_000  # of the notes that all beginnings of a query stand for


def bounded(query: str) -> str:
    """Return a query with no more marks on any letter than a language has.

    :raises QueryError: when it is no text, or too long, as it is typed or in its normal form.
    """
    if not isinstance(query, str):
        raise not_text("query", query)
    if len(query) > MAX_LENGTH:
        raise _too_long(len(query))
    if query.isascii():
        return query
    query = with_few_marks(query)
    # Some characters stand for a whole phrase.
    if (length := len(normalize(query))) > MAX_LENGTH:
        raise _too_long(length)
    return query


def not_text(what: str, given: object) -> QueryError:
    """Return the error of a query, or a question, that is something else than text."""
    return QueryError(f"the {what} must be text, not of type {type(given).__name__}")


def _too_long(length: int) -> QueryError:
    return QueryError(
        f"the query has {length:,} characters, more than {MAX_LENGTH:,}",
        hint="Say it in fewer words.",
    )


T = TypeVar("T")

# Programs, not those whose names are everyday words (find, make, sort).
_PROGRAMS = (
    "apt brew cargo chmod chown cp curl docker du ffmpeg gcc git grep helm java kubectl ls mkdir mv"
    " npm pip podman ps psql python python3 rm rsync scp sed ssh sudo systemctl tar uv wget xargs"
)
_COMMANDS = frozenset(_PROGRAMS.split())
_OPTION_LENGTHS = range(1, 5)  # a longer word after a minus is meant to be left out
_OPTION = re.compile(r"--[a-z][\w-]*(?:=.*)?|-[a-z]", re.IGNORECASE)
_LETTER = re.compile("[a-z]")

FIELDS = ("tag", "vault", "path", "title")
PHRASE = '"'  # as the field of an alternative; no property has that name
_OR = ("OR", "|", "||", "｜")

_QUOTES = '"“”＂„'
_QUOTED = '"[^"]*"|“[^”]*”|”[^”]*”|＂[^＂]*＂|„[^“”]*[“”]'
# Without any of these a query is plain words.
_SPECIAL = re.compile(rf"[{_QUOTES}:：*＊|｜－−-]|(?<!\S)OR(?!\S)")
_FIELD = re.compile(rf"(?:{'|'.join(FIELDS)})[:：]", re.IGNORECASE)
# A word before a colon, which may be the name of a property.
_NAMED = re.compile(rf"(?<!\S)[-－−]?([^\W\d][^\s:：{_QUOTES}]*):(?=\S)")


@lru_cache(16)
def _token(properties: tuple[str, ...]) -> re.Pattern[str]:
    # Of a property a full-width colon makes no field: `著者：田中` is how people write.
    others = f"|(?:{'|'.join(map(re.escape, properties))})(?=:)" if properties else ""
    fields = f"(?:{'|'.join(FIELDS)})(?=[:：]){others}"
    return re.compile(
        rf"""(?P<minus>(?<!\S)[-－−](?=[^\s\-－−\d]))?
        (?:(?P<field>{fields})[:：](?:(?P<quoted_value>{_QUOTED})|(?P<value>[^\s{_QUOTES}]\S*))
        |(?P<phrase>{_QUOTED})
        |(?P<word>\S+))""",
        re.IGNORECASE | re.VERBOSE,
    )


class FieldTerm(NamedTuple):
    """A condition on a note's tag, vault, path, title or on a property of it."""

    field: str
    value: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What a query says."""

    # What notes are ranked by: the plain words, with those of phrases, prefixes and titles, in the
    # order in which they were written.
    text: str
    phrases: tuple[str, ...] = ()  # that must stand in a note
    excluded: tuple[str, ...] = ()  # words and phrases that must not
    prefixes: tuple[str, ...] = ()  # beginnings of words, without the star
    excluded_prefixes: tuple[str, ...] = ()
    fields: tuple[FieldTerm, ...] = ()
    either: tuple[tuple[FieldTerm, ...], ...] = ()  # fields and `PHRASE`s, of each one must hold
    beyond: tuple[str, ...] = ()  # of what there was too much

    def __bool__(self) -> bool:
        return bool(self.text or self.has_conditions)

    @property
    def has_filters(self) -> bool:
        """Whether it says which notes may be found, but for phrases."""
        return any((self.excluded, self.excluded_prefixes, self.fields, self.either))

    @property
    def has_conditions(self) -> bool:
        """Whether it says which notes may be found, besides words to rank them by."""
        kinds = self.phrases, self.excluded, self.excluded_prefixes, self.fields, self.either
        return any(kinds)

    @property
    def properties(self) -> list[FieldTerm]:
        """Return the conditions on properties."""
        return [term for term in self.fields if term.field not in FIELDS]

    def values(self, field: str, negated: bool = False) -> list[str]:
        """Return the values given for one field."""
        return [f.value for f in self.fields if (f.field, f.negated) == (field, negated)]


def named_properties(query: str) -> list[str]:
    """Return the names in a query that may be those of properties, in lower case.

    >>> named_properties("status:done -Owner:Ada at 10:30 note: x tag:ops")
    ['owner', 'status']
    """
    return sorted({match[1].lower() for match in _NAMED.finditer(query)} - {*FIELDS})


def parse_query(query: str, properties: Collection[str] = ()) -> ParsedQuery:
    """Read a query; every text is one.

    :param properties: names in lower case that are fields too.
    """
    query = without_halves(query)
    if not _SPECIAL.search(query):
        return ParsedQuery(" ".join(query.split()))
    # A command that was pasted names a program, or has an option that people write nowhere else.
    is_command = any(p.lower() in _COMMANDS or _OPTION.fullmatch(p) for p in query.split())
    words: list[str | FieldTerm] = []  # those of phrases and titles by their terms
    excluded, prefixes, excluded_prefixes = list[str](), list[str](), list[str]()
    groups: list[list[FieldTerm | None]] = []  # of what OR joins; a plain word is `None`
    joint = ""  # the OR that was just read
    names = tuple(sorted(properties, key=len, reverse=True))
    for token in _token(names).finditer(query):
        prefix, term = _beginning(token["word"]), _field_term(token, names)
        is_short = len(token["word"] or "") in _OPTION_LENGTHS
        is_denied = token["minus"] and not (is_command and is_short)
        last = groups[-1][-1] if groups else None
        is_negated = last is not None and last.negated
        if term and (term.negated or not term.value):
            groups += [[term]] if term.value else []
            continue
        if not term and is_denied and prefix and prefix == cleaned(token["word"][:-1]):
            excluded_prefixes.append(prefix)
            continue
        if not term and is_denied and _is_excluded(token):
            excluded.append((token["phrase"] or f" {token['word']} ")[1:-1].strip())
            continue
        if not term and token["phrase"] and not token["minus"]:
            if not has_words(token["phrase"]):
                continue
            term = FieldTerm(PHRASE, token["phrase"][1:-1].strip())
        elif token[0] in _OR and groups and not joint and not is_negated:
            joint = token[0]
            continue
        if term is None:
            prefixes += [prefix] if prefix else []
            is_between = joint and groups[-1][-1] is None  # a title may hold all three words
            words += [joint] if is_between else []
            words.append(token["word"][:-1] if prefix else token[0])
        elif term.field in (PHRASE, "title"):
            words.append(term)
        if joint:
            groups[-1].append(term)
        else:
            groups.append([term])
        joint = ""
    words += [joint] if joint else []
    single = [group[0] for group in groups if len(group) == 1 and group[0]]
    either = [tuple(filter(None, g)) for g in groups if len(g) > 1 and None not in g]
    phrases = [term.value for term in single if term.field == PHRASE]
    fields = [term for term in single if term.field != PHRASE]
    # A note of the other kind has no such words as a title that is an alternative.
    joined = [term for group in groups if len(group) > 1 for term in group]
    texts = [
        word if isinstance(word, str) else word.value
        for word in words
        if not (isinstance(word, FieldTerm) and word.field == "title" and word in joined)
    ]
    beyond: list[str] = []
    return ParsedQuery(
        " ".join(filter(None, texts)),
        _first(MOST_PHRASES, "phrases", phrases, beyond),
        _first(MOST_EXCLUDED, "excluded words and phrases", excluded, beyond),
        _first(MOST_BEGINNINGS, "beginnings of words", prefixes, beyond),
        _first(MOST_BEGINNINGS, "excluded beginnings of words", excluded_prefixes, beyond),
        _first(MOST_FIELDS, "conditions on tags, vaults, paths and titles", fields, beyond),
        _first(MOST_FIELDS, "alternatives", [g[:MOST_FIELDS] for g in either], beyond),
        tuple(beyond),
    )


def _first(most: int, kind: str, items: list[T], beyond: list[str]) -> tuple[T, ...]:
    if len(items) <= most:
        return tuple(items)
    different = list(dict.fromkeys(items))
    if len(different) > most:
        beyond.append(f"only the first {most} {kind} of the query count")
    return tuple(different[:most])


def condition_spans(query: str) -> list[tuple[int, int]]:
    """Return where fields, excluded words and beginnings of words stand; phrases are not among
    them. Whatever may be the name of a property is taken for one."""
    names = tuple(sorted(named_properties(query), key=len, reverse=True))
    return [
        token.span()
        for token in _token(names).finditer(query)
        if _field_term(token, names) or _beginning(token["word"]) or token["minus"]
    ]


def _field_term(token: re.Match[str], properties: Collection[str] = ()) -> FieldTerm | None:
    field = (token["field"] or "").lower()
    if field not in (*FIELDS, *properties):  # `re` takes the Turkish i for ours
        return None
    value = (token["value"] or token["quoted_value"][1:-1]).strip()
    if field == "tag" and value and not has_words(value):
        return None
    return FieldTerm(field, value, token["minus"] is not None)


def _beginning(word: str | None) -> str:
    """Return the beginning of a word that `word` asks for, if any; of what the index holds as
    several words that of the last."""
    if not word or word[-1] not in "*＊":
        return ""
    text = cleaned(word[:-1])
    pieces = TOKEN.findall(text)
    last = "".join(pieces[-1]) if pieces else ""
    return last if len(last) > 1 and text.endswith(last) else ""


def _is_excluded(token: re.Match[str]) -> bool:
    """Return whether a minus stands before something that a note could hold: no quote that is
    never closed, no field without a value, no single letter."""
    if token["phrase"]:
        return has_words(token["phrase"])
    word = token["word"] or ""
    if word[:1] in _QUOTES or _FIELD.match(word):
        return False
    pieces = ["".join(piece) for piece in TOKEN.findall(cleaned(word))]
    return bool(pieces) and not (len(pieces) == 1 and _LETTER.fullmatch(pieces[0]))


def plain_words(text: str) -> str:
    """Return the words of a text, such as a model's, that must not filter.

    >>> plain_words('rolling back tag:work -draft "blue green" deploy*')
    'rolling back blue green deploy'
    """
    before = None
    while text != before:  # what stood in quotes may be a condition itself
        before, text = text, parse_query(text).text
    return text
