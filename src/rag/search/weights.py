"""What ranks notes, in one place.

Only what a query asks is here: a change ranks an index again at once. What document vectors are
made of is in `rag.text.bm25`, beside `LEXICAL_VERSION`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rag.text.bm25 import FieldWeights


@dataclass(frozen=True)
class RankingWeights:
    """The weights of a search. docs/ranking.md says how they were measured.

    :param fields: what a term of a query counts for, by its field.
    :param exact: a word of the query to the letter, beside what the index counts for any of its
        forms, as a share of the word's weight. Measured: .05 to .1 ranked best.
    :param named: the same for one in a title, heading or alias, on top of that.
    :param identifier: the same for words joined by marks, such as 2.3.1.
    :param pair: two words side by side as in the query, as a share of what they tell together.
        Measured in docs/ranking.md.
    :param rarest_pair: what two words tell together at most: what one tells that a chunk in 650
        has.
    :param seam: two characters of different scripts side by side, which the index does not count.
    :param alone: in the place of both where the query is one word or identifier: more than a text
        with other forms may score for having many, so that those that hold the word come first.
    :param alone_named: for one of those in a title, heading or alias, on top of that.
    :param sections: what the first, second, … section of a note counts for. Weights of 1, .5, .25
        rank a note above a better one because it is long.
    :param meaning: what a chunk gains for being a standard deviation nearer to the query, as a
        share of what a text with all words of the query scores; `benchmarks/fusion.py` fits it.
    :param expected: what a chunk without an embedding is taken to have of that: one that shares no
        word with the query, and how much more one that scores as a text with all of them.
    :param unsaid: how many times more of it a chunk gains where no text holds a word of the query.
    :param variants: what the best find of all variants together gains, against the best of the
        query itself.
    :param kept: the best note of the query itself stays among so many, whatever its variants find.
    """

    fields: FieldWeights = field(default_factory=FieldWeights)
    exact: float = 0.1
    named: float = 0.25
    identifier: float = 0.25
    pair: float = 0.15
    rarest_pair: float = 6.5
    seam: float = 0.6
    alone: float = 1.5
    alone_named: float = 1.0
    sections: tuple[float, ...] = (1.0, 0.3, 0.1)
    meaning: float = 0.15
    expected: tuple[float, float] = (1.6, 1.2)
    unsaid: float = 10.0
    variants: float = 0.5
    kept: int = 10


WEIGHTS = RankingWeights()
