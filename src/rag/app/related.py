"""Notes related to a note, by what two have in common: sentences of one meaning, weighty words,
names in front matter.

A cosine alone says little: a line that a template puts into sixty notes is nearest of all, and
some texts are near to every other. So of the cosine of two sentences half of what each is near to
anyway is taken off (CSLS): the mean of the twenty nearest notes, among which the passages of a
foreign library count, each for a note. Lines that many notes repeat do not count at all.
"""

from __future__ import annotations

import math
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from rag.app.index_state import IndexState, check_vaults
from rag.app.notes import NoteRef, find_named
from rag.app.requests import RelatedRequest
from rag.app.results import copied
from rag.exceptions import EMBED_REST, Standing
from rag.index.embedding_space import read_background, read_embedded
from rag.index.lookup import FoundNote
from rag.index.searchable_text import lexical_parts
from rag.search.components.note_ranker import first_chunks
from rag.search.components.query_analyzer import understand
from rag.search.filters import all_of, none_of, one_of
from rag.support.json_reports import optional
from rag.support.vector_digest import unit_vectors
from rag.text.bm25 import subject_terms
from rag.text.matches import find_matches, weigh_matches, weigh_terms
from rag.text.messages import brief
from rag.text.scripts import HAN, KATAKANA
from rag.text.tokenizer import stem
from rag.vault.markdown import MARKDOWN
from rag.vault.sentences import readable_lines, sentence_units

if TYPE_CHECKING:
    import numpy as np
    from haystack import Document
    from haystack.dataclasses.sparse_embedding import SparseEmbedding

    from rag.app.workspace import Workspace
    from rag.index.catalog import Link
    from rag.index.embedding_space import Background
    from rag.index.manifest import Manifest, NoteRow
    from rag.search.filters import Filter
    from rag.stores.base.document_store import BaseDocumentStore

    Array = np.ndarray[Any, np.dtype[np.float32]]

_MANY = 4  # other notes with a line, or all of three, make it part of a template
_LETTER = re.compile(r"[^\W_]")  # a line without any begins no sentence
_NUMBER = re.compile(r"\d+")
_LINKS_ONLY = re.compile(r"(?:[\s\d.,;·|*+>・、-]|!?\[\[[^\[\]]*\]\]|!?\[[^\[\]]*\]\([^()]*\))+")

# -- sentences -------------------------------------------------------------------------


@dataclass(frozen=True)
class Passage:
    """A sentence or two of a note that tell why it is related: `line` is the number in its file
    where they begin.

    :param page: of a PDF, or slide, from 1.
    """

    line: int
    text: str
    score: float
    page: int = optional(0)


class Sentence(NamedTuple):
    """A sentence or two: the number in the file of the line where they begin, their text, that
    line, and the page of a PDF."""

    number: int
    text: str
    line: str
    page: int


def sentences_of(chunk: Document) -> list[Sentence]:
    """Return the sentences of a chunk, in order; of a chunk without any, its first line."""
    content, first = chunk.content or "", int(chunk.meta["line_start"])
    first -= int(chunk.meta.get("repeated") or 0)
    lines, page = content.splitlines() or [""], int(chunk.meta.get("page") or 0)
    if units := sentence_units(content):
        return [Sentence(first + unit.line, unit.text, lines[unit.line], page) for unit in units]
    if shown := readable_lines(content):
        number, text = shown[0].number, shown[0].text
        return [Sentence(first + number, text, lines[number], page)]
    return [Sentence(first, content.strip(), lines[0], page)]


