"""The sentences of notes: which many notes repeat, and which notes are near in meaning by them.

A cosine alone says little: a line that a template puts into sixty notes is nearest of all, and
some texts are near to every other. So of the cosine of two sentences half of what each is near to
anyway is taken off (CSLS): the mean of the twenty nearest notes, among which the passages of a
foreign library count, each for a note. Sentences that many notes repeat do not count at all.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from rag.index.background import unit_vectors
from rag.vault.readable import readable_lines
from rag.vault.sentence_units import sentence_units

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
_BEST = 2  # of the note's sentences, those nearest to one of another note, that count
_COHORT = 20  # notes that tell how near a sentence is to others anyway
_SAME = 0.95  # a sentence that many notes have one as near to is part of a template
_KEPT = 10  # sentences of another note, those nearest, that are compared
_OFFERED = 6  # of them, from which its passages are taken
_OUT = -9.0  # less than any nearness
_LETTER = re.compile(r"[^\W_]")  # a line without any begins no sentence
_NUMBER = re.compile(r"\d+")
_LINKS_ONLY = re.compile(r"(?:[\s\d.,;·|*+>・、-]|!?\[\[[^\[\]]*\]\]|!?\[[^\[\]]*\]\([^()]*\))+")


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


class Nearness(NamedTuple):
    """How near a note is.

    :param score: the mean of its best two pairs of sentences, each less what is near anyway.
    :param likeness: their mean cosine.
    :param nearest: the chunk, number in it and score of its sentences, the nearest first.
    """

    score: float
    likeness: float
    nearest: list[tuple[str, int, float]]


def near_in_meaning(
    store: BaseDocumentStore,
    background: Background | None,
    chunks: Sequence[Document],
    filters: Filter | None,
    likely: Mapping[str, str],
    alike: Sequence[Document],
    limit: int,
) -> dict[str, Nearness] | None:
    """Return how near the notes are that are nearest to one, by id; `None` where it has no
    embedding.

    :param background: what the model makes of a foreign library, where that is known.
    :param chunks: the note's own.
    :param filters: what others must pass; the note itself must not.
    :param likely: chunks that are compared besides, each with its note.
    :param alike: chunks with the most words of each of its own.
    :param limit: how many notes are wanted.
    """
    import numpy as np

    own = _vectors(store, [chunk.id for chunk in chunks])
    if not own:
        return None
    ours = np.concatenate([own[chunk.id] for chunk in chunks if chunk.id in own])
    note_of_chunk = {**likely, **{chunk.id: str(chunk.meta["file_id"]) for chunk in alike}}
    vectors = _vectors(store, [*note_of_chunk])
    note_of_chunk |= _neighbours(store, ours, [*vectors.values()], filters, limit)
    vectors |= _vectors(store, [chunk for chunk in note_of_chunk if chunk not in vectors])
    order = sorted((note_of_chunk[chunk], chunk) for chunk in vectors)
    others = {chunk.id: chunk for chunk in alike}
    rest = [chunk for _, chunk in order if chunk not in others]
    others |= {chunk.id: chunk for chunk in store.get_documents(rest)}
    lines = RepeatedLines([*chunks, *others.values()])
    our_lines = [r for c in chunks if c.id in own for r in lines.sentences(c, len(own[c.id]))]
    places = [
        (note, chunk, at)
        for note, chunk in order
        for at, is_repeated in enumerate(lines.sentences(others[chunk], len(vectors[chunk])))
        if not is_repeated
    ]
    if not places:
        return {}
    theirs = np.stack([vectors[chunk][at] for _, chunk, at in places])
    cosines = ours @ theirs.T
    kept = _nearest_of_each([note for note, _, _ in places], cosines.max(axis=0))
    places, theirs, cosines = [places[at] for at in kept], theirs[kept], cosines[:, kept]
    notes, starts, note_of = np.unique(
        [note for note, _, _ in places], return_index=True, return_inverse=True
    )
    to_ours: Array = np.maximum.reduceat(cosines, starts, axis=1)  # sentence x note
    to_theirs: Array = np.maximum.reduceat(theirs @ theirs.T, starts, axis=1)
    to_theirs[np.arange(len(places)), note_of] = cosines.max(axis=0)  # for its own the asked one
    worth = cosines - (_near_anyway(to_ours, ours, background)[:, None] / 2)
    worth -= _near_anyway(to_theirs, theirs, background)[None, :] / 2
    worth[_repeated(to_ours) | np.array(our_lines, bool)] = _OUT
    worth[:, _repeated(to_theirs)] = _OUT

    by_note: Array = np.maximum.reduceat(worth, starts, axis=1)
    best = np.argsort(-by_note, axis=0)[:_BEST]
    values = np.take_along_axis(by_note, best, axis=0)
    counts = np.maximum((values > _OUT).sum(axis=0), 1)
    scores = np.where(values > _OUT, values, 0.0).sum(axis=0) / counts
    likeness = np.where(values > _OUT, np.take_along_axis(to_ours, best, axis=0), 0).sum(0) / counts
    of_sentence = worth.max(axis=0)
    bounds = [*starts.tolist(), len(places)]
    nearness = {}
    for at, note in enumerate(notes.tolist()):
        inside = [p for p in range(bounds[at], bounds[at + 1]) if of_sentence[p] > _OUT]
        inside.sort(key=lambda place: -of_sentence[place])
        nearest = [(places[p][1], places[p][2], float(of_sentence[p])) for p in inside[:_OFFERED]]
        if nearest:
            nearness[note] = Nearness(float(scores[at]), float(likeness[at]), nearest)
    return nearness


def _nearest_of_each(notes: Sequence[str], nearness: Array) -> list[int]:
    """Return the places of the sentences of each note that are nearest, in order."""
    places: dict[str, list[int]] = defaultdict(list)
    for at in (-nearness).argsort(kind="stable").tolist():
        if len(places[notes[at]]) < _KEPT:
            places[notes[at]].append(at)
    return sorted(chain.from_iterable(places.values()))


def _vectors(store: BaseDocumentStore, ids: Sequence[str]) -> dict[str, Array]:
    """Return the embeddings of the sentences of chunks, at length 1, by chunk."""
    return {chunk: unit_vectors(rows) for chunk, rows in store.embeddings_of(ids).items()}


def _neighbours(
    store: BaseDocumentStore,
    ours: Array,
    alike: Sequence[Array],
    filters: Filter | None,
    limit: int,
) -> dict[str, str]:
    """Return the notes of the chunks with the sentences nearest to some of a note's, by chunk.

    Each is looked up twice: as it is, and without what the nearest of chunks that share words with
    the note have in common with it. Below a heading of a template all the same passages of other
    notes are nearer than what it speaks of.

    :param alike: the sentences of these chunks.
    """
    import numpy as np

    count = min(len(ours), _SAMPLED)
    sampled = ours[np.linspace(0, len(ours) - 1, count).round().astype(int)]
    each = max(_NEIGHBOURS, max(_COMPARED, 2 * limit) // count)
    shared = sampled
    if alike:
        best = np.stack([rows[(rows @ sampled.T).argmax(axis=0)] for rows in alike])
        nearest = np.argsort(-np.einsum("csd,sd->cs", best, sampled), axis=0)[:_NEIGHBOURS]
        shared = np.take_along_axis(best, nearest[:, :, None], axis=0).mean(axis=0)
    asked = [*sampled, *unit_vectors(sampled - shared)]
    lists = store.find_lists([(row.tolist(), each) for row in asked], filters)
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


def _repeated(nearness: Array) -> Array:
    """Return which sentences other notes repeat in meaning.

    :param nearness: sentence x note.
    """
    repeated: Array = (nearness > _SAME).sum(axis=1) >= max(3, min(_MANY, nearness.shape[1]))
    return repeated
