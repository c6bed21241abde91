"""From what was typed to what is searched for: filters, further words, and notes named outright."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from rag.exceptions import QueryError
from rag.index.manifest import Manifest
from rag.query.limits import bounded
from rag.query.syntax import named_properties, parse_query
from rag.search.filters import Filter
from rag.search.relevance import full_score
from rag.search.results import NearWord, QueryFilters
from rag.search.understanding.unknown_words import Unknown, find_unknown
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.bm25 import KATAKANA_WORD, content_words, encode_query, pieces
from rag.text.tokenizer import TOKEN, cleaned, has_words


@dataclass(frozen=True)
class Understood:
    """What a query asks.

    `text` is what notes are ranked by, empty when the query has no words; `lists` is true when
    it filters nevertheless, and so asks for a list of notes. `also` are further words to look
    for: those a prefix stands for, corrections, and those of the text that stand in front matter or
    addresses alone, which then count for more. `corrections` maps words that no note holds
    to the word searched for instead, `missing` are the others that no note holds. `filters` are
    those of the flags and of the query together, as Haystack writes them; `tags` and `vaults`
    those that were chosen among them. `named` are the ids of notes that have the query as
    title, alias or file name; `matched` those of notes that hold a phrase of the query or have
    its `title:`, whatever words the index has of them. `notices` say what of the query does not
    count, because it is too much. `order` is that of a list;
    see `rag.search.ordering`. `full` is what a text with all words of the query scores; see
    `rag.search.relevance`. `is_literal` says that the query has `begin*` or `-without`: what shares
    no word with it is no match then.
    """

    query: str
    text: str
    also: list[str] = field(default_factory=list)
    corrections: dict[str, str] = field(default_factory=dict)
    missing: dict[str, NearWord | None] = field(default_factory=dict)
    filters: dict[str, Any] | None = None
    tags: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    matched: list[str] = field(default_factory=list)
    lists: bool = False
    vaults: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    order: str = ""
    full: float = 0.0
    is_literal: bool = False

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
    def known(self) -> str:
        """What is meant, without the words that no note holds."""
        if not self.missing:
            return self.meant
        return TOKEN.sub(
            lambda m: "" if m[2] in self.missing else m[0], cleaned(self.meant)
        ).strip()

    @property
    def is_doubted(self) -> bool:
        """Whether no note holds any of the words as they are spaced, nor is known to be meant."""
        known = self.named or self.matched or self.corrections
        return not known and all(word in self.missing for word in content_words(self.text))

    @property
    def is_strange(self) -> bool:
        """Whether no note holds any of the words, of a query without unspaced ones, of which that
        cannot be said."""
        is_known = self.is_literal or not (self.missing and self.is_doubted)
        return not (is_known or pieces(cleaned(self.text))[1])

    @property
    def searched(self) -> str:
        """What notes are ranked by: the words, and those added to them."""
        known = {*content_words(self.meant)}
        return " ".join([self.meant, *(word for word in self.also if word not in known)])


def understand(
    store: BaseDocumentStore, query: str, filters: QueryFilters | None = None, lists: bool = False
) -> Understood:
    """Read a query with the index at hand.

    :param lists: take an empty query too: the filters are all that counts.
    :raises QueryError: when the query is empty, or a path is no pattern.
    :raises UsageError: for a vault that the index does not hold.
    """
    manifest = store.manifest()
    parsed = parse_query(bounded(query), known_properties(manifest, query))
    if not (parsed or lists):
        raise QueryError("the query is empty", hint='Say what to look for: `rag search "words"`')
    notices = [*parsed.beyond]
    beginning: list[str] = []
    if parsed.prefixes:
        from rag.search.understanding.query_conditions import words_beginning

        beginning = words_beginning(manifest, parsed.prefixes, notices)
    spoken = " ".join([parsed.text, *parsed.phrases, *parsed.excluded])
    dimensions = encode_query(spoken, beginning).indices
    combined: Filter | None = None
    matched: list[str] = []
    if parsed.has_conditions or filters not in (None, QueryFilters()):
        from rag.search.understanding.query_conditions import (
            find_conditions,  # plain queries do without it
        )

        combined, matched = find_conditions(store, parsed, filters, dimensions, notices)
    else:
        store.expect(dimensions)
    named = manifest.named(parsed.text) if manifest else []
    text = parsed.text if named or has_words(parsed.text) else ""
    # A name that somebody gave is no slip.
    unknown = Unknown({}, {}) if named else find_unknown(store, manifest, parsed, combined)
    corrections = unknown.corrections
    understood = Understood(
        query=query,
        text=text,
        also=[*beginning, *corrections.values(), *unknown.beside],
        corrections=corrections,
        missing=unknown.missing,
        filters=combined,
        tags=list(dict.fromkeys([*(filters.tags or [] if filters else []), *parsed.values("tag")])),
        vaults=[*(filters.vaults or [] if filters else []), *parsed.values("vault")],
        lists=not text and (not parsed.text or bool(combined)),
        named=named,
        matched=matched,
        notices=notices,
        is_literal=bool(parsed.prefixes or parsed.excluded),
    )
    full = full_score(understood.meant, store.counts.rarity) if text else 0.0
    if manifest and corrections:
        named = manifest.named(understood.meant)
    return replace(understood, named=named, full=full)


def known_properties(manifest: Manifest | None, query: str) -> list[str]:
    """Return the names in a query that are those of properties of the notes."""
    if manifest is None or not isinstance(query, str) or not {":", "："} & {*query}:
        return []
    return [name for name in named_properties(query) if manifest.catalogue.has_field(name)]
