"""What the evidence for an answer counts for.

The figures are what `benchmarks/answer_evidence.py` prints, which says how they are fitted: with
the built-in embedding model and without any, on 80 questions that four vaults answer and 40 that
they do not, and on 1,200 on paragraphs; half of all are Japanese.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rag.answers.quotation.evidence import Evidence

# The evidence that tells, beside the score, how sure an answer is.
JUDGED = (
    "near",
    "passage_near",
    "words",
    "absent",
    "absent_names",
    "untold",
    "fits",
    "counts",
)


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
        "before_words": 4.79,
        "after_words": 1.91,
        "untold": -0.62,
        "fits": 1.34,
        "counts": 1.52,
        "defines": 5.86,
        "steps": 6.82,
        "several": 5.24,
        "many": -2.46,
        "part": -1.6,
        "asks": -4.53,
        "rank": -0.96,
        "length": 0.19,
    },
    sure={
        "score": 0.14,
        "near": 0.11,
        "passage_near": 0.07,
        "words": 1.01,
        "absent": -1.19,
        "absent_names": -1.41,
        "untold": -0.54,
        "fits": 0.35,
        "counts": 0.3,
    },
    bias=-1.96,
    threshold=0.4,
)
WORDS_ALONE = AnswerWeights(
    units={
        "words": 9.05,
        "context_words": 6.48,
        "before_words": 4.6,
        "after_words": 1.73,
        "untold": -0.51,
        "fits": 1.54,
        "counts": 1.25,
        "defines": 6.2,
        "steps": 5.26,
        "several": 5.78,
        "many": -1.82,
        "part": -0.94,
        "asks": -3.87,
        "rank": -1.91,
        "length": -0.13,
    },
    sure={
        "score": 0.27,
        "words": 0.32,
        "absent": -1.76,
        "absent_names": -0.85,
        "untold": -0.43,
        "fits": 0.42,
        "counts": 0.05,
    },
    bias=-1.43,
    threshold=0.33,
)
