"""Which notes may be found: what a query and its filters ask of a note besides words, and which
notes hold phrases and the words of a subject, by their positions."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import PurePath
from typing import NamedTuple
from unicodedata import normalize

from rag.answers.quotation.question import other_forms
from rag.exceptions import QueryError
from rag.index.manifest import Manifest
from rag.index.searchable_text import file_name, lexical_parts
from rag.query.syntax import MOST_WORDS, PHRASE, FieldTerm, ParsedQuery
from rag.query.values import value_test
from rag.search.filters import Filter, all_of, build_qdrant_filters, day, days, none_of, one_of
from rag.search.results import QueryFilters
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.points import Point, to_candidate
from rag.text.bm25 import (
    BREAK,
    GRAMS,
    PROPERTIES,
    beside_dimension,
    content_words,
    pieces,
    word_dimension,
)
from rag.text.messages import brief, plural
from rag.text.ngrams import RUN, hash_gram, is_ideograph, weigh_grams
from rag.text.scripts import HAN, HIRAGANA, KATAKANA, is_japanese
from rag.text.tokenizer import TOKEN, cleaned, fold_accents, name_key, spelling_key, stem

_SECONDS = 5.0  # that the patterns of paths of a query may take


class Places:
    """Finds notes of a manifest; without one there are none."""

    def __init__(self, manifest: Manifest | None) -> None:
        self._manifest = manifest

    def titled(self, value: str) -> list[str]:
        """Return the ids of the notes whose title, file name or an alias holds `value`."""
        wanted = spelling_key(value)
        return [identity for identity, names in self._names if any(wanted in n for n in names)]

    def on_path(self, value: str) -> list[str]:
        """Return the ids of the notes whose vault and path hold `value`, or match it as a
        pattern."""
        if "*" in value or "?" in value:
            with suppress(QueryError):
                return self.at_paths([value])
        wanted = spelling_key(value)
        return [identity for identity, path in self._paths if wanted in path]

    def at_paths(self, globs: Sequence[str]) -> list[str]:
        """Return the ids of the notes whose path, or vault and path, matches one of `globs`; a `./`
        before it, as a shell completes it, counts for nothing.

        :raises QueryError: when one of them is no pattern.
        """
        is_wanted = _path_patterns(glob.removeprefix("./") for glob in globs)
        return [
            identity
            for vault, path, _, _, identity in self._notes
            if is_wanted(path) or is_wanted(f"{vault}/{path}")
        ]

    def bearing(self, field: str, value: str) -> list[str]:
        """Return the ids of the notes whose front matter has such a value; see `value_test`."""
        return self._manifest.catalogue.bearing(field, value_test(value)) if self._manifest else []

    def in_vaults(self, names: Sequence[str]) -> Filter | None:
        """Return the filter for notes of some vaults, in any case and width; `None` for none."""
        return one_of("vault", [self._vault(name) for name in names]) if names else None

    def _vault(self, name: str) -> str:
        if self._manifest is None:
            return name
        from rag.index.vault_registry import unknown_vault

        vaults = list(self._manifest.vaults())
        same = [vault for vault in vaults if name_key(vault) == name_key(name)]
        if name in vaults or len(same) == 1:
            return name if name in vaults else same[0]
        raise unknown_vault(name, vaults)

    @cached_property
    def _notes(self) -> list[tuple[str, str, str, list[str], str]]:
        return self._manifest.names() if self._manifest else []

    @cached_property
    def _names(self) -> list[tuple[str, list[str]]]:
        return [
            (identity, [spelling_key(name) for name in (title, PurePath(path).stem, *aliases)])
            for _, path, title, aliases, identity in self._notes
        ]

    @cached_property
    def _paths(self) -> list[tuple[str, str]]:
        return [
            (identity, spelling_key(f"{vault}/{path}"))
            for vault, path, _, _, identity in self._notes
        ]


def _path_patterns(globs: Iterable[str]) -> Callable[[str], bool]:
    """Return the function that tells whether a path is wanted by patterns such as .gitignore has:
    the last that matches decides. A `QueryError` tells of one that is none, or takes too long."""
    import regex  # `re` has no timeout, and tries all ways to share a name among many stars
    from pathspec import PathSpec

    lines = [normalize("NFC", glob if "/" in glob else f"/**/{glob}") for glob in globs]
    hint, until = "Try 'folder/**' or '*.md'.", time.monotonic() + _SECONDS
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of `[[`, which may mean something else one day
            patterns = [
                (pattern.include, regex.compile(pattern.regex.pattern))
                for pattern in reversed(list(PathSpec.from_lines("gitignore", lines).patterns))
                if pattern.include is not None and pattern.regex is not None
            ]
    except (ValueError, re.error, regex.error) as error:
        raise QueryError("not a path pattern", str(error), hint=hint) from error

    def is_wanted(path: str) -> bool:
        try:
            for wanted, pattern in patterns:
                if pattern.search(path, timeout=max(0.0, until - time.monotonic())):
                    return wanted
        except TimeoutError as error:
            raise QueryError("the path pattern takes too long to match", hint=hint) from error
        return False

    return is_wanted


def find_conditions(
    store: BaseDocumentStore,
    parsed: ParsedQuery,
    filters: QueryFilters | None,
    dimensions: Collection[int],
    notices: list[str],
) -> tuple[Filter | None, list[str]]:
    """Return the filter that a query's phrases, excluded words and fields, and its filters, come
    to, and the ids of the notes that hold a phrase or bear a title of it.

    :param dimensions: of the lexical space, those that the query will be searched by.
    :param notices: is added what does not count, because it is too much.
    :raises QueryError: when a path is no pattern; `UsageError`: for an unknown vault, a comparison.
    """
    manifest = store.manifest()
    alternatives = [term.value for some in parsed.either for term in some if term.field == PHRASE]
    phrases = dict.fromkeys([*parsed.phrases, *alternatives])
    unwanted_texts, unwanted_words = _unwanted(manifest, parsed, notices)
    occurrences = Occurrences(
        store, manifest, parsed.phrases, unwanted_texts, unwanted_words, alternatives
    )
    store.expect({*dimensions, *occurrences.dimensions})
    places = Places(manifest)
    holding, unwanted = occurrences.wanted(), occurrences.unwanted()
    notices += filter(None, (found.notice for found in (*holding, *unwanted)))
    if all(found.counts for found in unwanted):
        notices += _left_out(parsed)
    holders = dict(zip(phrases, holding, strict=True))
    matched: dict[str, None] = {}
    within, excluded = [*_selected(manifest, places, filters)], [found.notes for found in unwanted]
    conditions = [build_qdrant_filters(filters), places.in_vaults(parsed.values("vault"))]
    for term in dict.fromkeys([*(FieldTerm(PHRASE, p) for p in parsed.phrases), *parsed.fields]):
        if term.field == "vault" and not term.negated:
            continue  # any of several
        notes = _asked(term, places, holders)
        if not isinstance(notes, list):
            conditions.append(none_of(notes) if term.negated else notes)
        elif term.negated:
            excluded.append(notes)
        else:
            within.append(notes)
            matched |= dict.fromkeys(notes if term.field in (PHRASE, "title") else ())
    conditions += [
        *(_any_of([_asked(term, places, holders) for term in group]) for group in parsed.either),
        _only_notes({*within[0]}.intersection(*within[1:])) if within else None,
        none_of(_only_notes(chain.from_iterable(excluded))) if excluded else None,
    ]
    return all_of(conditions), [*matched]


def _asked(
    term: FieldTerm, places: Places, holders: Mapping[str, Found]
) -> list[str] | Filter | None:
    """Return the ids of the notes that one condition is fulfilled by, or a filter for them; `None`
    for a phrase that is too frequent to be a condition."""
    if term.field == PHRASE:
        return holders[term.value].notes if holders[term.value].counts else None
    match term.field:
        case "vault":
            return places.in_vaults([term.value])
        case "tag":
            return build_qdrant_filters(QueryFilters(tags=[term.value]))
        case "title":
            return places.titled(term.value)
        case "path":
            return places.on_path(term.value)
    return places.bearing(term.field, term.value)


def _only_notes(ids: Iterable[str]) -> Filter:
    return one_of("file_id", sorted({*ids}))


def _left_out(parsed: ParsedQuery) -> Iterator[str]:
    """Say which words and phrases notes must not hold, in the language of the query."""
    words = [*parsed.excluded, *(f"{prefix}*" for prefix in parsed.excluded_prefixes)]
    if words and is_japanese(" ".join([parsed.text, *words])):
        yield f"{''.join(f'「{brief(word)}」' for word in words)}を含むノートは除きました"
    elif words:
        yield "left out: notes with " + ", ".join(f'"{brief(word)}"' for word in words)


def _selected(
    manifest: Manifest | None, places: Places, filters: QueryFilters | None
) -> Iterator[list[str]]:
    """Yield the ids of the notes that each filter lets through of which the points know nothing."""
    if filters is None:
        return
    if filters.paths:
        yield places.at_paths(filters.paths)
    if filters.titles:
        yield manifest.catalogue.named(*filters.titles) if manifest else []
    for name, value in (filters.values or {}).items():
        yield places.bearing(name, value)
    spans = [(day(filters.modified_from), day(filters.modified_to))]
    spans += [days(filters)] if filters.date_field == "modified" else []
    for first, last in spans:
        if first or last:
            yield manifest.catalogue.modified(first, last) if manifest else []


def _any_of(asked: Sequence[list[str] | Filter | None]) -> Filter | None:
    """Return the filter for notes of which one of some conditions holds."""
    if None in asked:
        return None
    ids = chain.from_iterable(notes for notes in asked if isinstance(notes, list))
    filters = [condition for condition in asked if isinstance(condition, dict)]
    return {"operator": "OR", "conditions": [*filters, _only_notes(ids)]}


def _unwanted(
    manifest: Manifest | None, parsed: ParsedQuery, notices: list[str]
) -> tuple[list[str], list[str]]:

    def is_word(text: str) -> bool:
        words, runs = pieces(cleaned(text))
        return len(words) == 1 and not runs

    # Words of unsegmented scripts are in no vocabulary, but any part of them can be found.
    runs = [prefix for prefix in parsed.excluded_prefixes if pieces(cleaned(prefix))[1]]
    spaced = [prefix for prefix in parsed.excluded_prefixes if prefix not in runs]
    words = [text for text in parsed.excluded if is_word(text)]
    texts = [text for text in (*parsed.excluded, *runs) if text not in words]
    return texts, [*words, *words_beginning(manifest, spaced, notices)]


def words_beginning(
    manifest: Manifest | None, prefixes: Sequence[str], notices: list[str]
) -> list[str]:
    """Return the words of the notes that begin with one of `prefixes`; of too many the
    shortest."""
    beginning: list[str] = []
    for prefix in dict.fromkeys(prefixes) if manifest else ():
        assert manifest
        words = manifest.catalogue.words_starting(fold_accents(cleaned(prefix)))
        room = MOST_WORDS - len(beginning)
        if len(words) > room:
            stands_for = f'"{brief(prefix)}*" stands for {plural(len(words), "word")}'
            notices.append(f"{stands_for}, of which {room:,} count")
            words = sorted(sorted(words, key=len)[:room])
        beginning += words
    return beginning


class _Passage:
    """The texts of a chunk in which a phrase may stand, and the id of its note."""

    def __init__(self, point: Point) -> None:
        meta, content = point.payload["meta"], point.payload["content"]
        stated = meta.get("properties") or ()
        texts = [file_name(meta), *lexical_parts(meta, content), *stated]
        self.note, self.texts = to_candidate(point).note, [*map(cleaned, texts)]

    @cached_property
    def rows(self) -> str:
        """The words and runs of each text, on a line of its own."""
        return "\n".join(map(_in_a_row, self.texts))


def _in_a_row(text: str) -> str:
    words, with_runs = pieces(text)
    runs = iter(RUN.findall(with_runs))
    return " ".join([next(runs) if word == BREAK else word for word in words])


def _holder(tokens: list[tuple[str, str]]) -> Callable[[_Passage], bool]:
    """Return the function that tells whether tokens stand in a row in a text of a passage: whole
    words, but any part of an unsegmented run at the ends."""
    words = [run or word for run, word in tokens]
    near = re.compile(r"[\W_]*".join(map(re.escape, words)))  # to cut all texts takes far longer
    if len(tokens) == 1 and tokens[0][0]:
        return lambda passage: any(map(near.search, passage.texts))
    head, tail = r"(?<!\S)" if tokens[0][1] else "", r"(?!\S)" if tokens[-1][1] else ""
    row = re.compile(head + re.escape(" ".join(words)) + tail)
    return lambda passage: bool(any(map(near.search, passage.texts)) and row.search(passage.rows))


ENTRIES = 30_000  # of the index that a query reads; or half as many as there are chunks, if more
TEXTS = 3_000  # of chunks that a query reads, 60 us each
RARE = 512  # chunks: what is in no more of them is looked up whole
_PIECES = 3  # words of a phrase, and pairs of characters, that are looked up: the likely rarest
_QUOTED = 40  # characters of a phrase in a notice


class Found(NamedTuple):
    """Notes, by their ids in order, and what there is to say of how they were found.

    :ivar counts: whether they are all that a filter needs; what is too frequent filters nothing.
    """

    notes: list[str]
    notice: str = ""
    counts: bool = True


_Either = tuple[int, ...]  # dimensions one of which a text has


class _Phrase(NamedTuple):
    text: str
    tokens: list[tuple[str, str]]
    # Of each part dimensions one of which whatever holds the phrase has, in its text or its front
    # matter, the likely rarest first.
    parts: list[_Either]
    exact: bool  # whatever has the one part holds the phrase


class Occurrences:
    """Looks up the phrases of one query: those that a note must hold, all of them, those that it
    must not, and others; and words that it must not hold in any form.

    A note holds a phrase if its words stand in a row in one chunk: in its title or file name, in
    one heading, alias or field of the front matter, or in its text, to the letter: case, width and
    punctuation do not matter, accents and endings do.
    """

    def __init__(
        self,
        store: BaseDocumentStore,
        manifest: Manifest | None,
        wanted: Iterable[str],
        unwanted: Iterable[str] = (),
        words: Iterable[str] = (),
        others: Iterable[str] = (),
    ) -> None:
        self._store, self._manifest = store, manifest
        required = dict.fromkeys(wanted)
        self._required = len(required)
        self._wanted = [_phrase(text) for text in required | dict.fromkeys(others)]
        self._unwanted = [_phrase(text) for text in dict.fromkeys(unwanted)]
        unwanted_words = {stem(cleaned(word)) for word in words}
        self._words = sorted({d for word in unwanted_words for d in _of_word(word)})
        self._spent = 0  # entries of the index
        self._lists: dict[_Either, dict[str, float] | None] = {}  # which those were
        self._passages: dict[str, _Passage] = {}  # by the ids of their chunks

    @property
    def dimensions(self) -> set[int]:
        """Those of the lexical space that will be asked for."""
        parts = (part for phrase in (*self._wanted, *self._unwanted) for part in phrase.parts)
        return {*self._words, *chain.from_iterable(parts)}

    def wanted(self) -> list[Found]:
        """Return the notes that hold each phrase, the required ones first; of notes that cannot
        hold all of these none."""
        return self._holding(self._wanted, unwanted=False)

    def unwanted(self) -> list[Found]:
        """Return the notes that hold one of the unwanted words, or an unwanted phrase."""
        words = []
        if self._words:
            chunks = self._store.points_with(self._words, RARE)
            if chunks is None and (chunks := self._read(self._words)) is None:
                notice = "excluded words do not count: they are in too many notes"
                words = [Found([], notice, False)]
            else:
                words = [Found(self._notes_of(chunks))]
        return words + self._holding(self._unwanted, unwanted=True)

    def _holding(self, phrases: Sequence[_Phrase], unwanted: bool) -> list[Found]:
        rare: list[dict[str, float] | None] = []  # the chunks that hold a part that is rare
        count = self._store.frequencies().count
        for phrase in phrases:
            parts = (part for part in phrase.parts if max(map(count, part)) <= RARE)
            of_parts = (self._store.points_with(part, RARE) for part in parts)
            rare.append(next((chunks for chunks in of_parts if chunks is not None), None))
        order = sorted(range(len(rare)), key=lambda at: (rare[at] is None, len(rare[at] or ())))
        chunks = [*rare]
        for at in order:
            chunks[at] = self._narrowed(phrases[at]) if rare[at] is None else rare[at]
        if not unwanted:
            chunks[: self._required] = self._of_common_notes(chunks[: self._required])
        holding = {at: self._find(phrases[at], chunks[at], unwanted) for at in order}
        return [holding[at] for at in range(len(phrases))]

    def _of_common_notes(
        self, required: list[dict[str, float] | None]
    ) -> list[dict[str, float] | None]:
        """Return of the chunks that may hold each required phrase those of notes that may hold all:
        the others need not be read."""
        known = [chunks for chunks in required if chunks is not None]
        if len(known) < 2 or not self._owners:
            return required
        common = set.intersection(*(_notes_of(chunks, self._owners) for chunks in known))
        return [
            chunks and {c: n for c, n in chunks.items() if self._owners.get(_key(c)) in common}
            for chunks in required
        ]

    def _read(self, dimensions: Sequence[int]) -> dict[str, float] | None:
        """Return the chunks that have one of some dimensions; `None` when they are more than a
        query may read."""
        if (key := tuple(dimensions)) not in self._lists:
            chunks_in_all = self._manifest.kept_totals()[1] if self._manifest else 0
            room = max(ENTRIES, chunks_in_all // 2) - self._spent
            chunks = self._store.points_with(dimensions, room) if room > 0 else None
            self._spent += room if chunks is None else len(chunks)
            self._lists[key] = chunks
        return self._lists[key]

    def _narrowed(self, phrase: _Phrase) -> dict[str, float] | None:
        """Return the chunks that may hold a phrase of frequent parts; `None` of too many."""
        if not phrase.parts:  # a lone character, which the index has only where it stands alone
            every = self._store.all_documents(TEXTS + 1)
            return {document.id: 0.0 for document in every} if len(every) <= TEXTS else None
        first, *others = phrase.parts
        chunks = self._read(first)
        for part in others:
            more = self._read(part) if chunks and len(chunks) > RARE else None
            if more is None:
                break
            chunks = {key: score for key, score in (chunks or {}).items() if key in more}
        return chunks

    def _find(self, phrase: _Phrase, chunks: dict[str, float] | None, unwanted: bool) -> Found:
        name = f'"{brief(phrase.text, _QUOTED)}"'
        if chunks is None:
            return Found([], f"{name} does not count: it is in too many notes to look it up", False)
        if phrase.exact:
            return Found(self._notes_of(chunks))
        ordered = sorted(chunks, key=lambda chunk: (-chunks[chunk], chunk))
        new = [chunk for chunk in ordered if chunk not in self._passages]
        room = max(0, TEXTS - len(self._passages))
        points = self._store.get_points(new[:room])
        self._passages |= {chunk: _Passage(point) for chunk, point in points.items()}
        read = (self._passages[chunk] for chunk in ordered if chunk in self._passages)
        notes = {passage.note for passage in filter(_holder(phrase.tokens), read)}
        if not (unseen := new[room:]):
            return Found(sorted(notes))
        if unwanted:
            notice = f"notes that may hold {name} are left out unread"
            return Found(sorted(notes.union(self._notes_of(unseen))), notice)
        seen, most = len(ordered) - len(unseen), len(ordered)
        notice = f"only {seen:,} of {most:,} passages that may hold {name} were read"
        return Found(sorted(notes), notice)

    def _notes_of(self, chunks: Iterable[str]) -> list[str]:
        if self._manifest is None:
            points = self._store.get_points([*chunks]).values()
            return sorted({to_candidate(point).note for point in points})
        return sorted(_notes_of(chunks, self._owners))

    @cached_property
    def _owners(self) -> dict[bytes, str]:
        return self._manifest.notes_by_chunk() if self._manifest else {}


def _notes_of(chunks: Iterable[str], owners: Mapping[bytes, str]) -> set[str]:
    return {owners[key] for key in map(_key, chunks) if key in owners}


def _key(chunk: str) -> bytes:
    return bytes.fromhex(chunk.replace("-", ""))


def _phrase(text: str) -> _Phrase:
    tokens = TOKEN.findall(cleaned(text))
    words = sorted((word for _, word in tokens if word), key=len, reverse=True)
    grams = [gram for run, _ in tokens for gram in weigh_grams(run)]
    # Of single characters a text has ideographs only, wherever they stand.
    grams = [gram for gram in grams if len(gram.text) > 1 or is_ideograph(gram.text)]
    grams.sort(key=lambda gram: (len(gram.text) == 1, -gram.weight))
    # A word's dimension is that of all its forms; that of two characters is theirs alone.
    alone = tokens[0][0] if len(tokens) == 1 else ""
    exact = len(alone) <= 2 and any(gram.text == alone for gram in grams)
    in_runs = _first(_of_gram(gram.text) for gram in grams)
    return _Phrase(text, tokens, [*_first(_of_word(stem(word)) for word in words), *in_runs], exact)


def _of_word(term: str) -> _Either:
    return word_dimension(term), beside_dimension(PROPERTIES, term)


def _of_gram(gram: str) -> _Either:
    return GRAMS | hash_gram(gram), beside_dimension(PROPERTIES, gram[:2])  # it has pairs at most


def _first(parts: Iterable[_Either], most: int = _PIECES) -> list[_Either]:
    return list(dict.fromkeys(parts))[:most]


_FIRM = f"[^{HIRAGANA}]"  # ideographs and katakana, which particles join
_PARTICLE = re.compile(
    f"(?:について|に関する|に関して|という)|を|(?:の|に|で|と|や|へ|が|は|も|から|まで)(?={_FIRM})"
)
_ADDRESSED = re.compile(f"(?<={_FIRM})(?:さん|くん|ちゃん|さま|様|氏)$")
_ENDING = re.compile(f"(?<={_FIRM})[{HIRAGANA}]+$")
_LONE = re.compile(f"[{HAN}]$")
_ONLY_KANA = re.compile(f"[{HIRAGANA}]+$")
_SHORT = 2  # hiragana that are hardly a word: particles, endings
# They say less than to whom or what: "I went to the dentist" is a visit, however it is told.
_LIGHT = {*map(stem, ("go", "went", "gone", "come", "came", "get", "got", "do", "have"))}
_LIGHT_RUNS = {"行", "来"}
# Whoever is named as present was met: none of these need stand in a note of it.
_COMPANY = {*map(stem, ("meet", "see", "talk", "speak", "chat"))}
_COMPANY_RUNS = {"会", "話"}


class SubjectWord(NamedTuple):
    """A word of a subject."""

    text: str  # as it is told
    terms: tuple[str, ...] = ()  # stems of a spaced word, one of which a text holds
    run: str = ""  # characters of a script without spaces that a text holds
    is_verb: bool = False  # that is one ideograph that kana follow: 会 of 会った, not of 会議

    def is_in(self, text: SpokenText) -> bool:
        """Return whether a text holds the word in any form."""
        if self.terms:
            return not text.stems.isdisjoint(self.terms)
        if self.is_verb:
            return re.search(f"{self.run}(?![{HAN}{KATAKANA}])", text.plain) is not None
        return self.run in text.plain

    @property
    def is_company(self) -> bool:
        """Whether it says that somebody was there: met, talked to."""
        return self.run in _COMPANY_RUNS or bool(self.terms and self.terms[0] in _COMPANY)


class SpokenText(NamedTuple):
    """A text in normal form, and the stems of its spaced words."""

    plain: str
    stems: frozenset[str]

    @classmethod
    def of(cls, *texts: str) -> SpokenText:
        """Return some texts as one."""
        plain = cleaned("\n".join(texts))
        return cls(plain, frozenset(map(stem, pieces(plain)[0])))


def subject_words(text: str, happened: bool = False) -> list[SubjectWord]:
    """Return the words that name a subject, each once.

    :param happened: whether the text tells what happened: verbs that say little are left out then,
        and the endings of Japanese ones.

    >>> [word.text for word in subject_words("the ferry timetables")]
    ['ferry', 'timetables']
    >>> [word.text for word in subject_words("田中さんに会った", happened=True)]
    ['田中', '会']
    """
    words = [
        SubjectWord(
            as_typed[0] if (as_typed := re.search(re.escape(word), text, re.I)) else word,
            tuple(dict.fromkeys(map(stem, (word, *other_forms(word))))),
        )
        for word in content_words(text)
        if not RUN.search(word) and word.strip("\0")
    ]
    for run in RUN.findall(cleaned(text)):
        words += _run_words(run, happened)
    firm = [w for w in words if not (_ONLY_KANA.match(w.run) and len(w.run) <= _SHORT)]
    words = firm or words
    if happened:
        heavy = [w for w in words if w.run not in _LIGHT_RUNS and _LIGHT.isdisjoint(w.terms[:1])]
        words = heavy or words
    return list(dict.fromkeys(words))


def notes_holding(
    store: BaseDocumentStore, words: Sequence[SubjectWord], stated: bool = False
) -> tuple[set[str], set[str] | None, list[str]]:
    """Return the ids of the notes that hold all of some words, in text, title, headings or, if
    `stated`, front matter; those of the chunks that hold all of the spaced ones, `None` where there
    are none; and what there is to say of words that are too frequent to be looked up.
    """
    manifest = store.manifest()
    if manifest is None or not words:
        return set(), None, []
    most, owners = manifest.kept_totals()[1], manifest.notes_by_chunk()
    notes: list[set[str]] = []
    chunks: set[str] | None = None
    notices: list[str] = []
    for word in [word for word in words if word.terms]:
        wanted = [*map(word_dimension, word.terms)]
        wanted += [beside_dimension(PROPERTIES, term) for term in word.terms if stated]
        held = {*(store.points_with(wanted, most) or ())}
        chunks = held if chunks is None else chunks & held
        notes.append(_notes_of(held, owners))
    runs = [word.run for word in words if word.run]
    for occurrence in Occurrences(store, manifest, runs).wanted() if runs else []:
        notices += filter(None, [occurrence.notice])
        if occurrence.counts:
            notes.append({*occurrence.notes})
    return set.intersection(*notes) if notes else set(), chunks, notices


def _run_words(run: str, happened: bool) -> Iterable[SubjectWord]:
    """Yield the words of a run: what stands between particles."""
    for part in filter(None, _PARTICLE.split(run)):
        core = _ADDRESSED.sub("", part)
        stripped = _ENDING.sub("", core)
        if happened and stripped != core:
            yield SubjectWord(stripped, run=stripped, is_verb=bool(_LONE.match(stripped)))
        else:
            yield SubjectWord(core, run=core)
