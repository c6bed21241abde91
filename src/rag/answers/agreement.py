"""Whether a source says what a sentence says, and not the same words otherwise.

Each clause of the sentence is laid beside the clause of the sources that speaks most of the same,
and the two are compared:

| doubt | example: source; sentence |
|---|---|
| `number` | "lasts 5 days"; "lasts 5 hours" |
| `negation` | "pets are not allowed"; "pets are allowed" |
| `comparison` | "A is heavier than B"; "B is heavier than A" |
| `belonging` | "Ann sings, Bo plays"; "Bo sings" |
| `outdated` | "moved from 1 May to 3 May"; "it is on 1 May" |
| `unsaid` | "The market opens at 8"; "The market is abolished" |
| `question` | asked for the rent: "The deposit is 900." |

It compares words, so it is for sentences and sources of one language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import eq
from typing import Literal, NamedTuple

from rag.answers.claims import (
    Clause,
    Word,
    claims,
    count_swapped,
    former_quantities,
    holds,
    is_superlative,
    names,
    said_clauses,
    stance,
    weight,
    without_stance,
    words_of,
)
from rag.answers.quantities import Quantity
from rag.text.tokenizer import cleaned

Doubt = Literal[
    "", "number", "name", "negation", "comparison", "belonging", "outdated", "question", "unsaid"
]

_ELLIPSIS, _NEAR, _CONTEXT = 0.9, 0.4, 0.3  # what a word counts that stands beside the clause
_NUMBER = 1.25  # what a number counts that agrees
_TIE = 0.01
_SAID = 0.5  # more of a clause's words than this stand in one sentence of a source
# How many of a clause's words, and what share of them, make what is said that clause.
_VERBATIM, _VERBATIM_NAME = (5, 0.75), (3, 0.5)
_QUESTIONS = re.compile(r"(?:(?!\sand\s|[?？、;]|,\s).)+", re.DOTALL)
_MOST = 0.6  # of the words of a question, in one clause of a source
_PRONOUN = re.compile(
    r"\W*(?:it|they|this|these|that|those|he|she)\b|\W*(?:それ|これ)", re.IGNORECASE
)
_MEASURES = claims("much many long often far old big soon")
# With these an answer speaks of itself and of the notes.
FRAME = claims(
    "according accordingly based note source document information context mention state say said "
    "tell follow provide answer question ノート 記載 出典 情報 質問 回答"
)


@dataclass(frozen=True)
class Context:
    """What a sentence is said in: the words of each question that was asked, those `words` and the
    sentence's before it, and the quantities of the question, which may be repeated. More may follow
    than was asked once a sentence was borne out (`answered`)."""

    question: tuple[tuple[Word, ...], ...] = ()
    words: tuple[Word, ...] = ()
    terms: frozenset[str] = frozenset()
    quantities: tuple[Quantity, ...] = ()
    answered: bool = False


def context_of(question: str, before: str = "", answered: bool = False) -> Context:
    """Return the context of a sentence that stands behind `before` in an answer."""
    asked_for = without_stance(cleaned(question))
    asked, earlier = said_clauses(question), said_clauses(before) if before else []
    words = tuple(dict.fromkeys(word for clause in (*asked, *earlier) for word in clause.words))
    return Context(
        question=tuple(filter(None, map(words_of, _QUESTIONS.findall(asked_for)))),
        words=words,
        terms=frozenset().union(*words),
        quantities=tuple(q for clause in asked for q in clause.quantities),
        answered=answered,
    )


def doubt(claim: str, sources: Sequence[Sequence[Clause]], context: Context) -> Doubt:
    """Return why the sources do not bear a sentence out; "" when they do.

    :param claim: the sentence, without citations.
    :param sources: the clauses of each source that it names.
    """
    clauses = said_clauses(claim)
    whole = frozenset().union(*(clause.terms for clause in clauses))
    called = frozenset().union(*(claims(name) for name in names(claim)))
    spoken_of = whole
    for clause in clauses:
        comparison = _Comparison(clause, whole, called, sources, context)
        if doubt := comparison.doubt():
            return doubt
        spoken_of |= comparison.spoken_of
    if _PRONOUN.match(claim):
        return ""  # it is what the question is about
    return "question" if _is_beside_the_question(spoken_of, sources, context) else ""


def _is_beside_the_question(
    spoken_of: frozenset[str], sources: Sequence[Sequence[Clause]], context: Context
) -> bool:
    """Return whether a sentence says nothing of what was asked, of which its source speaks
    elsewhere."""
    if context.answered or not context.question:
        return False
    clauses = [clause for source in sources for clause in source]
    for question in context.question:
        asked = [word for word in question if not word & _MEASURES]
        enough = _MOST * len(asked)
        if any(holds(spoken_of, word) for word in asked) or not any(
            asked and weight(asked, clause.terms) >= enough for clause in clauses
        ):
            return False
    return True


class _Comparison:
    """One clause of an answer beside the clauses of the sources."""

    def __init__(
        self,
        claim: Clause,
        whole: frozenset[str],
        called: frozenset[str],
        sources: Sequence[Sequence[Clause]],
        context: Context,
    ) -> None:
        self._said, self._whole, self._context = claim, whole, context
        self._names = called
        self._sources = sources
        self._numbers = [q for q in claim.quantities if not q.loose]
        in_sources = frozenset().union(*(c.terms | c.soft for source in sources for c in source))
        own = frozenset().union(*(c.terms for source in sources for c in source))
        self._words = [word for word in claim.words if holds(in_sources, word) and not word & FRAME]
        if not any(holds(own, word) for word in self._words):
            # "It takes 40 minutes": what it is, was said before.
            self._words += [word for word in context.words if holds(in_sources, word)]
        self._terms = frozenset().union(*self._words)
        self.spoken_of: frozenset[str] = frozenset()

    def doubt(self) -> Doubt:
        """Compare with the best clauses; one that agrees is enough."""
        if not self._numbers and all(word & FRAME for word in self._said.words):
            return ""
        first: Doubt = ""
        for at, source in self._best():
            doubt = self._compare(source[at], source, at)
            if not doubt:
                self.spoken_of = frozenset().union(*words_of(source[at].whole))
                return ""
            first = first or doubt
        return first

    def _best(self) -> list[tuple[int, Sequence[Clause]]]:
        scored = [
            (self._score(clause, source, at), at, source)
            for source in self._sources
            for at, clause in enumerate(source)
        ]
        best = max((score for score, *_ in scored), default=0.0)
        return [(at, source) for score, at, source in scored if score >= best - _TIE]

    def _score(self, clause: Clause, source: Sequence[Clause], at: int) -> float:
        own = weight(self._words, clause.terms)
        linked = not (self._terms | self._whole).isdisjoint(clause.around | clause.soft)
        numbers = linked and any(n.agrees(q) for n in self._numbers for q in clause.quantities)
        beside = clause.around | clause.soft
        rest = [word for word in self._words if not holds(clause.terms, word)]
        counts = _NEAR if clause.unmatched(self._terms | self._context.terms) else _ELLIPSIS
        context = weight(self._context.words, clause.terms) / max(1, len(self._context.words))
        return own + _NUMBER * numbers + counts * weight(rest, beside) + _CONTEXT * context

    def _compare(self, clause: Clause, source: Sequence[Clause], at: int) -> Doubt:
        words = [word for word in self._said.words if not word & FRAME]
        held = weight(words, clause.around | clause.terms | clause.soft) + len(self._numbers)
        if len(words) > 1 and held <= _SAID * len(words):
            return "unsaid"
        if self._negates(clause):
            return "negation"
        if self._reverses(clause):
            return "comparison"
        if self._is_outdated(clause):
            return "outdated"
        if not self._has_numbers(clause, source, at):
            return "number"
        return "belonging" if self._is_borrowed(clause, source, at) else ""

    def _negates(self, clause: Clause) -> bool:
        stance, stands = self._said.stance, clause.stance
        lacking = [words_of(missing)[:1] for missing in stands.without]
        if stance.negative and any(w and holds(self._said.terms, w[0]) for w in lacking):
            return False  # "not including heating" is "without heating"
        if stance.opposes(stands):
            return True
        for mine, other in ((self._said, clause), (clause, self._said)):
            if other.stance.without or other.stance.negative:
                continue
            for missing in mine.stance.without:
                words = words_of(missing)
                if words and all(holds(other.terms, word) for word in words[:1]):
                    return True
        return False

    def _reverses(self, clause: Clause) -> bool:
        if is_superlative(self._said.text) and not is_superlative(clause.whole):
            return True
        flips = self._said.stance.flips(clause.stance, stance(clause.whole))
        flips += count_swapped(self._said.whole, clause.whole)
        return flips % 2 == 1

    def _is_outdated(self, clause: Clause) -> bool:
        """Return whether a number is said that the clause says was changed to another."""
        former = former_quantities(clause.whole)
        if not former:
            return False
        current = [q for q in clause.quantities if not any(q.agrees(f) for f in former)]
        mine = self._numbers
        return any(n.agrees(f) for n in mine for f in former) and not any(
            n.agrees(c) for n in mine for c in current
        )

    def _has_numbers(self, clause: Clause, source: Sequence[Clause], at: int) -> bool:
        """Return whether each number stands in the clause, or in one nearby that speaks of
        nothing else."""
        stands = {q.dimension for q in clause.quantities}
        asked = [
            q for q in self._context.quantities if not q.dimension or q.dimension not in stands
        ]
        pool = [*clause.quantities, *asked]
        terms = self._whole | self._terms | self._context.terms
        for near in _nearby(source, at):
            if near is clause or near.unmatched(terms):
                continue
            if all(holds(terms, word) for word in near.head):
                pool += near.quantities
        return all(any(n.agrees(q) for q in pool) for n in self._numbers)

    def _is_borrowed(self, clause: Clause, source: Sequence[Clause], at: int) -> bool:
        """Return whether a word of another clause was put in the place of one of this clause."""
        missing = [word for word in self._words if not holds(clause.terms | clause.soft, word)]
        if not missing:
            return False
        terms = self._terms
        if not any(holds(self._context.terms, word) for word in missing):
            terms |= self._context.terms  # the question is about what the sentence leaves out
        if len(self._words) == 1:
            terms |= self._whole  # "and costs 24 euros": the clause before it says what
        replaced = clause.unmatched(terms | FRAME)
        is_headed = any(not holds(terms, word) for word in clause.head)
        if replaced and self._is_substituted(clause, missing):
            return True
        for near in _nearby(source, at):
            if near is clause:
                continue
            if is_headed and any(word in near.head for word in missing):
                return True
            shared = clause.terms & near.terms
            if abs(near.sentence - clause.sentence) > 1:
                shared &= self._terms
            if (shared or near.sentence == clause.sentence) and _in_place(
                replaced, clause.words, missing, near.words
            ):
                return True
        return False

    def _is_substituted(self, clause: Clause, missing: list[Word]) -> bool:
        """Return whether so much of the clause is said word for word that what is from elsewhere
        stands where the clause has another word; a name is sooner put in a wrong place."""
        kept = len(clause.words) - len(clause.unmatched(self._terms))
        is_name = any(word & self._names for word in missing)
        words, share = _VERBATIM_NAME if is_name else _VERBATIM
        return kept >= words and kept >= share * len(clause.words)


def _nearby(source: Sequence[Clause], at: int) -> list[Clause]:
    number = source[at].sentence
    return [c for c in source[max(0, at - 12) : at + 13] if abs(c.sentence - number) <= 3]


def _in_place(
    replaced: Sequence[Word], of: Sequence[Word], missing: Sequence[Word], near: Sequence[Word]
) -> bool:
    """Return whether words stand in the same place of two clauses: first or last; in Japanese,
    which has its verb last, second too; anywhere in clauses of the same build."""
    if not of or not near:
        return False
    places = [0, -1]
    if min(len(of), len(near)) > 1 and not all(term.isascii() for term in of[1]):
        places.append(1)
    if len(of) == len(near) and any(map(eq, of, near)):
        places += range(len(of))
    return any(of[place] in replaced and near[place] in missing for place in places)


Verdict = Literal["verified", "doubtful", "unsupported"]


class Progress(NamedTuple):
    """How far an answer is that is still being written: how many sentences are whole, how many of
    them are held back, since nothing is borne out yet or most of it is not, and how many were taken
    out."""

    sentences: int = 0
    held_back: int = 0
    struck: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of an answer as it is shown, the sources it names, and whether they
    support it; `doubt` is why not, where that can be told."""

    text: str
    sources: tuple[int, ...] = ()
    supported: bool = False
    doubt: Doubt = ""

    @property
    def verdict(self) -> Verdict:
        """What a reader may think of it; it is shown as `[1]`, `[1?]` and `[no source]`."""
        if self.supported:
            return "verified"
        return "doubtful" if self.sources else "unsupported"


@dataclass
class Verification:
    """What is left of an answer.

    :param text: what may be shown; empty when no sentence is verified, or most are unsupported.
    :param order: the sources it names, by their numbers in the window; the first is `[1]`.
    :param removed: what was taken out, by kind; never the words, which nobody should read.
    :param foreign: how many sentences were taken out that name a source.
    :param refused: the model said that the notes hold no answer.
    :param unverified: it names no source, since it was shown no numbers.
    """

    text: str = ""
    claims: list[Claim] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    foreign: int = 0
    refused: bool = False
    unverified: bool = False

    @property
    def believed(self) -> bool:
        """Whether at least one sentence is verified, and no more than half are unsupported."""
        verdicts = [claim.verdict for claim in self.claims]
        unsupported = verdicts.count("unsupported") + self.foreign
        return "verified" in verdicts and 2 * unsupported <= len(verdicts) + self.foreign

    @property
    def verified(self) -> float:
        """Which share of the sentences carries one."""
        return sum(c.supported for c in self.claims) / len(self.claims) if self.claims else 0.0
