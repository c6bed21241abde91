"""From what was typed to what is searched for: filters, further words, and notes named outright."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import PurePath
from typing import Any

from rag.exceptions import QueryError
from rag.pipelines.filtering import (
    Filter,
    all_of,
    build_qdrant_filters,
    days,
    none_of,
    one_of,
)
from rag.pipelines.models import QueryFilters
from rag.pipelines.occurrences import notes_holding, notes_with_words
from rag.query.syntax import ParsedQuery, parse_query
from rag.stores.manifest import Manifest
from rag.stores.protocol import NoteStore
from rag.text.lexical import KATAKANA_WORD, content_words, encode_query, pieces, word_dimension
from rag.text.normalize import fold_accents, name_key
from rag.text.tokens import TOKEN, cleaned, has_words, stem

MAX_LENGTH = 4_000  # characters of a query
_MAX_CORRECTED = 8  # unknown words; a query of more is not a misspelt one


@dataclass(frozen=True)
class Understood:
    """What a query asks.

    `text` is what notes are ranked by, empty when the query has no words; `lists` is true when it
    filters nevertheless, and so asks for a list of notes. `also` are further words to look for:
    those a prefix stands for, and corrections. `corrections` maps words that no note holds to the
    word searched for instead. `filters` are those of the flags and of the query together, as
    Haystack writes them; `tags` and `vaults` those that were chosen among them. `named` are the ids
    of notes that bear the query as title, alias or file name; `matched` those of notes that hold a
    phrase of the query or bear its `title:`, whatever words the index has of them.
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

    @property
    def meant(self) -> str:
        """The text with its misspelt words corrected."""
        if not self.corrections:
            return self.text
        spaced = TOKEN.sub(lambda m: self.corrections.get(m[0], m[0]), cleaned(self.text))
        return KATAKANA_WORD.sub(lambda m: self.corrections.get(m[0], m[0]), spaced)


def understand(
    store: NoteStore, query: str, filters: QueryFilters | None = None, lists: bool = False
) -> Understood:
    """Read a query with the index at hand.

    :param lists: take an empty query too: the filters are all that counts.
    :raises QueryError: when the query is empty, or a path is no pattern.
    :raises UsageError: for a vault that the index does not hold.
    """
    if len(query) > MAX_LENGTH:
        raise QueryError(
            f"the query has {len(query):,} characters, more than {MAX_LENGTH:,}",
            hint="Say it in fewer words.",
        )
    parsed = parse_query(query)
    if not (parsed or lists):
        raise QueryError("the query is empty", hint='Say what to look for: `rag search "words"`')
    manifest = store.manifest()
    beginning = _beginning(manifest, parsed.prefixes)
    spoken = " ".join([parsed.text, *parsed.phrases, *parsed.excluded])
    store.expect(encode_query(spoken, beginning).indices)
    matched = [notes_holding(store, phrase) for phrase in dict.fromkeys(parsed.phrases)]
    matched += [_titled(manifest, title) for title in dict.fromkeys(parsed.values("title"))]
    conditions = [
        build_qdrant_filters(filters),
        *_stated(parsed, manifest),
        *(one_of("file_id", notes) for notes in matched),
        *(none_of(one_of("file_id", notes)) for notes in _excluded(store, manifest, parsed)),
    ]
    if filters:
        conditions += [one_of("file_id", notes) for notes in _selected(manifest, filters)]
    combined = all_of(conditions)
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
    )
    if manifest and corrections:
        return replace(understood, named=manifest.named(understood.meant))
    return understood


def _selected(manifest: Manifest | None, filters: QueryFilters) -> Iterator[list[str]]:
    """Yield the ids of the notes that each filter lets through which the points know nothing of."""
    if filters.paths:
        yield _at_paths(manifest, filters.paths)
    if filters.titles:
        named = manifest.named if manifest else lambda title: []
        yield list(dict.fromkeys(note for title in filters.titles for note in named(title)))
    for name, value in (filters.values or {}).items():
        yield manifest.catalogue.bearing(name, value) if manifest else []
    first, last = days(filters)
    if filters.date_field == "modified" and (first or last):
        yield manifest.catalogue.modified(first, last) if manifest else []


def _stated(parsed: ParsedQuery, manifest: Manifest | None) -> list[Filter | None]:
    """Return the conditions of a query's `vault:`, `tag:`, `path:` and negated `title:`."""
    vaults = [_vault(name, manifest) for name in parsed.values("vault")]
    tags = parsed.values("tag")
    conditions = [build_qdrant_filters(QueryFilters(vaults=vaults or None, tags=tags or None))]
    paths = dict.fromkeys(parsed.values("path"))
    conditions += [one_of("file_id", _on_path(manifest, path)) for path in paths]
    for term in dict.fromkeys(parsed.fields):
        if not term.negated:
            continue
        match term.field:
            case "vault":
                unwanted = build_qdrant_filters(QueryFilters(vaults=[_vault(term.value, manifest)]))
            case "tag":
                unwanted = build_qdrant_filters(QueryFilters(tags=[term.value]))
            case "path":
                unwanted = one_of("file_id", _on_path(manifest, term.value))
            case _:
                unwanted = one_of("file_id", _titled(manifest, term.value))
        conditions.append(none_of(unwanted))
    return conditions


