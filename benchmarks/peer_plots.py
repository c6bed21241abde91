"""The plots docs/benchmarks.png and .svg: how each program grows with the number of notes."""

from __future__ import annotations

from math import log10
from pathlib import Path
from typing import Any, NamedTuple

from baselines import load

Record = dict[str, Any]

_PANELS = (  # title, part of a program's record, number in it, its unit
    ("First index: CPU, s", "index", "cpu", 1.0),
    ("Nothing changed: wall, s", "unchanged", "wall", 1.0),
    ("1 % changed: wall, s", "changed", "wall", 1.0),
    ("Search, a whole process: wall, ms", "search", "wall", 1e-3),
    ("First index: peak memory, MB", "index", "peak", 1e6),
    ("Index on disk, MB", "disk", "bytes", 1e6),
)


class _Style(NamedTuple):
    colour: str
    line: str
    marker: str


# The colours of Okabe and Ito, told apart by all eyes; forms of one program differ in their line.
_STYLES = {
    "rag": _Style("#D55E00", "-", "o"),
    "rag, warm": _Style("#D55E00", "--", "o"),
    "qmd": _Style("#000000", "-", "s"),
    "ripgrep": _Style("#7F7F7F", "-", "D"),
    "SQLite FTS5, porter": _Style("#0072B2", "-", "^"),
    "SQLite FTS5, trigram": _Style("#0072B2", "--", "^"),
    "tantivy, stemmed": _Style("#009E73", "-", "v"),
    "tantivy, bigrams": _Style("#009E73", "--", "v"),
    "bm25s, Snowball": _Style("#E69F00", "-", "P"),
    "bm25s, Sudachi": _Style("#E69F00", "--", "P"),
    "qdrant-client, local": _Style("#CC79A7", "-", "X"),
}
_GAP = 0.058  # between two labels, of a panel's height


class _Line(NamedTuple):
    name: str
    notes: list[int]
    values: list[float]


def draw(results: Record, folder: Path) -> None:
    """Write benchmarks.png and benchmarks.svg.

    :raises PeerMissing: when matplotlib is not installed.
    """
    matplotlib, figure = load("matplotlib"), load("matplotlib.figure")
    matplotlib.rcParams.update({"svg.hashsalt": "rag", "font.size": 8, "axes.titlesize": 9})
    image = figure.Figure(figsize=(13, 7.6), layout="constrained")
    image.get_layout_engine().set(wspace=0.04, hspace=0.06)
    for axes, (title, what, part, unit) in zip(image.subplots(2, 3).flat, _PANELS, strict=True):
        axes.set_title(title, loc="left", fontweight="bold")
        lines = _lines(results, what, part, unit)
        if lines:
            _panel(axes, lines, sorted(map(int, results["sizes"])))
        else:
            axes.set_axis_off()
    for kind in ("png", "svg"):
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        image.savefig(folder / f"benchmarks.{kind}", dpi=130, metadata=metadata)


def _lines(results: Record, what: str, part: str, unit: float) -> list[_Line]:
    lines = []
    for name in _STYLES:
        points = [
            (int(size), found["programs"][name][what][part] / unit)
            for size, found in results["sizes"].items()
            if what in found["programs"].get(name, {})
        ]
        if points:
            lines.append(_Line(name, [p[0] for p in points], [p[1] for p in points]))
    return lines


def _panel(axes: Any, lines: list[_Line], sizes: list[int]) -> None:
    ticker = load("matplotlib.ticker")
    axes.set(xscale="log", yscale="log", xticks=sizes, xlabel="notes")
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.grid(True, color="#DDDDDD", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    for line in lines:
        style, ours = _STYLES[line.name], line.name.startswith("rag")
        axes.plot(
            line.notes,
            line.values,
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markersize=4.5,
            linewidth=2.6 if ours else 1.3,
            zorder=3 if ours else 2,
        )
    values = [value for line in lines for value in line.values]
    room = max(1.4, (6 * min(values) / max(values)) ** 0.5)  # a panel spans a factor of 6 or more
    low, high = min(values) / room, max(values) * room
    axes.set_ylim(low, high)
    subs = (1.0, 2.0, 5.0) if log10(high / low) < 3 else (1.0,)
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=subs))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    _label(axes, lines, low, high)


def _label(axes: Any, lines: list[_Line], low: float, high: float) -> None:
    """Name each line at its right end, the names moved apart where they would meet."""
    ends = sorted((log10(line.values[-1] / low) / log10(high / low), line) for line in lines)
    heights = _apart([end for end, _ in ends])
    for height, (_, line) in zip(heights, ends, strict=True):
        axes.annotate(
            line.name,
            xy=(line.notes[-1], line.values[-1]),
            xytext=(1.05, height),
            textcoords="axes fraction",
            color=_STYLES[line.name].colour,
            fontweight="bold" if line.name.startswith("rag") else "normal",
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": _STYLES[line.name].colour,
                "linewidth": 0.5,
                "alpha": 0.6,
                "shrinkA": 1,
                "shrinkB": 4,
            },
        )


def _apart(heights: list[float]) -> list[float]:
    """Return ascending heights moved as little as needed for a gap between all neighbours."""
    # Those that touch make a block, which stands where its members would stand on average.
    blocks: list[list[float]] = []
    for height in heights:
        blocks.append([height])
        while len(blocks) > 1 and _bottom(blocks[-1]) < _top(blocks[-2]) + _GAP:
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [_bottom(block) + number * _GAP for block in blocks for number in range(len(block))]


def _bottom(block: list[float]) -> float:
    middle = sum(block) / len(block)
    return min(max(middle - _GAP * (len(block) - 1) / 2, 0.0), 1.0 - _GAP * (len(block) - 1))


def _top(block: list[float]) -> float:
    return _bottom(block) + _GAP * (len(block) - 1)
