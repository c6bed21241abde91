"""Notes near to a note in meaning: those with the sentences nearest to its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rag.app.related.ranking import Ranked, passages_of

if TYPE_CHECKING:
    import numpy as np
    from haystack import Document

    from rag.search.filters import Filter
    from rag.stores.base.document_store import BaseDocumentStore

    Array = np.ndarray[Any, np.dtype[Any]]

# Of a long note, the chunks with the most sentences are looked for; each costs a search.
_MOST_ASKED = 12
_FOUND = 60  # chunks, for each of them
# Chunks of all those found, sentence by sentence: at least so many, and two for each note wanted.
# 40 to 160 find as many of the notes that authors linked (benchmarks/related.py).
_COMPARED = 60
_BEST = 2  # of the note's sentences, those nearest to one of another note, that count
# How near a sentence is to the other notes anyway, of what counts for one of them.
_ANYWAY = 0.5
# A line that so many of the notes found hold, or all of two or more, is part of a template.
_MANY = 5
_OFFERED = 6  # of a note's sentences, from which its passages are taken


def near_in_meaning(
    store: BaseDocumentStore, chunks: Sequence[Document], filters: Filter | None, limit: int
) -> list[Ranked] | None:
    """Return the notes nearest to one in meaning, the best first; `None` where it has no embedding.

    The score of a note is the mean of the two best of: how near a sentence of the one note is to
    the nearest of the other (their cosine), less half of how near it is to those found on average.

    Sentences that many notes hold to the letter do not count.

    :param chunks: the note's own.
    :param filters: what others must pass; the note itself must not.
    :param limit: how many notes are wanted.
    """
    import numpy as np

    own = store.embeddings_of([chunk.id for chunk in chunks])
    if not own:
        return None
    found = _candidates(store, own, filters, max(_COMPARED, 2 * limit))
    known = store.embeddings_of([*found])
    notes = sorted({found[chunk] for chunk in known})
    if not notes:
        return []
    number = {note: at for at, note in enumerate(notes)}
    places = [
        (number[found[chunk]], chunk, at)
        for chunk, rows in known.items()
        for at in range(len(rows))
    ]
    places.sort()
    theirs = _unit([known[chunk][at] for _, chunk, at in places])
    ours = [row for chunk in chunks for row in own.get(chunk.id, ())]
    cosines = _unit(ours) @ theirs.T
    starts = np.searchsorted([place[0] for place in places], np.arange(len(notes)))
    nearest: Array = np.maximum.reduceat(cosines, starts, axis=1)  # sentence x note
    repeated = _repeated(store, [line for chunk in chunks for line in _lines(chunk, own)], found)
    kept = ~repeated if not repeated.all() else repeated
    cosines, nearest = cosines[kept], nearest[kept]
    anyway = _ANYWAY * nearest.mean(axis=1, keepdims=True)
    best = np.argsort(-(nearest - anyway), axis=0)[:_BEST]  # of the sentences, for each note
    scores = np.take_along_axis(nearest - anyway, best, axis=0).mean(axis=0)
    likeness = np.take_along_axis(nearest, best, axis=0).mean(axis=0)
    worth: Array = (cosines - anyway).max(axis=0)  # of each of their sentences
    bounds = [*starts.tolist(), len(places)]
    ranked = []
    for at, note in enumerate(notes):
        inside = sorted(range(bounds[at], bounds[at + 1]), key=lambda place: -worth[place])
        pairs = [(places[p][1], places[p][2], float(worth[p])) for p in inside[:_OFFERED]]
        held = list(dict.fromkeys(places[p][1] for p in inside))
        score = min(1.0, max(0.0, float(scores[at])))
        ranked.append(Ranked(note, score, held, float(likeness[at]), pairs))
    return sorted(ranked, key=lambda one: (-one.score, one.id))


def _candidates(
    store: BaseDocumentStore,
    own: Mapping[str, list[list[float]]],
    filters: Filter | None,
    count: int,
) -> dict[str, str]:
    """Return the notes of as many chunks nearest to a note's chunks, by chunk."""
    asked = sorted(own.values(), key=len, reverse=True)[:_MOST_ASKED]
    means = [_unit([_unit(rows).mean(axis=0)])[0].tolist() for rows in asked]
    best: dict[str, tuple[float, str]] = {}
    for listed in store.find_lists([(mean, _FOUND) for mean in means], filters):
        for one in listed:
            best[one.id] = max(best.get(one.id, (-1.0, one.note)), (one.score, one.note))
    nearest = sorted(best, key=lambda chunk: (-best[chunk][0], chunk))[:count]
    return {chunk: best[chunk][1] for chunk in nearest}


def _lines(chunk: Document, own: Mapping[str, list[list[float]]]) -> list[str]:
    """Return the line that each embedded sentence of a chunk begins in, as it is written; nothing
    where that is not known."""
    lines = (chunk.content or "").split("\n")
    first = int(chunk.meta["line_start"]) - int(chunk.meta.get("repeated") or 0)
    written = [lines[line - first].strip() for line, _ in passages_of(chunk)]
    count = len(own.get(chunk.id, ()))
    return written if len(written) == count else [""] * count


def _repeated(store: BaseDocumentStore, lines: Sequence[str], found: Mapping[str, str]) -> Array:
    """Return which lines many notes hold.

    :param found: the notes of the chunks that are looked at, by chunk.
    """
    import numpy as np

    contents = [(found[chunk.id], chunk.content or "") for chunk in store.get_documents([*found])]
    others = len({*found.values()})
    holding = [len({note for note, text in contents if line and line in text}) for line in lines]
    return np.array([count >= _MANY or 1 < count == others for count in holding], bool)


def _unit(rows: Any) -> Array:
    """Return vectors at length 1."""
    import numpy as np

    found: Array = np.asarray(rows, np.float32)
    lengths: Array = np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
    unit: Array = found / lengths
    return unit
