"""The sentences of notes: which many notes repeat, and which notes are near in meaning by them.

A cosine alone says little: a line that a template puts into sixty notes is nearest of all, and
some texts are near to every other. So of the cosine of two sentences half of what each is near to
anyway is taken off (CSLS): the mean of the twenty nearest notes, among which the passages of a
foreign library count, each for a note. Sentences that many notes repeat do not count at all.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rag.index.background import unit_vectors
from rag.vault.readable import readable_lines
from rag.vault.sentences import sentence_units

if TYPE_CHECKING:
    import numpy as np
    from haystack import Document

    from rag.index.background import Background
    from rag.search.filters import Filter
    from rag.stores.base.document_store import BaseDocumentStore

    Array = np.ndarray[Any, np.dtype[np.float32]]

_MANY = 4  # other notes with a line, or all of three, make it part of a template
_SAMPLED = 8  # sentences of a long note whose neighbours are looked up
_NEIGHBOURS, _COMPARED = 20, 60  # chunks for each of them, and for all of them at least
_MOST = 2_000  # sentences of other notes, those nearest, that are compared
_COHORT = 20  # notes that tell how near a sentence is to others anyway
_LETTER = re.compile(r"[^\W_]")  # a line without any begins no sentence
_NUMBER = re.compile(r"\d+")
_LINKS_ONLY = re.compile(r"(?:[\s\d.,;·|*+>・、-]|!?\[\[[^\[\]]*\]\]|!?\[[^\[\]]*\]\([^()]*\))+")


@dataclass(frozen=True)
class Passage:
    """A sentence or two of a note that tell why it is related: `line` is the number in its file
    where they begin."""

    line: int
    text: str
    score: float


class Sentence(NamedTuple):
    """A sentence or two: the number in the file of the line where they begin, their text, and that
    line."""

    number: int
    text: str
    line: str


def sentences_of(chunk: Document) -> list[Sentence]:
    """Return the sentences of a chunk, in order; of a chunk without any, its first line."""
    content, first = chunk.content or "", int(chunk.meta["line_start"])
    first -= int(chunk.meta.get("repeated") or 0)
    lines = content.splitlines() or [""]
    if units := sentence_units(content):
        return [Sentence(first + unit.line, unit.text, lines[unit.line]) for unit in units]
    if shown := readable_lines(content):
        return [Sentence(first + shown[0].number, shown[0].text, lines[shown[0].number])]
    return [Sentence(first, content.strip(), lines[0])]


class RepeatedLines:
    """The lines, headings and titles that many notes hold, whatever numbers stand in them."""

    def __init__(self, chunks: Iterable[Document]) -> None:
        notes: dict[str, set[str]] = defaultdict(set)
        every = set()
        for chunk in chunks:
            note = str(chunk.meta.get("file_id"))
            every.add(note)
            names = (str(chunk.meta.get("title") or ""), *(chunk.meta.get("heading") or ()))
            for line in (*(chunk.content or "").splitlines(), *names):
                notes[_without_numbers(line)].add(note)
        many = min(max(4, len(every)), _MANY + 1)  # the note itself among them
        self._lines = {line for line, holders in notes.items() if line and len(holders) >= many}

    def __contains__(self, line: str) -> bool:
        return _without_numbers(line) in self._lines

    def without(self, text: str) -> str:
        """Return a text without these lines."""
        return "\n".join(line for line in text.splitlines() if line not in self)

    def sentences(self, chunk: Document, count: int) -> list[bool]:
        """Return which of the first sentences of a chunk begin in one of these lines, or in a line
        that holds nothing but links.

        :param count: how many are looked at: as many as have embeddings.
        """
        lines = filter(_LETTER.search, (chunk.content or "").splitlines())
        repeated = {line for line in lines if line in self or _LINKS_ONLY.fullmatch(line)}
        # Sentences are cut only where it matters: for most chunks it does not.
        held = [one.line in repeated for one in sentences_of(chunk)][:count] if repeated else []
        return held + [False] * (count - len(held))


def _without_numbers(line: str) -> str:
    return _NUMBER.sub("0", line).strip().casefold()


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
    ours = [row for *_, row in _telling(chunks, own, repeated)]
    if not ours:
        return {}
    notes = {**candidates, **_neighbours(store, ours, filters, limit)}
    vectors = _vectors(store, [*notes])
    telling = [*_telling(store.get_documents([*vectors]), vectors, repeated)]
    if not telling:
        return {}
    asked = np.stack(ours)
    nearest = np.argsort(-(asked @ np.stack([row for *_, row in telling]).T).max(axis=0))[:_MOST]
    telling = sorted((telling[at] for at in nearest), key=lambda one: (notes[one[0]], *one[:2]))
    theirs = np.stack([row for *_, row in telling])
    cosines: Array = asked @ theirs.T
    _, starts, note_of = np.unique(
        [notes[chunk] for chunk, *_ in telling], return_index=True, return_inverse=True
    )
    to_ours: Array = np.maximum.reduceat(cosines, starts, axis=1)  # sentence x note
    to_theirs: Array = np.maximum.reduceat(theirs @ theirs.T, starts, axis=1)
    to_theirs[np.arange(len(theirs)), note_of] = cosines.max(axis=0)  # for its own the asked one
    worth = cosines - _near_anyway(to_ours, asked, background)[:, None] / 2
    worth -= _near_anyway(to_theirs, theirs, background)[None, :] / 2
    best, scores = worth.argmax(axis=0), worth.max(axis=0)
    sentences: dict[str, list[NearSentence]] = defaultdict(list)
    for at in np.argsort(-scores, kind="stable").tolist():
        chunk, number, _ = telling[at]
        near = NearSentence(chunk, number, float(scores[at]), float(cosines[best[at], at]))
        sentences[notes[chunk]].append(near)
    return dict(sentences)


def _telling(
    chunks: Iterable[Document], vectors: Mapping[str, Array], repeated: RepeatedLines
) -> Iterator[tuple[str, int, Array]]:
    """Yield chunk, number in it and embedding of each sentence that does not repeat others."""
    for chunk in chunks:
        rows = vectors.get(chunk.id, ())
        for number, is_repeated in enumerate(repeated.sentences(chunk, len(rows))):
            if not is_repeated:
                yield chunk.id, number, rows[number]


def _vectors(store: BaseDocumentStore, ids: Sequence[str]) -> dict[str, Array]:
    """Return the embeddings of the sentences of chunks, at length 1, by chunk."""
    return {chunk: unit_vectors(rows) for chunk, rows in store.embeddings_of(ids).items()}


def _neighbours(
    store: BaseDocumentStore, ours: Sequence[Array], filters: Filter | None, limit: int
) -> dict[str, str]:
    """Return the notes of the chunks with the sentences nearest to some of a note's, by chunk."""
    sampled = ours[:: math.ceil(len(ours) / _SAMPLED)]
    each = max(_NEIGHBOURS, max(_COMPARED, 2 * limit) // len(sampled))
    lists = store.find_lists([(row.tolist(), each) for row in sampled], filters)
    return {hit.id: hit.note for hits in lists for hit in hits}


def _near_anyway(nearness: Array, sentences: Array, background: Background | None) -> Array:
    """Return how near sentences are to what is nearest to them: notes, and foreign passages."""
    import numpy as np

    if background is not None:
        nearness = np.concatenate([nearness, sentences @ background.passages.T], axis=1)
    count = min(_COHORT, nearness.shape[1])
    nearest: Array = np.partition(nearness, -count, axis=1)[:, -count:]
    mean: Array = nearest.mean(axis=1)
    return mean
