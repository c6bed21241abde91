"""What a query and its filters ask of a note besides words: which notes may be found."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import PurePath
from unicodedata import normalize

from rag.exceptions import QueryError
from rag.index.manifest import Manifest
from rag.query.syntax import MOST_WORDS, PHRASE, FieldTerm, ParsedQuery
from rag.query.values import value_test
from rag.search.filters import Filter, all_of, build_qdrant_filters, day, days, none_of, one_of
from rag.search.results import QueryFilters
from rag.search.understanding.phrases import Found, Occurrences
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.bm25 import pieces
from rag.text.messages import brief, plural
from rag.text.scripts import is_japanese
from rag.text.tokenizer import cleaned, fold_accents, name_key, spelling_key

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
    occurrences = Occurrences(store, manifest, phrases, *_unwanted(manifest, parsed, notices))
    store.expect({*dimensions, *occurrences.dimensions})
    places = Places(manifest)
    holding, unwanted = occurrences.wanted(), occurrences.unwanted()
    notices += filter(None, (found.notice for found in (*holding, *unwanted)))
    if all(found.counts for found in unwanted):
        notices += _left_out(parsed)
    found_by = dict(zip(phrases, holding, strict=True))
    required = [found_by[phrase] for phrase in dict.fromkeys(parsed.phrases)]
    matched = [found.notes for found in required if found.counts]
    matched += map(places.titled, dict.fromkeys(parsed.values("title")))
    within = [*matched, *_selected(manifest, places, filters)]
    excluded = [found.notes for found in unwanted]
    vaults = [_vault(name, manifest) for name in parsed.values("vault")]
    conditions = [build_qdrant_filters(filters), one_of("vault", vaults) if vaults else None]
    for term in dict.fromkeys(parsed.fields):
        if term.negated or term.field not in ("vault", "title"):  # these are asked for above
            notes = _asked(term, manifest, places)
            if isinstance(notes, list):
                (excluded if term.negated else within).append(notes)
            else:
                conditions.append(none_of(notes) if term.negated else notes)
    conditions += [
        *(_any_of(group, manifest, places, found_by) for group in parsed.either),
        _of_notes({*within[0]}.intersection(*within[1:])) if within else None,
        none_of(_of_notes(chain.from_iterable(excluded))) if excluded else None,
    ]
    return all_of(conditions), list(dict.fromkeys(chain.from_iterable(matched)))


def _asked(term: FieldTerm, manifest: Manifest | None, places: Places) -> list[str] | Filter | None:
    """Return the ids of the notes that one condition is fulfilled by, or a filter for them."""
    match term.field:
        case "vault":
            return one_of("vault", [_vault(term.value, manifest)])
        case "tag":
            return build_qdrant_filters(QueryFilters(tags=[term.value]))
        case "title":
            return places.titled(term.value)
        case "path":
            return places.on_path(term.value)
    return _bearing(manifest, term.field, term.value)


def _bearing(manifest: Manifest | None, field: str, value: str) -> list[str]:
    return manifest.catalogue.bearing(field, value_test(value)) if manifest else []


def _of_notes(ids: Iterable[str]) -> Filter:
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
        yield _bearing(manifest, name, value)
    spans = [(day(filters.modified_from), day(filters.modified_to))]
    spans += [days(filters)] if filters.date_field == "modified" else []
    for first, last in spans:
        if first or last:
            yield manifest.catalogue.modified(first, last) if manifest else []


def _any_of(
    group: Sequence[FieldTerm],
    manifest: Manifest | None,
    places: Places,
    found_by: Mapping[str, Found],
) -> Filter | None:
    """Return the filter for notes of which one of some conditions holds; a phrase that is too
    frequent to be a condition lets all notes through."""
    conditions: list[Filter] = []
    within: list[str] = []
    for term in group:
        if term.field == PHRASE:
            if not found_by[term.value].counts:
                return None
            within += found_by[term.value].notes
        elif isinstance(notes := _asked(term, manifest, places), list):
            within += notes
        else:
            conditions += [notes] if notes else []
    return {"operator": "OR", "conditions": [*conditions, _of_notes(within)]}


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


def _vault(name: str, manifest: Manifest | None) -> str:
    if manifest is None:
        return name
    from rag.index.vault_registry import unknown_vault

    vaults = list(manifest.vaults())
    same = [vault for vault in vaults if name_key(vault) == name_key(name)]
    if name in vaults or len(same) == 1:
        return name if name in vaults else same[0]
    raise unknown_vault(name, vaults)


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
