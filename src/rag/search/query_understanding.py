"""From what was typed to what is searched for: filters, further words, and notes named outright."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from rag.exceptions import QueryError, Remedy
from rag.index.manifest import Manifest
from rag.query.limits import MOST_WORDS, bounded
from rag.query.syntax import ParsedQuery, parse_query
from rag.search.filters import (
    Filter,
    all_of,
    build_qdrant_filters,
    days,
    none_of,
    one_of,
)
from rag.search.phrase_match import Occurrences
from rag.search.results import QueryFilters
from rag.search.title_lookup import Places
from rag.stores.base.batch import Batch
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.bm25 import KATAKANA_WORD, content_words, encode_query, pieces, word_dimension
from rag.text.messages import brief, plural
from rag.text.normalize import fold_accents, name_key
from rag.text.tokenizer import TOKEN, cleaned, has_words, stem

_MAX_CORRECTED = 8  # unknown words; a query of more is not a misspelt one
_MOST_LOOKS = 16  # for a word that the filters let through, of all that the unknown may stand for


@dataclass(frozen=True)
class Understood:
    """What a query asks.

    `text` is what notes are ranked by, empty when the query has no words; `lists` is true when it
    filters nevertheless, and so asks for a list of notes. `also` are further words to look for:
    those a prefix stands for, and corrections. `corrections` maps words that no note holds to the
    word searched for instead. `filters` are those of the flags and of the query together, as
    Haystack writes them; `tags` and `vaults` those that were chosen among them. `named` are the ids
    of notes that bear the query as title, alias or file name; `matched` those of notes that hold a
    phrase of the query or bear its `title:`, whatever words the index has of them. `notices` say
    what of the query does not count, because it is too much.
    """

    query: str
    text: str
    also: list[str] = field(default_factory=list)
    corrections: dict[str, str] = field(default_factory=dict)
    filters: dict[str, Any] | None = None
    tags: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    matched: list[str] = field(default_factory=list)
    lists: bool = False
    vaults: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def __deepcopy__(self, memo: dict[int, Any]) -> Understood:
        return self  # Haystack copies what goes from one component to the next

    @property
    def meant(self) -> str:
        """The text with its misspelt words corrected."""
        if not self.corrections:
            return self.text
        spaced = TOKEN.sub(lambda m: self.corrections.get(m[0], m[0]), cleaned(self.text))
        return KATAKANA_WORD.sub(lambda m: self.corrections.get(m[0], m[0]), spaced)

    @property
    def searched(self) -> str:
        """What notes are ranked by: the words, and those added to them."""
        return " ".join([self.meant, *self.also])


def understand(
    store: BaseDocumentStore, query: str, filters: QueryFilters | None = None, lists: bool = False
) -> Understood:
    """Read a query with the index at hand.

    :param lists: take an empty query too: the filters are all that counts.
    :raises QueryError: when the query is empty, or a path is no pattern.
    :raises UsageError: for a vault that the index does not hold.
    """
    parsed = parse_query(bounded(query))
    if not (parsed or lists):
        raise QueryError(
            "the query is empty", hint="Say what to look for.", remedy=Remedy.TYPE_QUERY
        )
    manifest, notices = store.manifest(), [*parsed.beyond]
    beginning = _beginning(manifest, parsed.prefixes, notices)
    occurrences = Occurrences(
        store, manifest, parsed.phrases, *_unwanted(manifest, parsed, notices)
    )
    spoken = " ".join([parsed.text, *parsed.phrases, *parsed.excluded])
    store.expect({*encode_query(spoken, beginning).indices, *occurrences.dimensions})
    places = Places(manifest)
    holding, unwanted = occurrences.wanted(), occurrences.unwanted()
    notices += filter(None, (found.notice for found in (*holding, *unwanted)))
    matched = [found.notes for found in holding if found.counts]
    matched += map(places.titled, dict.fromkeys(parsed.values("title")))
    combined = all_of(
        [
            build_qdrant_filters(filters),
            *_stated(parsed, manifest),
            _in_all([*matched, *_selected(manifest, places, parsed, filters)]),
            _in_none([*_excluded(places, parsed), *(found.notes for found in unwanted)]),
        ]
    )
    named = manifest.named(parsed.text) if manifest else []
    text = parsed.text if named or has_words(parsed.text) else ""
    # A name that somebody gave is no slip.
    corrections = {} if named else _corrections(store, manifest, parsed, combined)
    understood = Understood(
        query=query,
        text=text,
        also=[*beginning, *corrections.values()],
        corrections=corrections,
        filters=combined,
        tags=list(dict.fromkeys([*(filters.tags or [] if filters else []), *parsed.values("tag")])),
        vaults=[*(filters.vaults or [] if filters else []), *parsed.values("vault")],
        lists=not text and (not parsed.text or bool(combined)),
        named=named,
        matched=list(dict.fromkeys(note for notes in matched for note in notes)),
        notices=notices,
    )
    if manifest and corrections:
        return replace(understood, named=manifest.named(understood.meant))
    return understood


def _in_all(within: Sequence[Sequence[str]]) -> Filter | None:
    """Return the filter for notes that are in each of some lists of ids."""
    if not within:
        return None
    return one_of("file_id", Batch(sorted(set(within[0]).intersection(*within[1:]))))


def _in_none(lists: Sequence[Sequence[str]]) -> Filter | None:
    """Return the filter for notes that are in none of some lists of ids."""
    if not lists:
        return None
    return none_of(one_of("file_id", Batch(sorted(set(chain.from_iterable(lists))))))


def _selected(
    manifest: Manifest | None, places: Places, parsed: ParsedQuery, filters: QueryFilters | None
) -> Iterator[list[str]]:
    """Yield the ids of the notes that each path of a query, and each filter, lets through of which
    the points know nothing."""
    yield from map(places.on_path, dict.fromkeys(parsed.values("path")))
    if filters is None:
        return
    if filters.paths:
        yield places.at_paths(filters.paths)
    if filters.titles:
        named = manifest.named if manifest else lambda title: []
        yield list(dict.fromkeys(note for title in filters.titles for note in named(title)))
    for name, value in (filters.values or {}).items():
        yield manifest.catalogue.bearing(name, value) if manifest else []
    first, last = days(filters)
    if filters.date_field == "modified" and (first or last):
        yield manifest.catalogue.modified(first, last) if manifest else []


def _stated(parsed: ParsedQuery, manifest: Manifest | None) -> Iterator[Filter | None]:
    """Yield the conditions of a query's vaults and tags."""
    vaults = [_vault(name, manifest) for name in parsed.values("vault")]
    tags = parsed.values("tag")
    yield build_qdrant_filters(QueryFilters(vaults=vaults or None, tags=tags or None))
    for vault in parsed.values("vault", negated=True):
        yield none_of(one_of("vault", [_vault(vault, manifest)]))
    yield build_qdrant_filters(QueryFilters(excluded_tags=parsed.values("tag", negated=True)))


