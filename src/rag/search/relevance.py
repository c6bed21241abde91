"""How sure it is that a note is what was searched for: the score that is shown, and silence.

What notes are ranked by says little by itself: the same sum is much for a query of one word and
little for one of ten, and a cosine says nothing without what other texts have. Here both are told
in what compares between queries, languages and modes:

    words     c = s / full
    meaning   D, the excess of the note's best chunk over a foreign library
              (`rag.index.embedding_space`)
    margin    (score − the best other score) / full, of what notes are ranked by, −1.5 to 1.5

`s` is what the note scores by words and `full` what a text of average length would that held each
word of the query once. The score that is shown is the probability that the note is what was asked
for, σ(a + b·ln(c + .05) + d·D + e·margin): fitted by logistic regression to judged
results; `benchmarks/scores.py` measures how well it is calibrated.

A list is shown where its best words and its best nearness together bear it, and ends where its
notes are borne no more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rag.index.embedding_space import read_embedded
from rag.stores.base.document_store import BaseDocumentStore

if TYPE_CHECKING:
    from rag.search.query import Hit, Retrieval

_ROUNDING = 1e-9
_MOST_COVERED, _LEAST_COVERED, _MOST_MARGIN = 100.0, 0.05, 1.5


class _Weights(NamedTuple):
    """Weights of the logarithm of the odds; fitted, see docs/ranking.md."""

    constant: float
    words: float = 0.0
    excess: float = 0.0
    margin: float = 0.0
    named: float = 0.0


# By whether words count, and whether meaning does.
_SCORE = {
    (True, True): _Weights(-4.74, 0.0, 51.4, 2.48, 5.14),
    (True, False): _Weights(-0.26, 2.13, 0.0, 4.96, 4.55),
    (False, True): _Weights(-4.47, 0.0, 45.0, 8.94),
    (False, False): _Weights(-2.0, margin=8.94),  # of a model of which too little is known
}
_PRESENT = {
    (True, True): _Weights(-2.1, 0.5, 70.0),
    (False, True): _Weights(-2.8, 0.0, 64.0),  # D is .044 or more
}
# The best of few chunks is less near by chance than that of as many as the weights are fitted to:
# the largest of n is about √(2·ln n) standard deviations above their mean.
_MANY, _DEVIATION = 300, 0.017
_SUREST = 4.6  # a score of .99: more was never measured
_WHOLE = 1.0  # of the words of a query, as a text of average length has that holds each once
_TAIL = 1.0  # of the odds of the whole list a note may have less


class Evidence(NamedTuple):
    """What speaks for a note that was found."""

    words: float | None  # how much of the query it holds, c above; `None`: words do not count
    excess: float | None  # how near it is, D above; `None`: not known
    margin: float
    is_named: bool = False  # its title, alias or file name is the query

    def score(self) -> float:
        """Return the probability that the note is what was asked for."""
        return 1.0 / (1.0 + math.exp(-min(self._odds(_SCORE), _SUREST)))

    def presence(self) -> float:
        """Return the logarithm of the odds that the index holds what was asked for, above 0 where
        it should be shown."""
        if self.is_named or self.excess is None:  # words alone find only what holds one
            return math.inf
        if (self.words or 0.0) >= _WHOLE:
            return math.inf
        return self._odds(_PRESENT)

    @property
    def has_words(self) -> bool:
        """Whether it shares a word with the query, as the index counts them."""
        return (self.words or 0.0) > _ROUNDING

    def _odds(self, table: dict[tuple[bool, bool], _Weights]) -> float:
        weights = table[self.words is not None, self.excess is not None]
        return (
            weights.constant
            + weights.words * math.log((self.words or 0.0) + _LEAST_COVERED)
            + weights.excess * (self.excess or 0.0)
            + weights.margin * max(-_MOST_MARGIN, min(_MOST_MARGIN, self.margin))
            + weights.named * self.is_named
        )


def weigh(
    hits: Sequence[Hit],
    full: float,
    excess: Mapping[str, float] | None,
    by_words: bool,
    beyond: Sequence[Hit] = (),
) -> list[Evidence]:
    """Return what speaks for each hit of a list.

    :param full: from `full_score`; 0 where no words were searched.
    :param excess: by the chunk that is shown, as far as it is known.
    :param beyond: hits that are not among those of the list, but were found.
    """
    every = [(hit.score - hit.bonus) / (full or 1.0) for hit in (*hits, *beyond)]
    first, second = [*sorted(every, reverse=True), 0.0, 0.0][:2]
    evidence = []
    for hit, score in zip(hits, every, strict=False):
        meaning = sum(part.weight * part.meaning for part in hit.parts)
        words = max(0.0, hit.score - hit.bonus - hit.reading - meaning)
        covered = min(words / full, _MOST_COVERED) if by_words and full else None
        near = None if excess is None else excess.get(hit.id)
        margin = score - (second if score == first else first)
        evidence.append(Evidence(covered, near, margin, bool(hit.bonus)))
    return evidence


def are_borne(evidence: Sequence[Evidence]) -> list[bool]:
    """Return which notes of a list are to be shown: none where nothing speaks for any of them."""
    if not evidence:
        return []
    best = Evidence(
        max((one.words for one in evidence if one.words is not None), default=None),
        max((one.excess for one in evidence if one.excess is not None), default=None),
        0.0,
        any(one.is_named for one in evidence),
    )
    if best.presence() < 0:
        # A text that has no embedding yet is found by its words alone, however far others are.
        return [one.excess is None and one.has_words for one in evidence]
    return [at == 0 or one.presence() >= -_TAIL for at, one in enumerate(evidence)]


def excess_of(
    store: BaseDocumentStore, retrieval: Retrieval, vectors: Mapping[str, list[list[float]]]
) -> dict[str, float] | None:
    """Return how near the chunks of loaded hits are in meaning, by id, beyond what a foreign
    library has; `None` where nobody can tell.

    :param vectors: of the sentences of each.
    """
    embedding, background = retrieval.query.embedding, retrieval.query.background
    embedded = read_embedded(store.manifest())
    if background is None or embedding is None or embedded is None:
        return None
    many, few = (math.sqrt(2.0 * math.log(max(1, n))) for n in (_MANY, embedded.embedded))
    ease = _DEVIATION * max(0.0, many - few)
    texts = {document.id: document.content or "" for document in retrieval.documents}
    return {k: background.excess(embedding, rows, texts[k]) + ease for k, rows in vectors.items()}
