"""Which results of a question are right, and what each is worth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rag.evaluation.questions import Question

RELEVANT, PARTIAL = 1.0, 0.5


class Place(NamedTuple):
    """Where a note is."""

    vault: str
    path: str

    def __str__(self) -> str:
        return f"{self.vault}/{self.path}"


class Judged(NamedTuple):
    """What a question names: its gain, and the notes that answer to the name (perhaps none)."""

    gain: float
    places: frozenset[Place]


class Judge:
    """Knows the notes of an index by the names that a question may use for them.

    :param places: vault and path (NFC) of every note that may be found.
    """

    def __init__(self, places: Iterable[tuple[str, str]]) -> None:
        self._places: dict[str, set[Place]] = {}
        for place in (Place(*pair) for pair in places):
            for name in (place.path, str(place)):
                self._places.setdefault(name, set()).add(place)

    def judged(self, question: Question) -> list[Judged]:
        """Return what a question names, the most telling first.

        Two names of one note (`a.md`, `work/a.md`) count once, with the higher gain.
        """
        found: list[Judged] = []
        seen: set[frozenset[Place]] = set()
        for gain, names in ((RELEVANT, question.relevant), (PARTIAL, question.partial)):
            for name in names:
                places = frozenset(self._places.get(name, ()))
                if places not in seen or not places:
                    found.append(Judged(gain, places))
                    seen.add(places)
        return sorted(found, key=lambda one: (-one.gain, len(one.places)))

    def knows(self, question: Question) -> bool:
        """Return whether any note that the question calls relevant can be found at all."""
        return any(name in self._places for name in question.relevant or question.partial)


def gains(results: Iterable[Place], judged: Sequence[Judged]) -> list[float]:
    """Return the gain of each result, best first: 1 relevant, 0.5 partial, 0 neither.

    A name is answered once: of two notes called `a.md`, in two vaults, the better ranked
    counts and the other gains nothing. So no ranking gains more than the ideal one.
    """
    left = list(judged)
    found = []
    for place in results:
        hit = next((one for one in left if place in one.places), None)
        if hit:
            left.remove(hit)
        found.append(hit.gain if hit else 0.0)
    return found
