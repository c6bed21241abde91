"""What the speed of this program is judged by, held against the results of peers.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Sizes = dict[str, Any]
_JUDGED, _LARGE = "10000", "50000"  # notes


@dataclass(frozen=True)
class Verdict:
    """A demand, what was measured, and whether it is met; `None` where it was not measured."""

    demanded: str
    measured: str
    met: bool | None


@dataclass(frozen=True)
class _Figure:
    """A number of the results, and what it is called."""

    size: str
    program: str
    what: str
    part: str
    unit: Callable[[float], str]

    def name(self) -> str:
        return f"{self.program} at {int(self.size):,} notes"

    def find(self, sizes: Sizes) -> float | None:
        record = sizes.get(self.size, {}).get("programs", {}).get(self.program, {})
        found = record.get(self.what, {}).get(self.part)
        return None if found is None else float(found)


def _seconds(value: float) -> str:
    return f"{value:.3g} s"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:.0f} MB"


def _search(program: str, part: str = "wall") -> _Figure:
    return _Figure(_JUDGED, program, "search", part, _seconds)


def _index(program: str, what: str, part: str) -> _Figure:
    return _Figure(_JUDGED, program, what, part, _seconds)


def _peak(size: str) -> _Figure:
    return _Figure(size, "rag", "index", "peak", _megabytes)


# demanded, the most that the ratio may be, and what is divided by what
_DEMANDS = (
    ("Warm search under 0.15 of a cold one (wall)", 0.15, _search("rag, warm"), _search("rag")),
    ("Warm search at most 0.6 of qmd's (wall)", 0.6, _search("rag, warm"), _search("qmd")),
    (
        "Warm search: 95th percentile at most twice the median",
        2.0,
        _search("rag, warm", "p95"),
        _search("rag, warm"),
    ),
    (
        "First index at most 0.6 of qmd's (CPU)",
        0.6,
        _index("rag", "index", "cpu"),
        _index("qmd", "index", "cpu"),
    ),
    (
        "Nothing changed at most 0.3 of qmd's (wall)",
        0.3,
        _index("rag", "unchanged", "wall"),
        _index("qmd", "unchanged", "wall"),
    ),
    (
        "Peak memory of the first index of 50,000 notes at most 3 times that of 10,000",
        3.0,
        _peak(_LARGE),
        _peak(_JUDGED),
    ),
)


def verdicts(sizes: Sizes) -> list[Verdict]:
    """Judge the results of all sizes; all but the last demand is about 10,000 notes."""
    return [_judge(sizes, *demand) for demand in _DEMANDS]


def _judge(sizes: Sizes, demanded: str, most: float, over: _Figure, under: _Figure) -> Verdict:
    above, below = over.find(sizes), under.find(sizes)
    if above is None or below is None:
        gone = over if above is None else under
        return Verdict(demanded, f"there is no figure of {gone.name()}", None)
    ratio = above / below
    return Verdict(
        demanded, f"{ratio:.2f} ({over.unit(above)} ÷ {under.unit(below)})", ratio <= most
    )
