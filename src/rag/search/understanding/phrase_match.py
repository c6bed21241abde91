"""Which notes hold a word or a phrase: the index finds the chunks, their text decides.

A query may read so much of the index and no more (`ENTRIES`, `TEXTS`). What is rare is read first
and whole. Where a phrase is too frequent for that, only notes that are known to hold it are found,
those that may hold it are left out if it is unwanted, and the query's notices say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from rag.index.manifest import Manifest
from rag.search.understanding.phrase_passages import Passage, note_of, pattern, rough_pattern
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.bm25 import (
    GRAMS,
    PROPERTIES,
    beside_dimension,
    word_dimension,
)
from rag.text.messages import brief
from rag.text.ngrams import hash_gram, is_ideograph, weigh_grams
from rag.text.tokenizer import TOKEN, cleaned, stem

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
    """A phrase and how the index is asked for it.

    :ivar parts: of each dimensions one of which whatever holds the phrase has, in its text or its
        front matter, the likely rarest first.
    :ivar exact: whether whatever has the one part holds the phrase.
    """

    text: str
    tokens: list[tuple[str, str]]
    parts: list[_Either]
    exact: bool


class Occurrences:
    """Looks up the phrases of one query, and the words that it does not want.

    :param wanted: phrases; a note holds one if its words stand in a row in one chunk: in its title
        or file name, in one heading, alias or field of the front matter, or in its text, to the
        letter: case, width and punctuation do not matter, accents and endings do.
    :param unwanted: phrases likewise.
    :param words: single words that are not wanted, in any of their forms.
    """

    def __init__(
        self,
        store: BaseDocumentStore,
        manifest: Manifest | None,
        wanted: Iterable[str],
        unwanted: Iterable[str] = (),
        words: Iterable[str] = (),
    ) -> None:
        self._store, self._manifest = store, manifest
        self._wanted = [_phrase(text) for text in dict.fromkeys(wanted)]
        self._unwanted = [_phrase(text) for text in dict.fromkeys(unwanted)]
        unwanted_words = {stem(cleaned(word)) for word in words}
        self._words = sorted({d for word in unwanted_words for d in _of_word(word)})
        self._spent = 0  # entries of the index
        self._passages: dict[str, Passage] = {}  # by the ids of their chunks
        self._all: list[str] | None = None  # ids of chunks, of the first by id

    @property
    def dimensions(self) -> set[int]:
        """Those of the lexical space that will be asked for."""
        phrases = [*self._wanted, *self._unwanted]
        parts = (part for phrase in phrases for part in phrase.parts)
        return {*self._words, *chain.from_iterable(parts)}

    def wanted(self) -> list[Found]:
        """Return the notes that hold each phrase."""
        return self._holding(self._wanted, unwanted=False)

    def unwanted(self) -> list[Found]:
        """Return the notes that hold one of the unwanted words, or an unwanted phrase."""
        words = [self._with_words()] if self._words else []
        return words + self._holding(self._unwanted, unwanted=True)

    def _with_words(self) -> Found:
        if self._store.points_with(self._words, RARE) is not None:
            return Found(self._store.notes_with(self._words))
        chunks = self._read(self._words)
        if chunks is None:
            return Found([], "excluded words do not count: they are in too many notes", False)
        return Found(self._notes_of(chunks))

    def _holding(self, phrases: Sequence[_Phrase], unwanted: bool) -> list[Found]:
        """Look up phrases, those of the fewest chunks first."""
        rare = {phrase.text: self._rare(phrase) for phrase in phrases}

        def frequency(phrase: _Phrase) -> tuple[bool, int]:
            chunks = rare[phrase.text]
            return chunks is None, len(chunks or ())

        found = {}
        for phrase in sorted(phrases, key=frequency):
            chunks = rare[phrase.text]
            if not phrase.parts:
                found[phrase.text] = self._everywhere(phrase, unwanted)
            elif chunks is None:
                found[phrase.text] = self._found(phrase, self._frequent(phrase), unwanted)
            else:
                found[phrase.text] = self._found(phrase, chunks, unwanted)
        return [found[phrase.text] for phrase in phrases]

    def _rare(self, phrase: _Phrase) -> dict[str, float] | None:
        """Return the chunks that may hold a phrase; `None` unless a part of it is rare."""
        for part in phrase.parts:
            if (chunks := self._store.points_with(part, RARE)) is not None:
                return chunks
        return None

    def _frequent(self, phrase: _Phrase) -> dict[str, float] | None:
        """Return the chunks that may hold a phrase without rare parts; `None` when they are more
        than a query may read."""
        first, *others = phrase.parts
        chunks = self._read(first)
        if chunks is None:
            return None
        for part in others:
            more = self._read(part) if len(chunks) > RARE else None
            if more is None:
                break
            chunks = {chunk: score for chunk, score in chunks.items() if chunk in more}
        return chunks

    def _read(self, dimensions: Sequence[int]) -> dict[str, float] | None:
        chunks_in_all = self._manifest.kept_totals()[1] if self._manifest else 0
        room = max(ENTRIES, chunks_in_all // 2) - self._spent
        chunks = self._store.points_with(dimensions, room) if room > 0 else None
        self._spent += room if chunks is None else len(chunks)
        return chunks

    def _everywhere(self, phrase: _Phrase, unwanted: bool) -> Found:
        """Return the notes that hold a lone character, which the index has only where it stands
        alone: as many chunks are read as may be."""
        if self._all is None:
            documents = self._store.all_documents(TEXTS + 1)
            self._all = [document.id for document in documents]
            self._passages |= {document.id: Passage(document) for document in documents[:TEXTS]}
        name = _quoted(phrase)
        if len(self._all) <= TEXTS:
            return Found(self._reading(phrase, self._all))
        if unwanted:
            return Found([], f"{name} does not count: it may be in any note", False)
        said = f"{name} was looked for in {TEXTS:,} passages only: it may be in any note"
        return Found(self._reading(phrase, self._all[:TEXTS]), said)

    def _found(self, phrase: _Phrase, chunks: dict[str, float] | None, unwanted: bool) -> Found:
        """Return the notes of those chunks that hold a phrase."""
        name = _quoted(phrase)
        if chunks is None:
            return Found([], f"{name} does not count: it is in too many notes to look it up", False)
        if phrase.exact:
            return Found(self._notes_of(chunks))
        ordered = sorted(chunks, key=lambda chunk: (-chunks[chunk], chunk))
        unseen = self._load(ordered)
        notes = self._reading(phrase, ordered)
        if not unseen:
            return Found(notes)
        if unwanted:
            notes = sorted({*notes, *self._notes_of(unseen)})
            return Found(notes, f"notes that may hold {name} are left out unread")
        seen = len(ordered) - len(unseen)
        said = f"only {seen:,} of {len(ordered):,} passages that may hold {name} were read"
        return Found(notes, said)

    def _reading(self, phrase: _Phrase, chunks: Iterable[str]) -> list[str]:
        """Return the notes of those chunks that hold a phrase, as far as their texts are known."""
        rough, exact = rough_pattern(phrase.tokens), pattern(phrase.tokens)
        read = (self._passages[chunk] for chunk in chunks if chunk in self._passages)
        return sorted({passage.note for passage in read if passage.holds(rough, exact)})

    def _load(self, chunks: list[str]) -> list[str]:
        """Read the texts of chunks, as far as a query may; return those that were left out."""
        new = [chunk for chunk in chunks if chunk not in self._passages]
        room = max(0, TEXTS - len(self._passages))
        for document in self._store.get_documents(new[:room]):
            self._passages[document.id] = Passage(document)
        return new[room:]

    def _notes_of(self, chunks: Iterable[str]) -> list[str]:
        if self._manifest is None:
            return sorted({note_of(document) for document in self._store.get_documents([*chunks])})
        owners = self._owners
        keys = (bytes.fromhex(chunk.replace("-", "")) for chunk in chunks)
        return sorted({owners[key] for key in keys if key in owners})

    @cached_property
    def _owners(self) -> dict[bytes, str]:
        return self._manifest.notes_by_chunk() if self._manifest else {}


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


def _quoted(phrase: _Phrase) -> str:
    return f'"{brief(phrase.text, _QUOTED)}"'
