"""What the evidence for an answer counts for.

The figures are what `benchmarks/answer_evidence.py` prints, which says how they are fitted: on the
half `tune` of benchmarks/questions/answers.jsonl, 80 questions that four vaults answer and 40 that
they do not, half of them Japanese, with the built-in embedding model and without any.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rag.answers.quotation.evidence import Evidence

# The evidence that tells, beside the score, how sure an answer is.
JUDGED = ("absent", "absent_names", "untold")


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
        "near": 0.74,
        "passage_near": 0.88,
        "words": 5.56,
        "context_words": 2.23,
        "beside_words": 3.64,
        "passage_words": -2.23,
        "untold": -0.68,
        "fits": 1.28,
        "defines": 3.95,
        "steps": 4.61,
        "several": 4.09,
        "many": -1.64,
        "part": -1.14,
        "asks": -3.48,
        "rank": -0.74,
        "length": 0.25,
        "opening": 0.27,
    },
    sure={
        "score": 0.21,
        "absent": -2.19,
        "absent_names": -1.8,
        "untold": -1.22,
    },
    bias=-0.71,
    threshold=0.5,
)
WORDS_ALONE = AnswerWeights(
    units={
        "words": 8.01,
        "context_words": 5.02,
        "beside_words": 5.26,
        "passage_words": -1.12,
        "untold": -0.7,
        "fits": 1.53,
        "defines": 5.57,
        "steps": 3.5,
        "several": 4.33,
        "many": -1.1,
        "part": -0.89,
        "asks": -2.04,
        "rank": -1.72,
        "length": -0.05,
        "opening": 0.29,
    },
    sure={
        "score": 0.23,
        "absent": -1.91,
        "absent_names": -0.8,
        "untold": -1.25,
    },
    bias=-0.57,
    threshold=0.4,
)
