"""The results of a search in the formats that other programs read."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from rag.app.notes.lines import Excerpt, line_text
from rag.cli.render.console import json_line, print_data
from rag.text.sanitize import visible

if TYPE_CHECKING:
    from rag.app.results import Result
    from rag.app.search import SearchReport

_SNIPPET = 240  # characters
_COLUMNS = (
    "rank score vault path title heading line line_start line_end tags created file text gone"
)
_ATTRIBUTES = "vault path title line line_start line_end created file"  # of a result, in XML
_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|])")
# What XML 1.0 cannot hold in any form; and what a terminal or a parser would take for something
# else, which it holds by number.
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_BY_NUMBER = re.compile("[\r\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def print_format(name: str, report: SearchReport, full: bool) -> None:
    """Print the results of a search: `jsonl`, `csv`, `md`, `xml` or `lines`.

    :param full: print whole chunks, and not snippets.
    """
    print_data("".join(_WRITERS[name](report, full)))


def _bodies(report: SearchReport, full: bool) -> Iterator[tuple[Result, str]]:
    """Yield each result, and what is shown of its text."""
    from rag.cli.render.results import snippet_text

    response = report.response
    for result, found in zip(report.results, response.results, strict=True):
        if result.context:
            body = "\n".join(result.context.lines)
        elif full:
            body = result.content
        else:
            body = snippet_text(found, response.searched, _SNIPPET).plain
        yield result, body


def _jsonl(report: SearchReport, full: bool) -> Iterator[str]:
    """Yield an object a line: the results of `--json`, each with the version of the schema."""
    for result in report.results:
        yield json_line(result) + "\n"


def _csv(report: SearchReport, full: bool) -> Iterator[str]:
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
        yield "".join(f"   > {_harmless(line)}".rstrip() + "\n" for line in body.split("\n"))
        yield "\n"


def _as_markdown(text: str) -> str:
    """Return a name as one line in which no character means anything in Markdown."""
    return _MARKDOWN.sub(r"\\\1", _harmless(" ".join(text.split())))


def _harmless(text: str) -> str:
    """Return a line in which nothing steers a terminal."""
    return _BY_NUMBER.sub("\ufffd", _xml_text(text))


def _xml(report: SearchReport, full: bool) -> Iterator[str]:
    root = ElementTree.Element("results", schema="1", query=_xml_text(report.query))
    root.set("total", str(report.total))
    for one, body in _bodies(report, full):
        element = ElementTree.SubElement(root, "result", rank=str(one.rank))
        element.set("score", f"{one.score:.6f}")
        for name in _ATTRIBUTES.split():
            element.set(name, _xml_text(str(getattr(one, name))))
        if one.gone:
            element.set("gone", "true")
        for name, values in (("heading", one.heading), ("tag", one.tags), ("text", [body])):
            for value in values:
                ElementTree.SubElement(element, name).text = _xml_text(value)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    yield _BY_NUMBER.sub(lambda found: f"&#{ord(found[0])};", text) + "\n"


def _xml_text(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


def _lines(report: SearchReport, full: bool) -> Iterator[str]:
    """Yield `path:line:text` for each hit that is there; lines around it as `path-line-text`, as
    grep does."""
    there = [
        pair
        for pair in zip(report.results, report.response.results, strict=True)
        if not pair[0].gone
    ]
    for number, (one, found) in enumerate(there):
        file = one.file.replace("\n", visible("\n"))
        if one.context and number:
            yield "--\n"
        excerpt = one.context or Excerpt(one.line, [line_text(found)])
        for line, text in enumerate(excerpt.lines, excerpt.line_start):
            mark = ":" if line == one.line else "-"
            yield f"{file}{mark}{line}{mark}{text}\n"


_WRITERS: dict[str, Callable[[SearchReport, bool], Iterator[str]]] = {
    "jsonl": _jsonl,
    "csv": _csv,
    "md": _markdown,
    "xml": _xml,
    "lines": _lines,
}
