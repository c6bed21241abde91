"""What notes share in words: the weightiest of a note, and the names in its front matter."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from rag.app.related.meaning import Passage, RepeatedLines, sentences_of
from rag.index.searchable_text import lexical_parts
from rag.text.bm25 import subject_terms
from rag.text.matches import find_matches, weigh_matches, weigh_terms
from rag.text.scripts import HAN, KATAKANA
from rag.text.tokenizer import stem

if TYPE_CHECKING:
    from haystack import Document
    from haystack.dataclasses.sparse_embedding import SparseEmbedding

    from rag.index.manifest import Manifest
    from rag.index.note_rows import NoteRow
    from rag.search.filters import Filter
    from rag.stores.base.document_store import BaseDocumentStore

_WORDS = 40  # that are sought
_TITLE, _HEADING = 3.0, 1.5  # what a word there counts for, against one in the text
_CHUNKS = 300  # that are looked up
# Chunks of a note, and others with the most words of each, that tell which lines are repeated.
_SAMPLED, _ALIKE = 12, 10
_SHARES = (1.0, 0.5, 0.25, 0.125)  # of a note's score, for its best chunks
_REASONS = 5
# The inverse document frequency from which a word is a reason, that of a twentieth of the chunks;
# in a small index, how much less it may be than that of the note's rarest word. "off" and "time"
# tell nothing by themselves.
_TELLING, _LESS = 3.0, 2.0
_UNSEGMENTED = re.compile(f"[{HAN}{KATAKANA}]")
# One letter, a number, and what addresses and hashes are made of.
_NO_WORD = re.compile(r"\w|\d+|(?=(?:.*\d){3}).+|.{25,}")
_PARTICLES = "のをはがにでともへや"
_KATAKANA = re.compile(f"[{KATAKANA}]")
_FIRST_KATAKANA, _LAST_KATAKANA = re.compile(f"^[{KATAKANA}]+"), re.compile(f"[{KATAKANA}]+$")
_LINK = re.compile(r"!?\[\[([^\[\]|#]+)[^\[\]]*\]\]")
# Words that begin with a capital, small ones such as "van der" between them; or a short text in a
# script without capitals. What holds a figure is a date or a measure.
_WORD = r"(?=[^a-zß-öø-ÿа-я])[^\W\d_][^\W\d_]*\.?"
_NAME = re.compile(rf"{_WORD}(?:(?: [a-z]{{1,3}}){{0,2}}[ '’·・-]{_WORD}){{0,5}}")
_LONGEST = 40  # characters of a name
# Properties that sort notes into kinds, in English, German and Japanese.
_KINDS = {
    *("status", "state", "stage", "type", "kind", "category", "class", "cssclass", "cssclasses"),
    *("priority", "rating", "mood", "lang", "language", "template", "layout", "publish"),
    *("art", "typ", "kategorie", "zustand", "priorität", "sprache"),
    *("状態", "状況", "ステータス", "種類", "種別", "分類", "カテゴリ", "カテゴリー"),
    *("優先度", "重大度", "評価", "言語", "気分"),
}
_MOST = 0.2  # of the notes may share a name that still relates two


class Weighty(NamedTuple):
    """The weightiest words of a note: their dimensions in the lexical index with their weights,
    and themselves as the text of a query."""

    dimensions: dict[int, float]
    text: str

    @property
    def query(self) -> SparseEmbedding:
        """The query for chunks with these words."""
        from haystack.dataclasses.sparse_embedding import SparseEmbedding

        return SparseEmbedding([*self.dimensions], [*self.dimensions.values()])


def weightiest_words(
    store: BaseDocumentStore, chunks: Sequence[Document], repeated: RepeatedLines
) -> Weighty:
    """Return the words of a note that are frequent in it and rare in others; those of titles and
    headings count more.

    :param chunks: all of the note's.
    :param repeated: lines whose words do not count.
    """
    titles = dict.fromkeys(str(chunk.meta.get("title") or "") for chunk in chunks)
    headings = chain.from_iterable(chunk.meta.get("heading") or () for chunk in chunks)
    texts = [(title, _TITLE) for title in titles if title not in repeated]
    texts += [
        (heading, _HEADING)
        for heading in dict.fromkeys(headings)
        if heading not in titles and heading not in repeated
    ]
    texts += [
        (lexical_parts(chunk.meta, repeated.without(chunk.content or ""))[-1], 1.0)
        for chunk in chunks
    ]
    counts: dict[int, float] = defaultdict(float)
    words: dict[int, str] = {}
    for text, weight in texts:
        for term in subject_terms(text):
            counts[term.dimension] += weight * term.weight
            words.setdefault(term.dimension, term.text)
    # The store weighs them by their rarity once more: what most notes have must not add up.
    weights = {one: count**0.5 * store.counts.rarity(one) for one, count in counts.items()}
    order = sorted(weights, key=lambda one: (-weights[one], one))[:_WORDS]
    return Weighty({one: weights[one] for one in order}, " ".join(words[one] for one in order))


def repeated_lines(
    store: BaseDocumentStore, chunks: Sequence[Document], filters: Filter | None
) -> tuple[RepeatedLines, list[Document]]:
    """Return the lines of a note that others repeat, and the chunks that tell: those with the most
    words of each of its own.

    :param chunks: the note's own.
    :param filters: what others must pass.
    """
    sampled = chunks[:: math.ceil(len(chunks) / _SAMPLED)] if chunks else ()
    queries = [weightiest_words(store, [chunk], RepeatedLines([])).query for chunk in sampled]
    lists = store.find_lists([(query, _ALIKE) for query in queries], filters)
    alike = store.get_documents(sorted({hit.id for hits in lists for hit in hits}))
    return RepeatedLines([*chunks, *alike]), alike


def _texts(chunks: Sequence[Document]) -> Iterator[str]:
    return (lexical_parts(chunk.meta, chunk.content)[-1] for chunk in chunks)


class SharedWords(NamedTuple):
    """What a note has of the weightiest words of another: as a share of what that has itself, 0 to
    1; and the chunks that have them, the best first."""

    share: float
    chunks: list[str]


def near_in_words(
    store: BaseDocumentStore, words: Weighty, chunks: Sequence[str], filters: Filter | None
) -> dict[str, SharedWords]:
    """Return what notes have of the weightiest words of one, by id.

    :param chunks: the ids of the note's own.
    :param filters: what others must pass; the note itself must not.
    """
    [hits] = store.find_lists([(words.query, _CHUNKS)], filters)
    [own] = store.score_among([words.query], chunks)
    whole = _note_score([*own.values()]) or 1.0
    by_note: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for hit in hits:
        by_note[hit.note].append((hit.score, hit.id))
    return {
        note: SharedWords(
            min(1.0, _note_score([score for score, _ in scored]) / whole),
            [chunk for _, chunk in sorted(scored, reverse=True)],
        )
        for note, scored in by_note.items()
    }


def _note_score(scores: list[float]) -> float:
    best = sorted(scores, reverse=True)
    return sum(share * score for share, score in zip(_SHARES, best, strict=False))


class WordEvidence:
    """Tells where other notes have the weightiest words of a note.

    :param words: these words.
    :param own: the note's chunks.
    :param repeated: lines that are no passages.
    """

    def __init__(
        self,
        store: BaseDocumentStore,
        words: Weighty,
        own: Sequence[Document],
        repeated: RepeatedLines,
    ) -> None:
        rarity = store.counts.rarity
        least = min(_TELLING, max(map(rarity, words.dimensions), default=0.0) - _LESS)
        self._query, self._repeated = words.text, repeated
        self._weights = weigh_terms(words.text, rarity)
        self._telling = weigh_terms(
            words.text, lambda one: rarity(one) if rarity(one) >= least else 0.0
        )
        self._own_text = "\n".join(_texts(own))

    def passages(self, chunks: Sequence[Document]) -> list[Passage]:
        """Return the sentences of some chunks, those that hold most of the words first; scores are
        shares of what all words count for."""
        whole = sum(self._weights.values()) or 1.0
        passages = []
        for one in chain.from_iterable(map(sentences_of, chunks)):
            if one.line not in self._repeated:
                held = weigh_matches(find_matches(one.text, self._query), self._weights)
                passages.append(Passage(one.number, one.text, round(sum(held.values()) / whole, 6)))
        return sorted(passages, key=lambda passage: (-passage.score, passage.line))

    def reasons(self, chunks: Sequence[Document]) -> list[str]:
        """Return the weightiest words that stand in some chunks, as they are written there, each in
        one form."""
        best: dict[str, tuple[float, str]] = {}
        for text in _texts(chunks):
            for start, end, weight in self._spans(text):
                word = _whole_word(text, start, end, self._own_text)
                form = stem(word) if word.isascii() else word  # what all forms of it have in common
                best[form] = max((weight, word), best.get(form, (0.0, "")))
        words: list[str] = []
        for _, word in sorted(best.values(), key=lambda one: (-one[0], one[1])):
            # In scripts without spaces one word may be part of another.
            is_part = not word.isascii() and any(word in one or one in word for one in words)
            if word and not is_part:
                words.append(word)
        return words[:_REASONS]

    def _spans(self, text: str) -> Iterator[tuple[int, int, float]]:
        """Yield where a text has words that are reasons, and their weights; matches that overlap
        are two characters each of a longer word."""
        spans: list[tuple[int, int, float]] = []
        for match in find_matches(text, self._query):
            start, weight = match.start, self._telling.get(match.term, 0.0)
            if spans and start < spans[-1][1]:
                start, _, before = spans.pop()
                weight += before
            spans.append((start, match.end, weight))
        return (span for span in spans if span[2])


def _whole_word(text: str, begin: int, end: int, other: str) -> str:
    """Return a part of a text in lower case; of a run of kanji and katakana, as much around it as
    both texts have, without particles and pieces of words in katakana."""
    if not _UNSEGMENTED.match(text, begin):
        word = text[begin:end].lower()
        return "" if _NO_WORD.fullmatch(word) else word
    while begin and _UNSEGMENTED.match(text, begin - 1) and text[begin - 1 : end] in other:
        begin -= 1
    while _UNSEGMENTED.match(text, end) and text[begin : end + 1] in other:
        end += 1
    word = text[begin:end]
    if begin and _KATAKANA.match(text, begin - 1):
        word = _FIRST_KATAKANA.sub("", word)
    if _KATAKANA.match(text, end):
        word = _LAST_KATAKANA.sub("", word)
    return word.strip(_PARTICLES)


def shared_names(manifest: Manifest, row: NoteRow) -> dict[str, dict[str, float]]:
    """Return the notes that front matter relates to a note, by id: the names, and what each tells,
    from 0 to 1.

    Related is a note that its front matter names, by a link, title or alias; a note that names it
    so; and one whose front matter names the same person or place, in whatever property. The more
    notes do that, the less it tells.
    """
    notes: dict[str, dict[str, float]] = defaultdict(dict)
    for value in chain.from_iterable(row.fields[one] for one in row.fields if one not in _KINDS):
        link = _LINK.fullmatch(value)
        name = link[1].strip() if link else value
        is_name = _is_name(name)
        if link or is_name:
            targets = manifest.links.resolve(name, row.vault, row.path)
            if len(targets) == 1:
                notes[targets[0].id][name] = 1.0
        for identity, tells in _naming(manifest, name).items() if is_name else ():
            notes[identity].setdefault(name, tells)
    for name in dict.fromkeys([row.title, PurePath(row.path).stem, *row.aliases]):
        for identity in _naming(manifest, name):
            notes[identity][name] = 1.0
    notes.pop(row.id, None)
    return dict(notes)


def _naming(manifest: Manifest, name: str) -> dict[str, float]:
    """Return the notes whose front matter has a name, by id, and what that tells."""
    written = [f"[[{name}]]", *([name] if _is_name(name) else [])]
    notes = manifest.catalogue.with_values(written, _KINDS)
    every = max(2, manifest.rows())
    if len(notes) > max(2, _MOST * every):
        return {}
    return dict.fromkeys(notes, 1.0 - math.log(max(1, len(notes) - 1)) / math.log(every))


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST and bool(_NAME.fullmatch(text))