class RepeatedLines:
    """The lines, headings and titles that many notes hold, whatever numbers stand in them."""

    def __init__(self, chunks: Iterable[Document]) -> None:
        notes: dict[str, set[str]] = defaultdict(set)
        for chunk in chunks:
            names = (str(chunk.meta.get("title") or ""), *(chunk.meta.get("heading") or ()))
            for line in (*(chunk.content or "").splitlines(), *names):
                notes[_without_numbers(line)].add(str(chunk.meta.get("file_id")))
        many = min(max(4, len(set().union(*notes.values()))), _MANY + 1)  # the note itself too
        self._lines = {line for line, holders in notes.items() if line and len(holders) >= many}

    def __contains__(self, line: str) -> bool:
        return _without_numbers(line) in self._lines

    def without(self, text: str) -> str:
        """Return a text without these lines."""
        return "\n".join(line for line in text.splitlines() if line not in self)

    def new_sentences(
        self, chunks: Iterable[Document], vectors: Mapping[str, Array]
    ) -> Iterator[tuple[str, int, Array]]:
        """Yield chunk, number in it and embedding of each sentence that begins in none of these
        lines, nor in a line that holds nothing but links."""
        for chunk in chunks:
            lines = filter(_LETTER.search, (chunk.content or "").splitlines())
            repeated = {line for line in lines if line in self or _LINKS_ONLY.fullmatch(line)}
            # Sentences are cut only where it matters: for most chunks it does not.
            sentences = sentences_of(chunk) if repeated else []
            for number, row in enumerate(vectors.get(chunk.id, ())):
                if number >= len(sentences) or sentences[number].line not in repeated:
                    yield chunk.id, number, row


def _without_numbers(line: str) -> str:
    return _NUMBER.sub("0", line).strip().casefold()


# -- meaning ---------------------------------------------------------------------------

_SAMPLED = 8  # sentences of a long note whose neighbours are looked up
_NEIGHBOURS, _COMPARED = 20, 60  # chunks for each of them, and for all of them at least
_MOST = 2_000  # sentences of other notes, those nearest, that are compared
_COHORT = 20  # notes that tell how near a sentence is to others anyway


class NearSentence(NamedTuple):
    """A sentence of another note, by its chunk and its number in it.

    :param score: how near it is to the nearest of the note's, less what is near anyway.
    :param cosine: of the two.
    """

    chunk: str
    number: int
    score: float
    cosine: float