def _excluded(places: Places, parsed: ParsedQuery) -> Iterator[list[str]]:
    """Yield the ids of the notes of each path and title that is not wanted."""
    yield from map(places.on_path, dict.fromkeys(parsed.values("path", negated=True)))
    yield from map(places.titled, dict.fromkeys(parsed.values("title", negated=True)))


def _unwanted(
    manifest: Manifest | None, parsed: ParsedQuery, notices: list[str]
) -> tuple[list[str], list[str]]:
    """Return the texts that notes must not hold, and the single words likewise."""
    # Words of unsegmented scripts are in no vocabulary, but any part of them can be found.
    runs = [prefix for prefix in parsed.excluded_prefixes if pieces(cleaned(prefix))[1]]
    spaced = [prefix for prefix in parsed.excluded_prefixes if prefix not in runs]
    words = [text for text in parsed.excluded if _is_word(text)]
    texts = [text for text in (*parsed.excluded, *runs) if text not in words]
    return texts, [*words, *_beginning(manifest, spaced, notices)]


def _is_word(text: str) -> bool:
    """Tell whether a text is one spaced word."""
    words, runs = pieces(cleaned(text))
    return len(words) == 1 and not runs


def _vault(name: str, manifest: Manifest | None) -> str:
    """Return a vault's name as it is written in the index.

    :raises UsageError: when there is no such vault.
    """
    if manifest is None:
        return name
    from rag.index.vault_registry import unknown_vault

    known = list(manifest.vaults())
    same = [vault for vault in known if name_key(vault) == name_key(name)]
    if name in known or len(same) == 1:
        return name if name in known else same[0]
    raise unknown_vault(name, known)


def _beginning(manifest: Manifest | None, prefixes: Sequence[str], notices: list[str]) -> list[str]:
    """Return the words of the notes that begin with one of `prefixes`; of too many the
    shortest."""
    found: list[str] = []
    for prefix in dict.fromkeys(prefixes) if manifest else ():
        assert manifest
        words = manifest.vocabulary.starting_with(fold_accents(cleaned(prefix)))
        room = MOST_WORDS - len(found)
        if len(words) > room:
            stands_for = f'"{brief(prefix)}*" stands for {plural(len(words), "word")}'
            notices.append(f"{stands_for}, of which {room:,} count")
            words = sorted(sorted(words, key=len)[:room])
        found += words
    return found


def _corrections(
    store: BaseDocumentStore, manifest: Manifest | None, parsed: ParsedQuery, filters: Filter | None
) -> dict[str, str]:
    """Return the words of a query that no note holds, each with the word it may be a slip of: one
    that is in a note which the filters let through."""
    if manifest is None:
        return {}
    vocabulary, loans = manifest.vocabulary, _loans(parsed.text)
    words = [word for word in content_words(parsed.text) if word.isalpha()]
    exact = " ".join([*parsed.phrases, *parsed.prefixes, *parsed.values("title")])
    as_written = {*content_words(exact), *_loans(exact)}
    near: dict[str, list[str]] = {}
    for word in vocabulary.unknown([*words, *loans])[:_MAX_CORRECTED]:
        # It may be known in another form; part of a longer loan word is found by its characters.
        is_part = word in loans and vocabulary.within(word)
        if not (word in as_written or is_part or _is_held(store, word)):
            near[word] = [*vocabulary.near(word)]
    store.expect(map(_dimension, chain.from_iterable(near.values())))
    looks = iter(range(_MOST_LOOKS))

    def likeliest(others: list[str]) -> str | None:
        tried = (other for other, _ in zip(others, looks, strict=False))
        return next((other for other in tried if _is_held(store, other, filters)), None)

    meant = {word: likeliest(others) for word, others in near.items()}
    return {word: other for word, other in meant.items() if other and other not in loans}


def _loans(text: str) -> list[str]:
    return KATAKANA_WORD.findall(cleaned(text))


def _is_held(store: BaseDocumentStore, word: str, filters: Filter | None = None) -> bool:
    return store.is_used(_dimension(word), filters)


def _dimension(word: str) -> int:
    return word_dimension(stem(word))
