"""Which notes hold a phrase: the index finds the chunks, their text decides."""

from __future__ import annotations

import re
from collections.abc import Iterable

from haystack.dataclasses import Document

from rag.pipelines.parts import file_name, lexical_parts
from rag.stores.protocol import NoteStore
from rag.text.grams import hash_gram, weigh_grams
from rag.text.lexical import GRAMS, word_dimension
from rag.text.normalize import fold_accents
from rag.text.tokens import TOKEN, cleaned, stem


def notes_with_words(store: NoteStore, words: Iterable[str]) -> list[str]:
    """Return the ids of the notes that hold any of these words, in any of its forms."""
    dimensions = sorted({word_dimension(stem(cleaned(word))) for word in words})
    return store.notes_with(dimensions) if dimensions else []


def notes_holding(store: NoteStore, phrase: str) -> list[str]:
    """Return the ids of the notes that hold the words of `phrase` in a row, in one chunk.

    They stand in its title or file name, in one heading or alias, or in its text. Case, accents
    and punctuation do not matter; of a single word its other forms count too.
    """
    tokens = TOKEN.findall(cleaned(phrase))
    words = [word for _, word in tokens if word]
    if len(tokens) == len(words) == 1:
        return notes_with_words(store, words)
    pattern = _pattern(tokens)
    found = [
        document
        for document in _candidates(store, tokens)
        if any(
            pattern.search(_in_a_row(part))
            for part in [file_name(document.meta), *lexical_parts(document.meta, document.content)]
        )
    ]
    return sorted({str(document.meta.get("file_id", document.id)) for document in found})


def _candidates(store: NoteStore, tokens: list[tuple[str, str]]) -> list[Document]:
    """Return the chunks that hold the piece of a phrase most likely to be rare."""
    words = [word for _, word in tokens if word]
    if words:
        return store.holding(word_dimension(stem(max(words, key=len))))
    grams = [gram for run, _ in tokens if len(run) > 1 for gram in weigh_grams(run)]
    if not grams:  # a lone character, which the index holds only where it stands alone
        return store.all_documents()
    rarest = max((gram for gram in grams if len(gram.text) > 1), key=lambda gram: gram.weight)
    return store.holding(GRAMS | hash_gram(rarest.text))


def _in_a_row(text: str) -> str:
    return " ".join(run or fold_accents(word) for run, word in TOKEN.findall(cleaned(text)))


def _pattern(tokens: list[tuple[str, str]]) -> re.Pattern[str]:
    """Match the tokens in a row: whole words, but any part of an unsegmented run at the ends."""
    row = " ".join(run or fold_accents(word) for run, word in tokens)
    first, last = tokens[0][1], tokens[-1][1]
    head, tail = r"(?<!\S)" if first else "", r"(?!\S)" if last else ""
    return re.compile(head + re.escape(row) + tail)