def _excluded(
    store: NoteStore, manifest: Manifest | None, parsed: ParsedQuery
) -> Iterator[list[str]]:
    """Yield the ids of notes that must not be found."""
    # Words of unsegmented scripts are in no vocabulary, but any part of them can be found.
    runs = {prefix for prefix in parsed.excluded_prefixes if pieces(cleaned(prefix))[1]}
    spaced = [prefix for prefix in parsed.excluded_prefixes if prefix not in runs]
    words = {text for text in parsed.excluded if _is_word(text)}
    beginnings = _beginning(manifest, spaced)
    if words or beginnings:
        yield notes_with_words(store, [*words, *beginnings])
    for text in dict.fromkeys([*parsed.excluded, *runs]):
        if text not in words:
            yield notes_holding(store, text)


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
    from rag.pipelines.vaults import unknown_vault

    known = list(manifest.vaults())
    same = [vault for vault in known if name_key(vault) == name_key(name)]
    if name in known or len(same) == 1:
        return name if name in known else same[0]
    raise unknown_vault(name, known)


def _titled(manifest: Manifest | None, value: str) -> list[str]:
    """Return the ids of the notes whose title, file name or an alias holds `value`."""
    wanted = _folded(value)
    return [
        identity
        for _, path, title, aliases, identity in (manifest.names() if manifest else [])
        if any(wanted in _folded(name) for name in (title, PurePath(path).stem, *aliases))
    ]


def _on_path(manifest: Manifest | None, value: str) -> list[str]:
    """Return the ids of the notes whose vault and path hold `value`, or match it as a pattern."""
    if "*" in value or "?" in value:
        with suppress(QueryError):
            return _at_paths(manifest, [value])
    wanted = _folded(value)
    names = manifest.names() if manifest else []
    return [i for vault, path, _, _, i in names if wanted in _folded(f"{vault}/{path}")]


def _folded(name: str) -> str:
    return fold_accents(name_key(name))


def _at_paths(manifest: Manifest | None, globs: list[str]) -> list[str]:
    """Return the ids of the notes whose path, or vault and path, matches one of `globs`.

    :raises QueryError: when one of them is no pattern.
    """
    from unicodedata import normalize

    from pathspec import PathSpec

    patterns = [normalize("NFC", glob if "/" in glob else f"/**/{glob}") for glob in globs]
    try:
        spec = PathSpec.from_lines("gitignore", patterns)
    except (ValueError, re.error) as error:
        raise QueryError(
            "not a path pattern", str(error), hint="Try 'folder/**' or '*.md'."
        ) from error
    return [
        identity
        for vault, path, _, _, identity in (manifest.names() if manifest else [])
        if spec.match_file(path) or spec.match_file(f"{vault}/{path}")
    ]


def _beginning(manifest: Manifest | None, prefixes: Sequence[str]) -> list[str]:
    """Return the words of the notes that begin with one of `prefixes`."""
    if manifest is None:
        return []
    return [
        word
        for prefix in dict.fromkeys(prefixes)
        for word in manifest.vocabulary.starting_with(fold_accents(cleaned(prefix)))
    ]


def _corrections(
    store: NoteStore, manifest: Manifest | None, parsed: ParsedQuery, filters: Filter | None
) -> dict[str, str]:
    """Return the words of a query that no note holds, each with the word it may be a slip of: one
    that is in a note which the filters let through."""
    if manifest is None:
        return {}
    loans = _loans(parsed.text)
    words = [word for word in content_words(parsed.text) if word.isalpha()]
    exact = " ".join([*parsed.phrases, *parsed.prefixes, *parsed.values("title")])
    as_written = {*content_words(exact), *_loans(exact)}
    near: dict[str, list[str]] = {}
    for word in manifest.vocabulary.unknown([*words, *loans])[:_MAX_CORRECTED]:
        # It may be known in another form; part of a longer loan word is found by its characters.
        is_part = word in loans and manifest.vocabulary.within(word)
        if not (word in as_written or is_part or _is_held(store, word)):
            near[word] = [*manifest.vocabulary.near(word)]
    store.expect(map(_dimension, chain.from_iterable(near.values())))
    likeliest = {
        word: next((other for other in others if _is_held(store, other, filters)), None)
        for word, others in near.items()
    }
    return {word: other for word, other in likeliest.items() if other and other not in loans}


def _loans(text: str) -> list[str]:
    return KATAKANA_WORD.findall(cleaned(text))


def _is_held(store: NoteStore, word: str, filters: Filter | None = None) -> bool:
    return store.is_used(_dimension(word), filters)


def _dimension(word: str) -> int:
    return word_dimension(stem(word))