def near_in_meaning(
    store: BaseDocumentStore,
    background: Background | None,
    chunks: Sequence[Document],
    filters: Filter | None,
    candidates: Mapping[str, str],
    repeated: RepeatedLines,
    limit: int,
) -> dict[str, list[NearSentence]] | None:
    """Return the sentences of other notes that are near to those of one, the nearest first, by the
    note's id; `None` where it has no embedding.

    :param background: what the model makes of a foreign library, where that is known.
    :param chunks: the note's own.
    :param filters: what others must pass; the note itself must not.
    :param candidates: chunks that are compared besides the nearest, each with its note.
    :param repeated: lines whose sentences do not count.
    :param limit: how many notes are wanted.
    """
    import numpy as np

    own = _vectors(store, [chunk.id for chunk in chunks])
    if not own:
        return None
    ours = [row for *_, row in repeated.new_sentences(chunks, own)]
    if not ours:
        return {}
    sampled = ours[:: math.ceil(len(ours) / _SAMPLED)]
    each = max(_NEIGHBOURS, max(_COMPARED, 2 * limit) // len(sampled))
    lists = store.find_lists([(row.tolist(), each) for row in sampled], filters)
    notes = {**candidates, **{hit.id: hit.note for hits in lists for hit in hits}}
    vectors = _vectors(store, [*notes])
    others = [*repeated.new_sentences(store.get_documents([*vectors]), vectors)]
    if not others:
        return {}
    asked = np.stack(ours)
    nearest = np.argsort(-(asked @ np.stack([row for *_, row in others]).T).max(axis=0))[:_MOST]
    others = sorted((others[at] for at in nearest), key=lambda pair: (notes[pair[0]], *pair[:2]))
    theirs = np.stack([row for *_, row in others])
    cosines: Array = asked @ theirs.T
    holders = [notes[chunk] for chunk, *_ in others]
    _, starts, note_of = np.unique(holders, return_index=True, return_inverse=True)
    to_ours: Array = np.maximum.reduceat(cosines, starts, axis=1)  # sentence x note
    to_theirs: Array = np.maximum.reduceat(theirs @ theirs.T, starts, axis=1)
    to_theirs[np.arange(len(theirs)), note_of] = cosines.max(axis=0)  # for its own the asked one
    worth = cosines - _near_anyway(to_ours, asked, background)[:, None] / 2
    worth -= _near_anyway(to_theirs, theirs, background)[None, :] / 2
    best, scores = worth.argmax(axis=0), worth.max(axis=0)
    sentences: dict[str, list[NearSentence]] = defaultdict(list)
    for at in np.argsort(-scores, kind="stable").tolist():
        chunk, number, _ = others[at]
        near = NearSentence(chunk, number, float(scores[at]), float(cosines[best[at], at]))
        sentences[notes[chunk]].append(near)
    return dict(sentences)


def _vectors(store: BaseDocumentStore, ids: Sequence[str]) -> dict[str, Array]:
    """Return the embeddings of the sentences of chunks, at length 1, by chunk."""
    return {chunk: unit_vectors(rows) for chunk, rows in store.embeddings_of(ids).items()}


def _near_anyway(nearness: Array, sentences: Array, background: Background | None) -> Array:
    """Return how near sentences are to what is nearest to them: notes, and foreign passages."""
    import numpy as np

    if background is not None:
        nearness = np.concatenate([nearness, sentences @ background.passages.T], axis=1)
    count = min(_COHORT, nearness.shape[1])
    mean: Array = np.partition(nearness, -count, axis=1)[:, -count:].mean(axis=1)
    return mean


# -- words -----------------------------------------------------------------------------

_WORDS = 40  # that are sought
_TITLE, _HEADING = 3.0, 1.5  # what a word there counts for, against one in the text
_CHUNKS = 300  # that are looked up
# Chunks of a note, and others with the most words of each, that tell which lines are repeated.
_ASKED, _ALIKE = 12, 10
_SHARES = (1.0, 0.5, 0.25, 0.125)  # of a note's score, for its best chunks
_REASONS = 5
# The inverse document frequency from which a word is a reason, that of a twentieth of the chunks;
# in a small index, how much less it may be than that of the note's rarest word. "off" and "time"
# tell nothing by themselves.
_TELLING, _LESS = 3.0, 2.0
# One letter, a number, and what addresses and hashes are made of.
_NO_WORD = re.compile(rf"(?![{HAN}{KATAKANA}])\w|\d+|(?=(?:.*\d){{3}}).+|.{{25,}}")
_PARTICLES = "のをはがにでともへや"
_KATAKANA = re.compile(f"[{KATAKANA}]")
_FIRST_KATAKANA, _LAST_KATAKANA = re.compile(f"^[{KATAKANA}]+"), re.compile(f"[{KATAKANA}]+$")


class Weighty(NamedTuple):
    """The weightiest words of a note: the query for chunks with these words, themselves as the
    text of a query, and the rarity of a dimension of the lexical index."""

    query: SparseEmbedding
    text: str
    rarity: Callable[[int], float]


def weightiest_words(
    store: BaseDocumentStore, chunks: Sequence[Document], repeated: RepeatedLines
) -> Weighty:
    """Return the words of a note's chunks that are frequent in them and rare in others; those of
    titles and headings count more, those of repeated lines nothing."""
    from haystack.dataclasses.sparse_embedding import SparseEmbedding

    names = {str(chunk.meta.get("title") or ""): _TITLE for chunk in chunks}
    for heading in chain.from_iterable(chunk.meta.get("heading") or () for chunk in chunks):
        names.setdefault(heading, _HEADING)
    texts = [(name, weight) for name, weight in names.items() if name not in repeated]
    bodies = ((chunk.meta, repeated.without(chunk.content or "")) for chunk in chunks)
    texts += [(lexical_parts(meta, body)[-1], 1.0) for meta, body in bodies]
    counts: dict[int, float] = defaultdict(float)
    words: dict[int, str] = {}
    for text, weight in texts:
        for term in subject_terms(text):
            counts[term.dimension] += weight * term.weight
            words.setdefault(term.dimension, term.text)
    # The store weighs them by their rarity once more: what most notes have must not add up.
    rarity = store.frequencies().idf
    weights = {dimension: count**0.5 * rarity(dimension) for dimension, count in counts.items()}
    order = sorted(weights, key=lambda dimension: (-weights[dimension], dimension))[:_WORDS]
    query = SparseEmbedding(order, [weights[dimension] for dimension in order])
    return Weighty(query, " ".join(words[dimension] for dimension in order), rarity)


def repeated_lines(
    store: BaseDocumentStore, chunks: Sequence[Document], filters: Filter | None
) -> tuple[RepeatedLines, list[Document]]:
    """Return the lines of a note that others repeat, and the chunks of others that tell: those with
    the most words of each of its own."""
    sampled = chunks[:: math.ceil(len(chunks) / _ASKED)] if chunks else ()
    queries = [weightiest_words(store, [chunk], RepeatedLines([])).query for chunk in sampled]
    lists = store.find_lists([(query, _ALIKE) for query in queries], filters)
    alike = store.get_documents(sorted({hit.id for hits in lists for hit in hits}))
    return RepeatedLines([*chunks, *alike]), alike


class SharedWords(NamedTuple):
    """What a note has of the weightiest words of another: as a share of what that has itself, 0 to
    1; and the chunks that have them, the best first."""

    share: float
    chunks: list[str]


def near_in_words(
    store: BaseDocumentStore, words: Weighty, chunks: Sequence[str], filters: Filter | None
) -> dict[str, SharedWords]:
    """Return what notes that pass filters have of the weightiest words of one, whose own chunks are
    given, by id."""
    [hits] = store.find_lists([(words.query, _CHUNKS)], filters)
    [own] = store.score_each([(words.query, chunks)])
    whole = _note_score(own.values()) or 1.0
    by_note: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for hit in hits:
        by_note[hit.note].append((hit.score, hit.id))
    return {
        note: SharedWords(
            min(1.0, _note_score(score for score, _ in scored) / whole),
            [chunk for _, chunk in sorted(scored, reverse=True)],
        )
        for note, scored in by_note.items()
    }


def _note_score(scores: Iterable[float]) -> float:
    best = sorted(scores, reverse=True)
    return sum(share * score for share, score in zip(_SHARES, best, strict=False))


def word_passages(
    words: Weighty, chunks: Sequence[Document], repeated: RepeatedLines
) -> list[Passage]:
    """Return the sentences of some chunks, those that hold most of the words first; scores are
    shares of what all words count for."""
    weights = weigh_terms(words.text, words.rarity)
    whole = sum(weights.values()) or 1.0
    passages = []
    for sentence in chain.from_iterable(map(sentences_of, chunks)):
        if sentence.line not in repeated:
            held = weigh_matches(find_matches(sentence.text, words.text), weights)
            score = round(sum(held.values()) / whole, 6)
            passages.append(Passage(sentence.number, sentence.text, score, sentence.page))
    return sorted(passages, key=lambda passage: (-passage.score, passage.line))


def word_reasons(words: Weighty, chunks: Sequence[Document]) -> list[str]:
    """Return the weightiest words that stand in some chunks, as they are written there, each in
    one form."""
    rarity = words.rarity
    least = min(_TELLING, max(map(rarity, words.query.indices), default=0.0) - _LESS)
    weights = weigh_terms(words.text, lambda term: rarity(term) if rarity(term) >= least else 0.0)
    best: dict[str, tuple[float, str]] = {}
    for chunk in chunks:
        text = lexical_parts(chunk.meta, chunk.content)[-1]
        spans: list[tuple[int, int, float]] = []
        for match in find_matches(text, words.text):
            start, weight = match.start, weights.get(match.term, 0.0)
            if spans and start < spans[-1][1]:  # two characters each of a longer word
                start, _, before = spans.pop()
                weight += before
            spans.append((start, match.end, weight))
        for start, end, weight in spans:
            if weight and (word := _whole_word(text, start, end)):
                form = stem(word) if word.isascii() else word  # what all forms have in common
                best[form] = max((weight, word), best.get(form, (0.0, "")))
    reasons: list[str] = []
    for _, word in sorted(best.values(), key=lambda reason: (-reason[0], reason[1])):
        # In scripts without spaces one word may be part of another.
        if word.isascii() or not any(word in reason or reason in word for reason in reasons):
            reasons.append(word)
    return reasons[:_REASONS]


def _whole_word(text: str, start: int, end: int) -> str:
    """Return a word in lower case, without particles and pieces of longer katakana, or ""."""
    word = text[start:end].lower()
    if start and _KATAKANA.match(text, start - 1):
        word = _FIRST_KATAKANA.sub("", word)
    if _KATAKANA.match(text, end):
        word = _LAST_KATAKANA.sub("", word)
    word = word.strip(_PARTICLES)
    return "" if _NO_WORD.fullmatch(word) else word


# -- names -----------------------------------------------------------------------------

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
_SPREAD = 0.2  # of the notes may share a name that still relates two


def shared_names(manifest: Manifest, row: NoteRow) -> dict[str, dict[str, float]]:
    """Return the notes that front matter relates to a note, by id: the names, and what each tells,
    from 0 to 1.

    Related is a note that its front matter names, by a link, title or alias; a note that names it
    so; and one whose front matter names the same person or place, in whatever property. The more
    notes do that, the less it tells.
    """
    notes: dict[str, dict[str, float]] = defaultdict(dict)
    for value in chain.from_iterable(row.fields[name] for name in row.fields if name not in _KINDS):
        link = _LINK.fullmatch(value)
        name = link[1].strip() if link else value
        is_name = _is_name(name)
        if link or is_name:
            targets = manifest.catalogue.resolve(name, row.vault, row.path)
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
    if len(notes) > max(2, _SPREAD * every):
        return {}
    return dict.fromkeys(notes, 1.0 - math.log(max(1, len(notes) - 1)) / math.log(every))


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST and bool(_NAME.fullmatch(text))


# -- related notes ---------------------------------------------------------------------

MEANING, WORDS = "meaning", "words"
_CLEAR = 0.5  # the score from which a note is clearly related
_SUREST = 4.6  # odds of a score of .99
_PASSAGES = 2  # of a note, that are given
_OFFERED = 6  # sentences near in meaning, from which they are taken
_NEAREST, _TITLE_WIDTH = 3, 60  # notes named where none is clearly related; characters of each
_LIKELY = 20  # notes with the most words of one, that are compared in meaning too
# Weights of the logarithm of the odds that a note is related: fitted, see docs/ranking.md.
_NAMES_WEIGHT = 4.0
_WEIGHTS = {
    MEANING: {"constant": -3.0, "lexical": 14.0, "meaning": 45.0, "names": _NAMES_WEIGHT},
    WORDS: {"constant": -3.2, "lexical": 20.0, "meaning": 0.0, "names": _NAMES_WEIGHT},
}


@dataclass(frozen=True)
class Reasons:
    """Why a note is related to another.

    :param words: weighty words that both have.
    :param likeness: how near in meaning their nearest sentences are; 0 where that is not known.
    :param tags: what both are tagged.
    :param names: of people, places and notes in the front matter of one that lead to the other.
    :param linked_by: vault and path of the notes that link to both.
    """

    words: list[str]
    likeness: float
    tags: list[str]
    names: list[str]
    linked_by: list[str]


@dataclass(frozen=True)
class RelatedNote:
    """A related note.

    :param score: the probability that it is.
    :param link: a wiki link that leads to it from the note it is related to.
    :param linked: whether one of the two links to the other.
    :param passages: the best of it, the best first.
    """

    rank: int
    score: float
    id: str
    vault: str
    path: str
    file: str
    title: str
    tags: list[str]
    created: str
    link: str
    linked: bool
    passages: list[Passage]
    reasons: Reasons


@dataclass(frozen=True)
class RelatedReport:
    """The notes related to one, the best first, in the names of schema 1.

    :param by: what told: `meaning` or `words`.
    :param left_out: how many notes are left out because they are linked.
    """

    note: NoteRef
    by: str
    notices: list[str]
    results: list[RelatedNote]
    total: int
    left_out: int
    elapsed_ms: int
    index: IndexState


class _Candidate(NamedTuple):
    """A note that may be related, with what probability, what front matter shares, the sentences
    that are near in meaning and the chunks that tell of it, the best first."""

    id: str
    score: float
    names: list[str]
    sentences: list[NearSentence]
    chunks: list[str]


def related(snapshot: Workspace, request: RelatedRequest) -> RelatedReport:
    """Find notes related to one: by its sentences where they have embeddings, by its weightiest
    words, and by the names in its front matter. What many notes repeat counts next to nothing."""
    started = time.monotonic()
    with snapshot.manifest() as manifest:
        row = find_named(manifest, request.note, folder=request.folder).note.row
        vaults = request.filters.vaults if request.filters else None
        check_vaults(snapshot.config, vaults, manifest.vaults())
        note = _Note(snapshot.store, manifest, row, request)
        by, candidates = note.candidates()
        least = _CLEAR if request.min_score is None else request.min_score
        clear = [candidate for candidate in candidates if candidate.score >= least]
        results = note.describe(clear[: 2 * request.top_k])
        if candidates and not clear:
            rows = note.rows(candidates[:_NEAREST])
            near = ", ".join(brief(row.title, _TITLE_WIDTH) for row in rows.values())
            note.notices.append(f"nothing is clearly related; nearest: {near}")
    ref, count = NoteRef(row.id, row.vault, row.path, row.title), len(results)
    left_out = 0 if request.include_linked else len(note.linked)
    elapsed = round((time.monotonic() - started) * 1000)
    return RelatedReport(ref, by, note.notices, results, count, left_out, elapsed, snapshot.state)


class _Note:
    """A note to which others are related; `linked` are the ids of those that it is linked with."""

    def __init__(
        self, store: BaseDocumentStore, manifest: Manifest, row: NoteRow, request: RelatedRequest
    ) -> None:
        self._store, self._manifest, self._links = store, manifest, manifest.catalogue
        self._row, self._limit = row, request.top_k
        linking = self._links.links_to(row)
        self._linking = {link.source.id for link in linking}
        targets = self._links.links_from(row.vault, row.path)
        self.linked = self._linking | {link.notes[0].id for link in targets if link.is_clear}
        self.linked -= {row.id}
        understood = understand(store, "", request.filters, True)
        self.notices = list(understood.notices)
        unwanted = [row.id, *(() if request.include_linked else self.linked)]
        conditions = [understood.filters, none_of(one_of("file_id", unwanted))]
        if not request.all_vaults and not (request.filters and request.filters.vaults):
            conditions.append(one_of("vault", [row.vault]))
        self._filters = all_of(conditions)
        self._chunks = store.get_documents([key.id for key in row.chunks])
        if row.state:
            self._chunks += self._descriptions(linking)
        self._repeated, self._alike = repeated_lines(store, self._chunks, self._filters)
        self._words = weightiest_words(store, self._chunks, self._repeated)

    def _descriptions(self, linking: Sequence[Link]) -> Iterator[Document]:
        """Yield the chunks of other notes in which a link to this one stands: they describe a file
        without text, or with little, such as a scan."""
        lines = {link.source.id: link.line for link in linking}
        marks = ", ".join("?" * len(lines))
        rows = self._manifest.notes(f"id IN ({marks})", *lines)
        for chunk in self._store.get_documents([key.id for row in rows for key in row.chunks]):
            line = lines[chunk.meta["file_id"]]
            if chunk.meta["line_start"] <= line <= chunk.meta["line_end"]:
                yield chunk

    def candidates(self) -> tuple[str, list[_Candidate]]:
        """Return what tells, meaning or words, and the notes that pass the filters, the likeliest
        first."""
        own = [chunk.id for chunk in self._chunks]
        by_words = near_in_words(self._store, self._words, own, self._filters)
        names = shared_names(self._manifest, self._row)
        named = first_chunks(self._store, self._filters, sorted(names)) if names else []
        best = sorted(by_words, key=lambda note: (-by_words[note].share, note))[:_LIKELY]
        likely = {chunk: note for note in best for chunk in by_words[note].chunks[:_PASSAGES]}
        likely |= {hit.id: hit.note for hit in named}
        likely |= {chunk.id: str(chunk.meta["file_id"]) for chunk in self._alike}
        near = None
        if embedded := read_embedded(self._manifest):
            if embedded.is_partial:
                share = f"{embedded.embedded:,} of {embedded.readable:,} chunks have embeddings"
                rest = f"notes without any are compared by words alone {EMBED_REST}"
                self.notices.append(Standing(f"{share}: {rest}"))
            background = read_background(self._manifest)
            compared = (self._chunks, self._filters, likely, self._repeated, self._limit)
            near = near_in_meaning(self._store, background, *compared)
        by = WORDS if near is None else MEANING
        weights, near = _WEIGHTS[by], near or {}
        candidates = []
        for note in {*by_words, *near, *(hit.note for hit in named)}:
            shared, tells = by_words.get(note), names.get(note, {})
            sentences = near.get(note, [])[:_OFFERED]
            features = {
                "lexical": shared.share if shared else 0.0,
                "meaning": sentences[0].score if sentences else 0.0,
                "names": sum(tells.values()),
            }
            odds = weights["constant"] + sum(weights[k] * features[k] for k in features)
            score = round(1 / (1 + math.exp(-min(odds, _SUREST))), 6)
            chunks = [sentence.chunk for sentence in sentences] + (shared.chunks if shared else [])
            chunks += [hit.id for hit in named if hit.note == note]
            chunks = [*dict.fromkeys(chunks)]
            candidates.append(_Candidate(note, score, sorted(tells), sentences, chunks))
        return by, sorted(candidates, key=lambda candidate: (-candidate.score, candidate.id))

    def rows(self, candidates: Sequence[_Candidate]) -> dict[str, NoteRow]:
        """Return the rows of notes, by id, in their order."""
        ids = [candidate.id for candidate in candidates]
        marks = ", ".join("?" * len(ids))
        rows = {row.id: row for row in self._manifest.notes(f"id IN ({marks})", *ids)}
        return {note: rows[note] for note in ids if note in rows}

    def describe(self, candidates: Sequence[_Candidate]) -> list[RelatedNote]:
        """Return the best notes, but those of which a template is all that tells."""
        rows = self.rows(candidates)
        wanted = {chunk for candidate in candidates for chunk in candidate.chunks}
        documents = {chunk.id: chunk for chunk in self._store.get_documents(sorted(wanted))}
        roots = self._manifest.vaults()
        results: list[RelatedNote] = []
        for candidate in candidates:
            chunks = [documents[chunk] for chunk in candidate.chunks if chunk in documents][
                :_PASSAGES
            ]
            passages = self._passages(candidate, documents)
            passages = passages or word_passages(self._words, chunks, self._repeated)
            row = rows.get(candidate.id)
            if row is None or not (passages or candidate.names) or len(results) == self._limit:
                continue
            related_note = copied(
                RelatedNote,
                row,
                rank=len(results) + 1,
                score=candidate.score,
                file=str(FoundNote(row, Path(roots[row.vault])).file),
                link=self._link_to(row),
                linked=row.id in self.linked,
                passages=passages[:_PASSAGES],
                reasons=self._reasons(row, candidate, chunks),
            )
            results.append(related_note)
        return results

    def _passages(self, candidate: _Candidate, documents: Mapping[str, Document]) -> list[Passage]:
        """Return the sentences nearest in meaning; one that both notes have comes last."""
        passages: list[Passage] = []
        for chunk, at, score, _ in candidate.sentences:
            if chunk in documents:
                sentences = sentences_of(documents[chunk])
                number, text, _, page = sentences[min(at, len(sentences) - 1)]
                passages.append(Passage(number, text, round(score, 6), page))
        return sorted(passages, key=lambda passage: passage.text in self._own_sentences)

    @cached_property
    def _own_sentences(self) -> set[str]:
        return {sentence.text for chunk in self._chunks for sentence in sentences_of(chunk)}

    def _reasons(self, row: NoteRow, candidate: _Candidate, chunks: list[Document]) -> Reasons:
        tags = [tag for tag in self._row.tags if tag in row.tags]
        both = self._links.links_to(row, self._linking) if self._linking else ()
        return Reasons(
            word_reasons(self._words, chunks),
            round(candidate.sentences[0].cosine, 6) if candidate.sentences else 0.0,
            # Without the parents of nested ones.
            [tag for tag in tags if not any(more.startswith(f"{tag}/") for more in tags)],
            candidate.names,
            sorted({f"{link.source.vault}/{link.source.path}" for link in both}),
        )

    def _link_to(self, row: NoteRow) -> str:
        """Return the shortest wiki link to a note, its suffix left out in Markdown alone."""
        path = PurePosixPath(row.path)
        names = [path.name, row.path]
        if path.suffix.lower() in MARKDOWN:
            names = [path.stem, path.name, str(path.with_suffix("")), row.path]
        for name in names:
            targets = self._links.resolve(name, self._row.vault, self._row.path)
            if [note.id for note in targets] == [row.id]:
                return f"[[{name}]]"
        return f"[[{row.vault}/{row.path}]]"
