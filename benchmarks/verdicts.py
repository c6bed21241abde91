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


def _of(
    program: str, what: str, part: str, size: str = _JUDGED, unit: Callable[[float], str] = _seconds
) -> _Figure:
    return _Figure(size, program, what, part, unit)


def _peak(size: str) -> _Figure:
    return _of("rag", "index", "peak", size, _megabytes)


# demanded, the most that it may be, what, and what it is divided by, if it is a ratio
_DEMANDS: tuple[tuple[str, float, _Figure, _Figure | None], ...] = (
    (
        "Warm search at most 0.4 of qmd's (wall)",
        0.4,
        _of("rag, warm", "search", "wall"),
        _of("qmd", "search", "wall"),
    ),
    ("Cold search under 0.4 s (wall)", 0.4, _of("rag", "search", "wall"), None),
    (
        "Warm search: 95th percentile at most twice the median",
        2.0,
        _of("rag, warm", "search", "p95"),
        _of("rag, warm", "search", "wall"),
    ),
    (
        "First index at most 1.3 of qmd's (CPU)",
        1.3,
        _of("rag", "index", "cpu"),
        _of("qmd", "index", "cpu"),
    ),
    (
        "First index at most 0.7 of qmd's (wall)",
        0.7,
        _of("rag", "index", "wall"),
        _of("qmd", "index", "wall"),
    ),
    ("Peak memory of the first index at most 700 MB", 700e6, _peak(_JUDGED), None),
    ("The same of 50,000 notes at most 1,200 MB", 1200e6, _peak(_LARGE), None),
    (
        "Disk at most 1.5 of qmd's",
        1.5,
        _of("rag", "disk", "bytes", unit=_megabytes),
        _of("qmd", "disk", "bytes", unit=_megabytes),
    ),
    (
        "Nothing changed at most 0.3 of qmd's (wall)",
        0.3,
        _of("rag", "unchanged", "wall"),
        _of("qmd", "unchanged", "wall"),
    ),
    (
        "1 % changed at most what qmd takes (wall)",
        1.0,
        _of("rag", "changed", "wall"),
        _of("qmd", "changed", "wall"),
    ),
    (
        "The same of 50,000 notes at most 0.4 of qmd's",
        0.4,
        _of("rag", "changed", "wall", _LARGE),
        _of("qmd", "changed", "wall", _LARGE),
    ),
)


def verdicts(sizes: Sizes) -> list[Verdict]:
    """Judge the results of all sizes; where a demand names none, it is about 10,000 notes."""
    return [_judge(sizes, *demand) for demand in _DEMANDS]


def _judge(
    sizes: Sizes, demanded: str, most: float, over: _Figure, under: _Figure | None
) -> Verdict:
    above, below = over.find(sizes), under.find(sizes) if under else 1.0
    if above is None:
        return Verdict(demanded, f"there is no figure of {over.name()}", None)
    if under is None:
        return Verdict(demanded, over.unit(above), above <= most)
    if below is None:
        return Verdict(demanded, f"there is no figure of {under.name()}", None)
    ratio = above / below
    return Verdict(
        demanded, f"{ratio:.2f} ({over.unit(above)} ÷ {under.unit(below)})", ratio <= most
    )
