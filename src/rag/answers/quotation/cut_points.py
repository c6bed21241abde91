"""Where a text can be cut so that what belongs together is not parted."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from rag.answers.quotation.units import BARE, ITEM, Kind, QuotableUnit, quotable_units
from rag.vault.frontmatter import FrontMatter
from rag.vault.markdown import Kind as LineKind
from rag.vault.markdown import Outline, outline, plain
from rag.vault.sentences import sentence_spans


def cut_points(content: str) -> list[int]:
    """Return where Markdown can be cut: behind these characters, in order, the last of them at its
    end.

    They are ends of sentences, items, rows and lines of code. None lies within a quotable unit, nor
    behind a heading, the head of a table or the first line of a fence.
    """
    lines = content.split("\n")
    found = outline(lines, FrontMatter({}, 0, ""))
    units = quotable_units(content)
    bound = _bound_lines(units, found)
    whole = _unparted_lines(units, lines, found)
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    points = []
    for start, end in sentence_spans(content):
        said = content[start:end].rstrip()
        last = start + len(said) - 1
        line = bisect_right(starts, last) - 1
        behind = content[last + 1 : starts[line + 1] - 1].strip()
        if not behind:
            parts = line in bound
        else:
            parts = line in whole or _is_announced(said, behind, line, units)
        if not parts or end == len(content):
            points.append(end)
    return points


def _bound_lines(units: Sequence[QuotableUnit], found: Outline) -> set[int]:
    """Return the lines behind which something goes on."""
    bound = {line for unit in units for line in range(unit.first, unit.last)}
    for first, last in found.fences.items():
        bound |= {first, last - 1}
    for heading in found.headings:
        bound |= {*range(heading.line, heading.last_line + 1)}
    kinds = [LineKind.BLANK, *found.kinds]
    for line, (before, kind) in enumerate(pairwise(kinds)):
        if kind == LineKind.TABLE != before:
            bound |= {line, line + 1}  # the names of the columns, and the rule below them
    return bound


def _unparted_lines(
    units: Sequence[QuotableUnit], lines: Sequence[str], found: Outline
) -> set[int]:
    """Return the lines of which nothing is cut off: all but those of running text."""

    def taken(unit: QuotableUnit) -> Iterator[int]:
        for line in range(unit.first, unit.last + 1):
            is_text = found.kinds[line] == LineKind.TEXT and not ITEM.match(lines[line])
            if (
                line > unit.first or not is_text
            ):  # it may begin in a paragraph, by its last sentence
                yield line

    return {line for unit in units if unit.kind != Kind.SENTENCE for line in taken(unit)}


def _is_announced(said: str, behind: str, line: int, units: Sequence[QuotableUnit]) -> bool:
    """Return whether a sentence goes with the next one on its line."""
    around = [unit for unit in units if unit.first <= line <= unit.last]
    if len(behind) <= BARE and any(unit.kind != Kind.SENTENCE for unit in around):
        return True  # "For example:"
    text = " ".join(plain(said).split())
    return any(
        unit.kind == Kind.SENTENCE and unit.text.startswith(text) and len(unit.text) > len(text)
        for unit in around
    )
