"""The formats of what commands print: `--format`, with `--json` and `--paths` as short forms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.cli.render.console import json_line, plural, print_data, print_file, say
from rag.exceptions import UsageError
from rag.text.messages import visible, visible_lines

if TYPE_CHECKING:
    from rag.app.results import Result
    from rag.app.search import SearchReport
    from rag.search.results import SearchResult

FORMATS = ("text", "table", "json", "jsonl", "csv", "md", "lines", "paths", "paths0")
NOTE_FORMATS = ("text", "json", "paths", "paths0")  # of other commands that name notes


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

    def printed(self, results: list[SearchResult]) -> list[SearchResult]:
        """Return the results that are printed: where files are named, those that are there."""
        if not (self.names_files or self.format == "lines"):
            return results
        there = [result for result in results if not result.gone]
        if len(there) < len(results) and not self.quiet:
            left = plural(len(results) - len(there), "note")
            say(f"left out {left}, gone since the last index (`rag index`)")
        return there

    def print_files(self, files: Iterable[Path]) -> None:
        """Print the file of each note."""
        for file in dict.fromkeys(files):
            print_file(file, nul=self.format == "paths0")


def chosen_output(given: Mapping[str, Any], among: tuple[str, ...] = NOTE_FORMATS) -> Output:
    """Return what is printed.

    :param given: the options by the names of their parameters, as `locals()` has them. `--json`
        goes before `--paths`, for a script that adds it.
    :raises UsageError: for a format that does not exist, or two that differ.
    """
    name = given["output_format"]
    if name not in among:
        raise UsageError(f"no format {name!r}", hint=f"Use --format {', '.join(among)}.")
    for short in ("json", "paths"):
        if given[short] and name not in ("text", "json", short):
            raise UsageError(f"--{short} is not --format {name}", hint="Leave one of the two out.")
    chosen = "json" if given["json"] or name == "json" else "paths" if given["paths"] else name
    return Output(chosen, given.get("quiet", False))


_SNIPPET = 240  # characters
_COLUMNS = (
    "rank score vault path title heading line line_start line_end tags created file text gone"
)
_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|])")


def print_format(name: str, report: SearchReport, full: bool) -> None:
    """Print the results of a search: `jsonl`, `csv`, `md` or `lines`.

    :param full: print whole chunks, and not snippets.
    """
    writers = {"jsonl": _jsonl, "csv": _csv, "md": _markdown, "lines": _lines}
    print_data("".join(writers[name](report, full)))


def _bodies(report: SearchReport, full: bool) -> Iterator[tuple[Result, str]]:
    """Yield each result, and what is shown of its text."""
    from rag.search.matching_line import excerpt

    response = report.response
    for result, found in zip(report.results, response.results, strict=True):
        if result.context:
            body = "\n".join(result.context.lines)
        else:
            body = result.content if full else excerpt(found, response.searched, _SNIPPET)[0]
        yield result, body


def _jsonl(report: SearchReport, full: bool) -> Iterator[str]:
    """Yield an object a line: the results of `--json`, each with the version of the schema."""
    for result in report.results:
        yield json_line(result) + "\n"


def _csv(report: SearchReport, full: bool) -> Iterator[str]:
    import csv
    import io

    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(_COLUMNS.split())
    for one, body in _bodies(report, full):
        writer.writerow(
            (
                *(one.rank, round(one.score, 6), one.vault, one.path, one.title),
                *(" › ".join(one.heading), one.line, one.line_start, one.line_end),
                *(" ".join(one.tags), one.created, one.file, body),
                "true" if one.gone else "",
            )
        )
    yield written.getvalue()


def _markdown(report: SearchReport, full: bool) -> Iterator[str]:
    """Yield a numbered list of links, each with its text as a quotation."""
    addresses = map(report.index.link, report.response.results)
    for (one, body), address in zip(_bodies(report, full), addresses, strict=True):
        where = " › ".join([f"{one.vault}/{one.path}:{one.line}", *one.heading[1:]])
        score = f" ({one.score:.2f})" if one.score else ""
        gone = " (gone)" if one.gone else ""
        title = _as_markdown(one.title)
        yield f"{one.rank}. [{title}]({address}){score} {_as_markdown(where)}{gone}\n\n"
        yield "".join(f"   > {visible_lines(line)}".rstrip() + "\n" for line in body.split("\n"))
        yield "\n"


def _as_markdown(text: str) -> str:
    """Return a name as one line in which no character means anything in Markdown."""
    return _MARKDOWN.sub(r"\\\1", visible(" ".join(text.split())))


def _lines(report: SearchReport, full: bool) -> Iterator[str]:
    """Yield `path:line:text` for each hit that is there; lines around it as `path-line-text`, as
    grep does."""
    from rag.app.notes.lines import Excerpt, line_text

    results = zip(report.results, report.response.results, strict=True)
    for number, (one, found) in enumerate(pair for pair in results if not pair[0].gone):
        file = one.file.replace("\n", visible("\n"))
        if one.context and number:
            yield "--\n"
        excerpt = one.context or Excerpt(one.line, [line_text(found)])
        for line, text in enumerate(excerpt.lines, excerpt.line_start):
            mark = ":" if line == one.line else "-"
            yield f"{file}{mark}{line}{mark}{text}\n"
