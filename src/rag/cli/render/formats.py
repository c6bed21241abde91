"""The formats of what commands print: `--format`, with `--json` and `--paths` as short forms."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rag.cli.render.console import json_line, print_data, say
from rag.exceptions import UsageError
from rag.text.messages import plural, visible, visible_lines

if TYPE_CHECKING:
    from rag.app.search import SearchReport
    from rag.search.results import SearchResult

    R = TypeVar("R", bound=SearchResult)

FORMATS = ("text", "table", "json", "jsonl", "csv", "md", "lines", "paths", "paths0")
NOTE_FORMATS = ("text", "json", "paths", "paths0")  # of other commands that name notes
_SNIPPET = 240  # characters
_COLUMNS = (
    "rank score vault path title heading line line_start line_end tags created file text gone page"
)


@dataclass(frozen=True)
class Output:
    """What a command prints on stdout, and whether it says less on stderr."""

    format: str
    quiet: bool = False

    @property
    def as_json(self) -> bool:
        """Whether one JSON object is printed."""
        return self.format == "json"

    @property
    def names_files(self) -> bool:
        """Whether only files are printed."""
        return self.format in ("paths", "paths0")

    @property
    def is_data(self) -> bool:
        """Whether stdout is for programs."""
        return self.format not in ("text", "table")

    def printed(self, results: list[R]) -> list[R]:
        """Return the results that are printed: where files are named, those that are there."""
        if not (self.names_files or self.format == "lines"):
            return results
        there = [result for result in results if not result.gone]
        if len(there) < len(results) and not self.quiet:
            left = plural(len(results) - len(there), "note")
            say(f"left out {left}, gone since the last index (`rag index`)")
        return there

    def print_files(self, files: Iterable[Path | str]) -> None:
        """Print the file of each note."""
        for file in dict.fromkeys(map(str, files)):
            shown = visible(file) if sys.stdout.isatty() else file
            print_data(shown, "\0" if self.format == "paths0" else "\n")


def chosen_output(given: Any, among: tuple[str, ...] = NOTE_FORMATS) -> Output:
    """Return what is printed, by the options of a command; `--json` goes before `--paths`, for a
    script that adds it.

    :raises UsageError: for a format that does not exist, or two that differ.
    """
    name, options = given.output_format, vars(given)
    if name not in among:
        raise UsageError(f"unknown format {name!r}", hint=f"Use --format {', '.join(among)}.")
    for short in ("json", "paths"):
        if options[short] and name not in ("text", "json", short):
            raise UsageError(f"--{short} is not --format {name}", hint="Leave one of the two out.")
    chosen = "json" if given.json or name == "json" else "paths" if given.paths else name
    return Output(chosen, options.get("quiet", False))


def print_format(name: str, report: SearchReport, full: bool) -> None:
    """Print the results of a search as `jsonl`, `csv`, `md` or `lines`; in `csv` and `md` snippets,
    or whole chunks."""
    if name == "jsonl":  # the results of `--json`, each with the version of the schema
        print_data("".join(json_line(result) + "\n" for result in report.results))
    else:
        written = {"csv": _csv, "md": _markdown, "lines": _lines}[name](report, full)
        print_data("".join(written))


def _csv(report: SearchReport, full: bool) -> str:
    import csv
    import io

    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(_COLUMNS.split())
    for result in report.results:
        cells = {
            **vars(result),
            "path": result.file_path,
            "score": round(result.score, 6),
            "gone": "true" if result.gone else "",
            "page": result.page or "",
        }
        cells |= {"heading": " › ".join(result.heading), "tags": " ".join(result.tags)}
        cells["text"] = _text_of(result, report, full)
        writer.writerow([cells[column] for column in _COLUMNS.split()])
    return written.getvalue()


def _markdown(report: SearchReport, full: bool) -> Iterator[str]:
    for result in report.results:
        where = " › ".join([result.place(), *result.heading[1:]])
        score = f" ({result.score:.2f})" if result.score else ""
        link = f"[{_as_markdown(result.title)}]({report.index.link(result)})"
        yield f"{result.rank}. {link}{score} {_as_markdown(where)}{' (gone)' * result.gone}\n\n"
        lines = _text_of(result, report, full).split("\n")
        yield "".join(f"   > {visible_lines(line)}".rstrip() + "\n" for line in lines) + "\n"


def _as_markdown(text: str) -> str:
    """Return a name as one line in which no character means anything in Markdown."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", visible(" ".join(text.split())))


def _text_of(result: SearchResult, report: SearchReport, full: bool) -> str:
    from rag.search.matching_line import excerpt

    if result.context:
        return "\n".join(result.context.lines)
    return result.content if full else excerpt(result, report.searched, _SNIPPET)[0]


def _lines(report: SearchReport, _full: bool) -> Iterator[str]:
    from rag.app.notes.lines import line_text
    from rag.search.results import Excerpt
    from rag.vault.markdown import page_starts

    for number, result in enumerate(result for result in report.results if not result.gone):
        file = result.file.replace("\n", visible("\n"))
        if result.context and number:
            yield "--\n"
        excerpt = result.context or Excerpt(result.line, [line_text(result)])
        starts = page_starts(excerpt.lines)
        before = bisect_right(starts, result.line - excerpt.line_start)
        for at, text in enumerate(excerpt.lines):
            line = excerpt.line_start + at
            mark = ":" if line == result.line else "-"
            # The lines of a PDF are our own: its reader, and `rag get`, go by pages.
            place = result.page + bisect_right(starts, at) - before if result.page else line
            yield f"{file}{mark}{place}{mark}{text}\n"
