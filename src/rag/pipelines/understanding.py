"""From what was typed to what is searched for: filters, further words, and notes named outright."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rag.exceptions import QueryError
from rag.pipelines.filtering import all_of, build_qdrant_filters, none_of, one_of
from rag.pipelines.models import QueryFilters
from rag.pipelines.occurrences import notes_holding
from rag.query.syntax import ParsedQuery, parse_query
from rag.stores.edge import QdrantEdgeDocumentStore
from rag.stores.manifest import Manifest
from rag.text.lexical import KATAKANA_WORD, content_words, word_dimension
from rag.text.normalize import name_key
from rag.text.tokens import TOKEN, cleaned, stem

_MAX_EXPANSIONS = 32  # words that one `word*` may stand for


@dataclass(frozen=True)
class Understood:
    """What a query asks.

    `text` is what notes are ranked by, empty when the query only filters. `also` are further
    words to look for: those a prefix stands for, and corrections. `corrections` maps words that
    no note holds to the word searched for instead. `filters` are those of the flags and of the
    query together, as Haystack writes them; `tags` the tags among them. `named` are the ids of
    notes that bear the query as title, alias or file name.
    """

    query: str
    text: str
    also: list[str] = field(default_factory=list)
    corrections: dict[str, str] = field(default_factory=dict)
    filters: dict[str, Any] | None = None
    tags: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)

    @property
    def meant(self) -> str:
        """The text with its misspelt words corrected."""
        if not self.corrections:
            return self.text
        spaced = TOKEN.sub(lambda m: self.corrections.get(m[0], m[0]), cleaned(self.text))
        return KATAKANA_WORD.sub(lambda m: self.corrections.get(m[0], m[0]), spaced)


def understand(
    store: QdrantEdgeDocumentStore, query: str, filters: QueryFilters | None = None
) -> Understood:
    """Read a query with the index at hand.

    :raises QueryError: when the query is empty, or a path is no pattern.
    :raises UsageError: for a vault that the index does not hold.
    """
    parsed = parse_query(query)
    if not parsed:
        raise QueryError("the query is empty", hint='Say what to look for: `rag search "words"`')
    manifest = store.access.manifest()
    conditions = [build_qdrant_filters(filters)]
    conditions += [build_qdrant_filters(_in_query(parsed, False, manifest))]
    unwanted = _in_query(parsed, True, manifest)
    conditions += [none_of(build_qdrant_filters(part)) for part in _single(unwanted)]
    if filters and filters.paths:
        conditions.append(one_of("file_id", _at_paths(manifest, filters.paths)))
    for term in parsed.fields:
        if term.field in ("path", "title"):
            condition = one_of("file_id", _matching(manifest, term.field, term.value))
            conditions.append(none_of(condition) if term.negated else condition)
    conditions += [one_of("file_id", notes_holding(store, phrase)) for phrase in parsed.phrases]
    unwanted_words = [*parsed.excluded, *_beginning(manifest, parsed.excluded_prefixes)]
    conditions += [none_of(one_of("file_id", notes_holding(store, w))) for w in unwanted_words]
    corrections = _corrections(store, manifest, parsed)
    understood = Understood(
        query=query,
        text=parsed.text.strip(),
        also=[*_beginning(manifest, parsed.prefixes), *corrections.values()],
        corrections=corrections,
        filters=all_of(conditions),
        tags=[*((filters.tags if filters else None) or []), *parsed.values("tag")],
    )
    named = manifest.named(understood.meant) if manifest else []
    return replace(understood, named=named)


def _in_query(parsed: ParsedQuery, negated: bool, manifest: Manifest | None) -> QueryFilters:
    """Return the vaults and tags that a query names."""
    vaults = [_vault(name, manifest) for name in parsed.values("vault", negated)]
    return QueryFilters(vaults=vaults or None, tags=parsed.values("tag", negated) or None)


def _single(filters: QueryFilters) -> list[QueryFilters]:
    """Part filters that must all hold from each other, so that each can be denied."""
    return [QueryFilters(vaults=[vault]) for vault in filters.vaults or []] + [
        QueryFilters(tags=[tag]) for tag in filters.tags or []
    ]


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


def _matching(manifest: Manifest | None, field_name: str, value: str) -> list[str]:
    """Return the ids of the notes whose title or alias holds `value`, or whose path does."""
    if manifest is None:
        return []
    wanted = name_key(value)
    if field_name == "path":
        if re.search(r"[*?\[]", value):
            return _at_paths(manifest, [value])
        return [i for v, p, _, _, i in manifest.names() if wanted in name_key(f"{v}/{p}")]
    return [
        identity
        for _, _, title, aliases, identity in manifest.names()
        if any(wanted in name_key(name) for name in (title, *aliases))
    ]


def _at_paths(manifest: Manifest | None, globs: list[str]) -> list[str]:
    """Return the ids of the notes whose path, or vault and path, matches one of `globs`.

    :raises QueryError: when one of them is no pattern.
    """
    from unicodedata import normalize

    from pathspec import PathSpec

    patterns = [normalize("NFC", glob if "/" in glob else f"/**/{glob}") for glob in globs]
    try:
        spec = PathSpec.from_lines("gitignore", patterns)
    except ValueError as error:
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
        for prefix in prefixes
        for word in manifest.vocabulary.starting_with(cleaned(prefix), _MAX_EXPANSIONS)
    ]


def _corrections(
    store: QdrantEdgeDocumentStore, manifest: Manifest | None, parsed: ParsedQuery
) -> dict[str, str]:
    """Return the words of a query that no note holds, each with the word it may be a slip of."""
    if manifest is None:
        return {}
    exact = {word for text in (*parsed.phrases, *parsed.prefixes) for word in content_words(text)}
    spaced = [w for w in content_words(parsed.text) if w.isalpha() and w not in exact]
    loans = KATAKANA_WORD.findall(cleaned(parsed.text))
    found: dict[str, str] = {}
    for word in manifest.vocabulary.unknown([*spaced, *loans]):
        # It may be known in another form; part of a longer loan word is found by its characters.
        if _is_held(store, word) or (word in loans and manifest.vocabulary.within(word)):
            continue
        near = next((n for n in manifest.vocabulary.near(word) if _is_held(store, n)), None)
        if near and near not in loans:
            found[word] = near
    return found


def _is_held(store: QdrantEdgeDocumentStore, word: str) -> bool:
    return bool(store.holding(word_dimension(stem(word)), limit=1))
