"""Notes near to a note in meaning: those with the sentences nearest to its own.

A cosine alone says little: a line that a template puts into sixty notes is nearest of all, and
some texts are near to every other. So of the cosine of two sentences half of what each is near to
anyway is taken off (CSLS): the mean of the twenty nearest notes, among which the passages of a
foreign library count, each for a note. Sentences that many notes repeat do not count at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rag.app.related.passages import MANY, RepeatedLines, leads_elsewhere, sentences_of
from rag.index.background import unit_vectors

if TYPE_CHECKING:
    import numpy as np
    from haystack import Document

    from rag.index.background import Background
    from rag.search.filters import Filter
    from rag.stores.base.document_store import BaseDocumentStore
    from rag.stores.base.scored_chunk import Candidate

    Array = np.ndarray[Any, np.dtype[np.float32]]

_ASKED = 8  # sentences of a long note whose neighbours are looked up; each costs two searches
_NEIGHBOURS, _COMPARED = 20, 60  # chunks for each of them, and for all of them at least
_BEST = 2  # of the note's sentences, those nearest to one of another note, that count
_COHORT = 20  # notes that tell how near a sentence is to others anyway
_SAME = 0.95  # a sentence that many notes have one as near to is part of a template
_OFFERED = 6  # sentences of a note, from which its passages are taken
_OUT = -9.0  # less than any nearness


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
    limit: int,
) -> dict[str, Nearness] | None:
    """Return how near the notes are that are nearest to one, by id; `None` where it has no
    embedding.

    :param background: what the model makes of a foreign library, where that is known.
    :param chunks: the note's own.
    :param filters: what others must pass; the note itself must not.
    :param likely: chunks that are compared besides, each with its note.
    :param limit: how many notes are wanted.
    """
    import numpy as np

    own = store.embeddings_of([chunk.id for chunk in chunks])
    if not own:
        return None
    ours = unit_vectors([row for chunk in chunks for row in own.get(chunk.id, ())])
    pool = {**likely, **_neighbours(store, ours, filters, limit)}
    known = store.embeddings_of([*pool])
    places = sorted((pool[c], c, at) for c, rows in known.items() for at in range(len(rows)))
    if not places:
        return {}
    theirs = unit_vectors([known[chunk][at] for _, chunk, at in places])
    notes, starts, note_of = np.unique(
        [note for note, _, _ in places], return_index=True, return_inverse=True
    )
    cosines = ours @ theirs.T
    to_ours: Array = np.maximum.reduceat(cosines, starts, axis=1)  # sentence x note
    to_theirs: Array = np.maximum.reduceat(theirs @ theirs.T, starts, axis=1)
    to_theirs[np.arange(len(places)), note_of] = cosines.max(axis=0)  # for its own the asked one
    documents = [*chunks, *store.get_documents([*known])]
    lines = RepeatedLines(documents)
    written = {chunk.id: [one.written for one in sentences_of(chunk)] for chunk in documents}
    own_places = [(chunk.id, at) for chunk in chunks for at in range(len(own.get(chunk.id, ())))]
    our_lines, their_lines = (
        [(line := _line(written, *place)) in lines or leads_elsewhere(line) for place in some]
        for some in (own_places, [place[1:] for place in places])
    )
    worth = cosines - (_anyway(to_ours, ours, background)[:, None] / 2)
    worth -= _anyway(to_theirs, theirs, background)[None, :] / 2
    worth[_repeated(to_ours, our_lines)] = _OUT
    worth[:, _repeated(to_theirs, their_lines)] = _OUT

    by_note: Array = np.maximum.reduceat(worth, starts, axis=1)
    best = np.argsort(-by_note, axis=0)[:_BEST]
    values = np.take_along_axis(by_note, best, axis=0)
    counts = np.maximum((values > _OUT).sum(axis=0), 1)
    scores = np.where(values > _OUT, values, 0.0).sum(axis=0) / counts
    likeness = np.where(values > _OUT, np.take_along_axis(to_ours, best, axis=0), 0).sum(0) / counts
    of_sentence = worth.max(axis=0)
    bounds = [*starts.tolist(), len(places)]
    found = {}
    for at, note in enumerate(notes.tolist()):
        inside = [p for p in range(bounds[at], bounds[at + 1]) if of_sentence[p] > _OUT]
        inside.sort(key=lambda place: -of_sentence[place])
        pairs = [(places[p][1], places[p][2], float(of_sentence[p])) for p in inside[:_OFFERED]]
        if pairs:
            found[note] = Nearness(float(scores[at]), float(likeness[at]), pairs)
    return found


def _neighbours(
    store: BaseDocumentStore, ours: Array, filters: Filter | None, limit: int
) -> dict[str, str]:
    """Return the notes of the chunks with the sentences nearest to some of a note's, by chunk.

    Each is looked up twice: as it is, and without what its neighbours have in common with it. Below
    a heading of a template all the same passages of other notes are nearer than what it speaks of.
    """
    import numpy as np

    count = min(len(ours), _ASKED)
    asked = ours[np.linspace(0, len(ours) - 1, count).round().astype(int)]
    each = max(_NEIGHBOURS, max(_COMPARED, 2 * limit) // count)

    def find(rows: Array) -> list[list[Candidate]]:
        return store.find_lists([(row.tolist(), each) for row in rows], filters)

    lists = find(asked)
    known = store.embeddings_of(list({one.id for found in lists for one in found}))
    others = [
        [max(known[one.id], key=row.__matmul__) for one in found if one.id in known] or [row]
        for row, found in zip(asked, lists, strict=True)
    ]
    shared = np.stack([unit_vectors(rows).mean(axis=0) for rows in others])
    return {
        one.id: one.note for found in [*lists, *find(unit_vectors(asked - shared))] for one in found
    }


def _anyway(nearness: Array, sentences: Array, background: Background | None) -> Array:
    """Return how near sentences are to what is nearest to them: notes, and foreign passages."""
    import numpy as np

    if background is not None:
        nearness = np.concatenate([nearness, sentences @ background.passages.T], axis=1)
    count = min(_COHORT, nearness.shape[1])
    nearest: Array = np.partition(nearness, -count, axis=1)[:, -count:]
    mean: Array = nearest.mean(axis=1)
    return mean


def _line(written: Mapping[str, list[str]], chunk: str, at: int) -> str:
    """Return the line in which a sentence of a chunk begins; of a chunk that another program cut
    otherwise, nothing."""
    lines = written.get(chunk, [])
    return lines[at] if at < len(lines) else ""


def _repeated(nearness: Array, are_lines: Sequence[bool]) -> Array:
    """Return which sentences other notes repeat, by their lines or in meaning.

    :param nearness: sentence x note.
    """
    import numpy as np

    many = max(3, min(MANY, nearness.shape[1]))
    repeated: Array = ((nearness > _SAME).sum(axis=1) >= many) | np.array(are_lines, bool)
    return repeated
