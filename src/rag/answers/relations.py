"""How two things of a sentence stand to each other: one over the other, one before the other."""

from __future__ import annotations

import re

from rag.answers.clauses import words_of
from rag.answers.quantities import Quantity, quantities

# Which of two things is preferred, and which is more: what stands on the far side of the word.
_FAR = (
    re.compile(
        r"\b(?:over|instead of|rather than) (?P<after>(?:[\w'-]+ ?){1,3})"
        r"|(?P<before>[^\s、。はがをの]{1,12})(?:で(?:は)?なく|じゃなく|に代わり|に代えて)"
    ),
    re.compile(
        r"\bthan (?P<after>(?:[\w'-]+ ?){1,3})|(?P<before>[^\s、。はがをの]{1,12})より(?!も?後)"
    ),
)
_CHANGED = re.compile(
    r"\b(?:moved?|change[sd]?|rais(?:es?|ed)|increase[sd]?|lower(?:s|ed)|reduced?|cut|extended"
    r"|postponed|shifted|switched|went|rose|fell|grew)\b.{0,60}?\bfrom (?P<old>.{1,60}?) to "
    r"|(?P<before>[^、。はが]{1,30}?)から[^、。]{1,30}?[にへ](?:変|移|延|増|減|上|下|引き|改|切り替)"
)
_FORMERLY = re.compile(
    r"\b(?:from|was|were|original\w*|previous\w*|former\w*|old|first)\b|から|元[のは]|以前|当初|旧"
)


def count_swapped(said: str, stands: str) -> int:
    """Return how many comparisons of one sentence have the other's things the other way round.

    Both are in normal form: "A rather than B" and "B rather than A" have one.
    """
    count = 0
    for far in _FAR:
        mine, theirs = far.search(said), far.search(stands)
        if mine and theirs:
            count += _are_swapped(mine, theirs, said, stands)
    return count


def former_quantities(sentence: str) -> tuple[Quantity, ...]:
    """Return the quantities that a sentence in normal form says were changed to others."""
    changed = _CHANGED.search(sentence)
    return quantities(changed["old"] or changed["before"]) if changed else ()


def says_formerly(sentence: str) -> bool:
    """Return whether a sentence in normal form speaks of what was before."""
    return _FORMERLY.search(sentence) is not None


def _are_swapped(mine: re.Match[str], theirs: re.Match[str], said: str, stands: str) -> bool:
    """Return whether what is on the far side in one stands on the near side in the other."""
    my_far, their_far = (_far_terms(found) for found in (mine, theirs))
    if not my_far or not their_far or my_far & their_far:
        return False
    mine_all, theirs_all = (frozenset().union(*words_of(text)) for text in (said, stands))
    return bool(my_far & theirs_all) and bool(their_far & mine_all)


def _far_terms(found: re.Match[str]) -> frozenset[str]:
    words = words_of((found["after"] or found["before"]).strip())
    return frozenset().union(*words)
