"""From a query's text and filters to the `Query` that all other components of a search take."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from haystack import component

from rag.exceptions import IndexUnavailableError, QueryError
from rag.index.manifest import Manifest
from rag.index.snapshots import NO_INDEX, NO_INDEX_HINT
from rag.query.syntax import ParsedQuery, bounded, named_properties, not_text, parse_query
from rag.search.components import SearchComponent
from rag.search.components.note_ranker import newest_chunks
from rag.search.exact_words import full_score
from rag.search.filters import Filter, all_of
from rag.search.query import Query
from rag.search.results import NearWord, QueryFilters, SearchedVariant, SearchMode
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.bm25 import (
    ADDRESSES,
    GRAMS,
    KATAKANA_WORD,
    PROPERTIES,
    asked_characters,
    beside_dimension,
    content_words,
    encode_query,
    word_dimension,
)
from rag.text.dictionary import is_common
from rag.text.ngrams import RUN, hash_gram
from rag.text.scripts import HAN, HANGUL
from rag.text.tokenizer import cleaned, has_words, stem

_IDEOGRAPHS = re.compile(f"[{HAN}]+|[{HANGUL}]+")
_DOUBLED = re.compile(r"(.)\1+")
_MOST_UNKNOWN = 8  # words; a query of more is not a misspelt one
_DATE_DIGITS = 4
_MOST_LOOKS = 16  # for a word that the filters let through, of all that the unknown may stand for
_MOST_COUNTED = 512  # chunks with a word, to say in how many notes it is


def find_unknown(
    store: BaseDocumentStore, manifest: Manifest, parsed: ParsedQuery, filters: Filter | None
) -> tuple[dict[str, str], dict[str, NearWord | None], list[str]]:
    """Return the words of a query that no note holds in any form: those that are no words, each
    with the word that it may be a slip of; the others, each with the nearest word that a note
    holds, if there is one; and those that stand in front matter or the address of a link alone. A
    common word is not corrected; a correction is in a note that the filters let through."""
    words_of, held = manifest.catalogue, store.frequencies().holds
    text = cleaned(parsed.text)
    loans = KATAKANA_WORD.findall(text)
    # Numbers as short as those of dates and times are in few notes, and that tells nothing.
    words = [
        word
        for word in content_words(parsed.text)
        if word.isalnum() and len(word) > 1 and not (word.isdigit() and len(word) <= _DATE_DIGITS)
    ]
    exact = " ".join([*parsed.phrases, *parsed.prefixes, *parsed.values("title")])
    as_written = {*content_words(exact), *KATAKANA_WORD.findall(cleaned(exact))} if exact else ()
    near: dict[str, list[str]] = {}
    beside: list[str] = []
    unheld = [word for word in dict.fromkeys([*words, *loans]) if not held(_dimension(word))]
    for word in unheld[:_MOST_UNKNOWN]:
        # Part of a longer loan word is found by its characters.
        around = words_of.words_around(word) if word in loans else ()
        if word in as_written or any(held(_dimension(loan)) for loan in around):
            continue
        if any(held(beside_dimension(field, stem(word))) for field in (PROPERTIES, ADDRESSES)):
            beside.append(word)
        else:
            # One number is no slip of another.
            near[word] = words_of.words_near(word) if word.isalpha() else []
    corrections: dict[str, str] = {}
    missing: dict[str, NearWord | None] = {}
    if near:
        store.expect(map(_dimension, chain.from_iterable(near.values())))
    looks = iter(range(_MOST_LOOKS))
    for word, others in near.items():
        tried = (other for other, _ in zip(others, looks, strict=False))
        likeliest = (other for other in tried if store.is_used(_dimension(other), filters))
        other = next(likeliest, "")
        if other and other not in loans and _is_slip(word, other):
            corrections[word] = other
        else:
            notes = store.notes_with([_dimension(other)], _MOST_COUNTED) if other else ()
            missing[word] = NearWord(other, len(notes or ())) if other else None
    if not text.isascii():
        missing |= dict.fromkeys(islice(_unheld_parts(text, held), _MOST_UNKNOWN))
    return corrections, missing, beside


def _is_slip(word: str, other: str) -> bool:
    """Return whether a word is rather a slip of another than a common one. A letter that is doubled
    or not is a slip in every language but English (`aliasses`, `profesor`)."""
    single, single_other = (_DOUBLED.sub(r"\1", text) for text in (word, other))
    return not (is_common(word, ("en",)) if single == single_other else is_common(word))


def _unheld_parts(text: str, held: Callable[[int], bool]) -> Iterator[str]:
    """Yield what no chunk holds of the runs of ideographs or of Hangul in a cleaned text: of each
    the characters that no two neighbours share with a chunk, and one that stands alone in none."""
    for run in RUN.finditer(text):
        asks = asked_characters(run[0])
        for part in _IDEOGRAPHS.finditer(run[0]):
            start, end = part.span()
            while start < end and asks[start]:  # 何時の船
                start += 1
            while start < end and asks[end - 1]:
                end -= 1
            chars = run[0][start:end]
            pairs = [at for at in range(len(chars) - 1) if _holds_gram(chars[at : at + 2], held)]
            shared = {place for at in pairs for place in (at, at + 1)}
            unheld = "".join("\0" if at in shared else char for at, char in enumerate(chars))
            yield from (word for word in unheld.split("\0") if len(word) > 1)
            is_counter = text[: run.start() + start][-1:].isdigit()
            if len(chars) == 1 and not is_counter and not _holds_gram(chars, held):
                yield chars


def _holds_gram(gram: str, held: Callable[[int], bool]) -> bool:
    return held(GRAMS | hash_gram(gram)) or held(beside_dimension(PROPERTIES, gram))


def _dimension(word: str) -> int:
    return word_dimension(stem(word))


def understand(
    store: BaseDocumentStore, query: str, filters: QueryFilters | None = None, lists: bool = False
) -> Query:
    """Read a query with the index at hand.

    :param lists: take an empty query too: the filters are all that counts.
    :raises QueryError: when the query is empty, or a path is no pattern.
    :raises UsageError: for a vault that the index does not hold.
    """
    manifest = store.manifest()
    query = bounded(query)
    parsed = parse_query(query, known_properties(manifest, query) if ":" in query else ())
    is_empty = not (parsed.text or parsed.has_conditions)
    if is_empty and not lists:
        raise QueryError("the query is empty", hint='Say what to look for: `rag search "words"`')
    notices, matched = [*parsed.beyond], list[str]()
    beginning: list[str] = []
    if parsed.prefixes:
        from rag.search.conditions import words_beginning

        beginning = words_beginning(manifest, parsed.prefixes, notices)
    spoken = " ".join([parsed.text, *parsed.phrases, *parsed.excluded])
    dimensions = encode_query(spoken, beginning).indices
    combined: Filter | None = None
    if parsed.has_conditions or filters not in (None, QueryFilters()):
        from rag.search.conditions import (
            find_conditions,  # plain queries do without it
        )

        combined, matched = find_conditions(store, parsed, filters, dimensions, notices)
    else:
        store.expect(dimensions)
    named = manifest.catalogue.named(parsed.text) if manifest else []
    text = parsed.text if named or has_words(parsed.text) else ""
    corrections, missing, beside = dict[str, str](), dict[str, NearWord | None](), list[str]()
    if manifest and not named:  # a name that somebody gave is no slip
        corrections, missing, beside = find_unknown(store, manifest, parsed, combined)
    flags = filters or QueryFilters()
    understood = Query(
        typed=query,
        text=text,
        also=[*beginning, *corrections.values(), *beside],
        corrections=corrections,
        missing=missing,
        filters=combined,
        tags=list(dict.fromkeys([*(flags.tags or []), *parsed.values("tag")])),
        vaults=[*(flags.vaults or []), *parsed.values("vault")],
        lists=not text and (not parsed.text or bool(combined)),
        named=named,
        matched=matched,
        notices=notices,
        is_literal=bool(parsed.prefixes or parsed.excluded),
    )
    full = full_score(understood.meant, store.frequencies().idf) if text else 0.0
    if manifest and corrections:
        named = manifest.catalogue.named(understood.meant)
    return replace(understood, named=named, full=full)


def known_properties(manifest: Manifest | None, query: str) -> list[str]:
    """Return the names in a query that are those of properties of the notes."""
    if manifest is None:
        return []
    return [name for name in named_properties(query) if name in manifest.catalogue.fields()]


@component
class QueryAnalyzer(SearchComponent):
    """Read a query, or a question, with the index at hand.

    :param document_store: the index that is searched.
    :param top_k: how many results, or how many notes the answer may draw on.
    :param mode: `auto`, `lexical`, `dense` or `hybrid`.
    :param depth: how many results are loaded at least, for a reranker to choose from.
    :param answers: read a question: a list of notes is then one to answer from.
    """

    def __init__(
        self,
        document_store: BaseDocumentStore,
        top_k: int = 5,
        mode: str = SearchMode.AUTO,
        depth: int = 0,
        answers: bool = False,
    ) -> None:
        self.document_store, self.answers = document_store, answers
        self.top_k, self.mode, self.depth = top_k, check_mode(mode), depth

    @component.output_types(query=Query)
    def run(
        self,
        text: str,
        filters: QueryFilters | dict[str, Any] | None = None,
        top_k: int | None = None,
        mode: str | None = None,
        chunks: bool = False,
        keep_mode: bool = False,
        variants: tuple[SearchedVariant, ...] | None = None,
        rerank: str = "",
        lists: bool = False,
        order: str = "",
        question: str = "",
        relaxed: bool = False,
    ) -> dict[str, Query]:
        """Return the `query`; one of filters alone lists the notes that they select, the newest
        first.

        :param filters: of the library, or as Haystack writes them.
        :param lists: take an empty query too.
        :param rerank: what a reranker orders by; without it the query.
        :param question: what is asked, where `text` is only what to search for.
        :param relaxed: whether other notes than those that were asked for may be listed.
        :raises QueryError: for what is no query, `top_k`, mode or filter; also as `understand`.
        :raises IndexUnavailableError: when there is no index.
        """
        if not isinstance(question, str):
            raise not_text("question", question)
        if not isinstance(filters, QueryFilters | dict | None):
            kind = type(filters).__name__
            raise QueryError(f"filters must be QueryFilters or a dict, not of type {kind}")
        top_k, mode = self.top_k if top_k is None else top_k, check_mode(mode or self.mode)
        check_top_k(top_k)
        given = filters if isinstance(filters, dict) else None
        ours = filters if isinstance(filters, QueryFilters) else None
        query = understand(readable(self.document_store), text, ours, lists)
        query = replace(
            query,
            filters=all_of([query.filters, given]) if given else query.filters,
            named=[] if mode == SearchMode.DENSE else query.named,
            top_k=top_k,
            mode=mode,
            order=order,
        )
        if not (query.text or self.answers):
            return {"query": replace(query, mode=str(SearchMode.LEXICAL), unranked=True)}
        how: dict[str, Any] = {"keep_mode": keep_mode, "variants": variants or (), "rerank": rerank}
        if not self.answers:
            return {"query": replace(query, chunks=chunks, depth=self.depth, **how)}
        question = question or query.text
        how |= {"question": question, "quoted": question if lists else query.meant}
        if lists:
            newest = newest_chunks(self.document_store, query, top_k)
            how |= {"matched": [chunk.note for chunk in newest], "quotes_all": not relaxed}
        return {"query": replace(query, **how)}


def check_mode(mode: str) -> str:
    """Return the name of a way to search.

    :raises QueryError: when there is no such way.
    """
    try:
        return str(SearchMode(mode))
    except ValueError:
        names = ", ".join(SearchMode)
        raise QueryError(f"unknown mode {mode!r}", hint=f"Choose of {names}.") from None


def check_top_k(top_k: int) -> None:
    """Refuse to look for nothing.

    :raises QueryError: when `top_k` is below 1, or no whole number.
    """
    if not isinstance(top_k, int) or top_k < 1:
        raise QueryError(f"top_k must be at least 1, not {top_k!r}")


def readable(store: BaseDocumentStore) -> BaseDocumentStore:
    """Return a store that can be searched.

    :raises IndexUnavailableError: when there is no index.
    """
    if not store.is_readable:
        raise IndexUnavailableError(NO_INDEX, store.path, hint=NO_INDEX_HINT)
    return store
