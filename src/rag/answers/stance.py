"""Whether a clause says yes or no: negation, words of opposite meaning, comparisons.

A stance has three parts. *Axes* are pairs of opposite words, such as "allowed" and "prohibited";
on each the clause stands at one pole, and a negation turns it round. *Negative* is the clause as a
whole, for what stands on no axis: "does not fly". *Poles* are opposites that a negation leaves
alone: longer and shorter, free and paid.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from rag.answers.opposites import AXES, NEGATION, PERIODS, POLES, READ_AS, SUPERLATIVE, WITHOUT

_READ_AS = tuple((re.compile(pattern), instead) for pattern, instead in READ_AS)
_MAY_BE_READ = re.compile(
    r"\b(?:no|not|never|free|without|need|costs?)\b|n't\b|な[いくけ]|ねば|[てで][はも]|のみな|かもし|しか"
)
_NEGATION, _WITHOUT, _SUPERLATIVE = map(re.compile, (NEGATION, WITHOUT, SUPERLATIVE))


def _compiled(table: dict[str, tuple[str, str]]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (name, re.compile(f"(?P<plus>{plus})|(?P<minus>{minus})"))
        for name, (plus, minus) in table.items()
    )


_AXIS_WORDS, _POLE_WORDS = _compiled(AXES), _compiled(POLES)
_PERIOD_WORDS = tuple((name, re.compile(pattern)) for name, pattern in PERIODS.items())
# The words that only make a clause a yes or a no; those of "there" say what it is about, too.
_SAYS_HOW = re.compile(
    "|".join(
        (
            *(words for name in AXES if name != "there" for words in AXES[name]),
            *PERIODS.values(),
            NEGATION,
            r"\b(?:gratis|no|without|yes)\b|[無有]料|無償",
        )
    )
)


@dataclass(frozen=True, slots=True)
class Stance:
    """What a clause says yes and no to.

    :param axes: 1 or -1 by axis, negation included.
    :param negative: whether the clause as a whole is negative.
    :param poles: 1 or -1 by pole.
    :param without: groups of words that are said to be missing.
    :param periods: "day", "week" … where something is per day or per week.
    """

    axes: dict[str, int]
    negative: bool
    poles: dict[str, int]
    without: tuple[str, ...]
    periods: frozenset[str]

    def opposes(self, other: Stance) -> bool:
        """Return whether one says what the other denies, `without` apart."""
        shared = self.axes.keys() & other.axes.keys()
        if any(self.axes[axis] != other.axes[axis] for axis in shared):
            return True
        if not shared and self.negative != other.negative:
            return True
        return bool(self.periods and other.periods and not self.periods & other.periods)

    def flips(self, other: Stance, whole: Stance) -> int:
        """Return on how many poles the two stand opposite each other.

        :param whole: the other's whole sentence, for the poles that the clause does not name.
        """
        poles = whole.poles | other.poles
        return sum(sign * poles.get(pole, 0) < 0 for pole, sign in self.poles.items())


@lru_cache(maxsize=4096)
def stance(text: str) -> Stance:
    """Return the stance of a clause in normal form (`cleaned`)."""
    text = _read(text)
    without = tuple((m["after"] or m["before"]).strip() for m in _WITHOUT.finditer(text))
    found = [
        (name, m.start(), 1 if m["plus"] is not None else -1)
        for name, words in _AXIS_WORDS
        for m in words.finditer(text)
    ]
    negations = [m.start() for m in _NEGATION.finditer(text)]
    negative = (len(negations) + sum(sign < 0 for *_, sign in found)) % 2 == 1
    turned = [_nearest(found, at, forward=text[at].isascii()) for at in negations]
    axes: dict[str, int] = {}
    for number, (name, _, sign) in enumerate(found):
        sign *= (-1) ** turned.count(number)
        axes[name] = sign if axes.get(name, sign) == sign else 0
    return Stance(
        axes={name: sign for name, sign in axes.items() if sign},
        negative=negative,
        poles={name: sign for name, words in _POLE_WORDS if (sign := _sign(words, text))},
        without=without,
        periods=frozenset(name for name, words in _PERIOD_WORDS if words.search(text)),
    )


def _nearest(found: list[tuple[str, int, int]], at: int, forward: bool) -> int:
    """Return the number of the word that a negation turns round: the next one (English) or the one
    before it; the other way where there is none. -1 without any."""
    if not found:
        return -1

    def distance(number: int) -> tuple[bool, int]:
        way = found[number][1] - at
        return (way < 0) == forward, abs(way)

    return min(range(len(found)), key=distance)


def without_stance(text: str) -> str:
    """Return a clause in normal form without the words that only make it a yes or a no."""
    text = _read(text)
    return _SAYS_HOW.sub(" ", text)


def _read(text: str) -> str:
    """Return a text with what is said in several words said in one."""
    if _MAY_BE_READ.search(text):
        for pattern, instead in _READ_AS:
            text = pattern.sub(instead, text)
    return text


def _sign(words: re.Pattern[str], text: str) -> int:
    """Return the pole that a text names; 0 where it names none or both."""
    plus = minus = False
    for found in words.finditer(text):
        if found["plus"] is not None:
            plus = True
        else:
            minus = True
    return plus - minus


def is_superlative(text: str) -> bool:
    """Return whether a text in normal form says that something is the most or best of its kind."""
    return _SUPERLATIVE.search(text) is not None
