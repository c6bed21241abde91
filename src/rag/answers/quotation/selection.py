"""Which parts of the notes answer a question, and how sure that is."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rag.answers.quotation.evidence import Evidence, Passage, evidence
from rag.answers.quotation.question import Question
from rag.answers.quotation.units import QuotableUnit
from rag.text.tokenizer import terms


@dataclass(frozen=True)
class AnswerWeights:
    """What evidence counts for.

    :ivar units: for one unit against others, by the field of `Evidence`.
    :ivar sure: for the best unit being right, by the field; `score` is what it scores by `units`.
    :ivar bias: what that adds to.
    :ivar threshold: how sure an answer must be to be shown.
    """

    units: Mapping[str, float]
    sure: Mapping[str, float]
    bias: float
    threshold: float

    def score(self, evidence: Evidence) -> float:
        """Return how much speaks for a unit, against others of the same question."""
        return math.fsum(weight * getattr(evidence, name) for name, weight in self.units.items())

    def probability(self, evidence: Evidence) -> float:
        """Return how sure it is that a unit is right that is the best of a question, in (0, 1)."""
        score = self.score(evidence)
        total = self.bias + sum(
            weight * (score if name == "score" else getattr(evidence, name))
            for name, weight in self.sure.items()
        )
        return 1.0 / (1.0 + math.exp(-total))


WITH_MEANING = AnswerWeights(
    units={
        "near": 0.7,
        "passage_near": 0.62,
        "words": 6.82,
        "context_words": 4.42,
        "untold": -0.62,
        "fits": 1.34,
        "counts": 1.52,
        "defines": 5.86,
        "steps": 6.82,
        "several": 5.24,
        "many": -2.46,
        "rank": -0.96,
        "length": 0.19,
    },
    sure={
        "score": 0.14,
        "near": 0.11,
        "passage_near": 0.07,
        "words": 1.01,
        "absent": -1.19,
        "untold": -0.54,
        "fits": 0.35,
        "counts": 0.3,
    },
    bias=-2.06,
    threshold=0.4,
)
WORDS_ALONE = AnswerWeights(
    units={
        "words": 9.05,
        "context_words": 6.48,
        "untold": -0.51,
        "fits": 1.54,
        "counts": 1.25,
        "defines": 6.2,
        "steps": 5.26,
        "several": 5.78,
        "many": -1.82,
        "rank": -1.91,
        "length": -0.13,
    },
    sure={
        "score": 0.27,
        "words": 0.32,
        "absent": -1.76,
        "untold": -0.43,
        "fits": 0.42,
        "counts": 0.05,
    },
    bias=-1.53,
    threshold=0.33,
)


_LEAST = 3.5  # what may speak less for a further quotation than for the first
_SAME = 0.6  # of two units, the share of their terms that says that one adds nothing
_ALSO = 2  # other notes that are named for saying the same
_ROUNDING = 1e-9
_FIGURE = re.compile(r"\d+")


class Choice(NamedTuple):
    """A unit that is quoted: `passage` is the place of its passage among those it was chosen of."""

    unit: QuotableUnit
    passage: int
    evidence: Evidence
    score: float


class Chosen(NamedTuple):
    """A unit that is quoted, and those of other notes that say the same."""

    best: Choice
    also: list[Choice]


def choose(
    question: Question, passages: Sequence[Passage], most: int
) -> tuple[list[Chosen], float]:
    """Return the units that answer a question, and how sure it is that the first does.

    Further units add something: they share no line with those before, and say something else;
    they are in the order of the notes, and of their lines. There are none when it is not sure
    enough.

    :param most: how many units, but for notes that state the same property.
    """
    ranked = ranked_units(question, passages)
    if not ranked:
        return [], 0.0
    best, stated = ranked[0], ranked[0].unit.stated
    # A property has no embedding: its words alone tell how sure it is.
    weights = WORDS_ALONE if stated else weights_for(passages)
    confidence = weights.probability(best.evidence)
    if confidence < weights.threshold:
        return [], confidence
    chosen, least = [best], _held(best) - _ROUNDING
    if stated:  # of "which books are by Meadows" each note that states it is an answer
        alike = (one for one in ranked[1:] if one.unit.stated and _held(one) >= least)
        chosen += [one for one in alike if one.unit.stated and one.unit.stated.name == stated.name]
    for choice in ranked[1:]:
        if len(chosen) >= most or choice.score < best.score - _LEAST:
            break
        if stated and not choice.unit.stated:
            continue  # what the front matter states needs no sentence beside it
        if not any(
            _overlap(choice, other) or _likeness(choice, other, min) >= _SAME for other in chosen
        ):
            chosen.append(choice)
    chosen[1:] = sorted(
        chosen[1:], key=lambda one: (passages[one.passage].rank, one.passage, one.unit.first)
    )
    return [Chosen(choice, [*_also(choice, ranked, passages)]) for choice in chosen], confidence


def _held(choice: Choice) -> float:
    return choice.evidence.words + choice.evidence.context_words


def _also(
    choice: Choice, ranked: Sequence[Choice], passages: Sequence[Passage]
) -> Iterator[Choice]:
    """Yield units of other notes that state the same fact, one of each note."""
    notes = {passages[choice.passage].rank}
    for other in ranked:
        if len(notes) > _ALSO or other.score < choice.score - _LEAST:
            return
        rank = passages[other.passage].rank
        if rank not in notes and _likeness(choice, other, max) >= _SAME:
            notes.add(rank)
            yield other


def ranked_units(question: Question, passages: Sequence[Passage]) -> list[Choice]:
    """Return all units of passages, those first for which most speaks."""
    weights = weights_for(passages)
    found = [
        Choice(unit, at, one, weights.score(one))
        for at, passage in enumerate(passages)
        for unit, one in evidence(question, passage)
    ]
    return sorted(found, key=lambda choice: -choice.score)


def weights_for(passages: Sequence[Passage]) -> AnswerWeights:
    """Return what evidence counts for, with or without meaning."""
    return WITH_MEANING if any(passage.nearness for passage in passages) else WORDS_ALONE


def _overlap(one: Choice, other: Choice) -> bool:
    """Return whether two units share a line and one of them lies within the other."""
    if one.passage != other.passage:
        return False
    if one.unit.last < other.unit.first or other.unit.last < one.unit.first:
        return False
    texts = sorted((one.unit.text, other.unit.text), key=len)
    return one.unit.first != one.unit.last or texts[0] in texts[1]


def _likeness(one: Choice, other: Choice, size: Callable[[int, int], int]) -> float:
    """Return the share of their terms that two units have in common; none where figures differ,
    nor of properties, which say it of another note.

    :param size: of which of the two it is a share, by their numbers of terms.
    """
    figures = [{*_FIGURE.findall(choice.unit.text)} for choice in (one, other)]
    if one.unit.stated or other.unit.stated or figures[0] != figures[1]:
        return 0.0
    first, second = set(terms(one.unit.text)), set(terms(other.unit.text))
    return len(first & second) / max(size(len(first), len(second)), 1)
