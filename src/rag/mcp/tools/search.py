"""The tool `search`: notes by words and meaning, by filters alone, or lines that hold a text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING

from rag.app.interpretation_text import interpretation_line, missing_words
from rag.app.notes.matching_lines import MatchingLines, holds_text, is_task
from rag.app.requests import SearchRequest
from rag.mcp.library import Library
from rag.mcp.protocol import ArgumentError, Call
from rag.mcp.remedies import worded
from rag.mcp.results import Line, Result, clean, clean_line, clean_lines, fitting, noted
from rag.mcp.tools.filters import filters_of
from rag.search.matching_line import excerpt
from rag.text.messages import brief, plural
from rag.text.sanitize import without_controls

if TYPE_CHECKING:
    from rag.app.search import SearchReport
    from rag.mcp.requests import Search
    from rag.search.results import SearchResult

_SNIPPET = 300  # characters
_MOST = 500  # results that may be paged through
_MOST_LINES = 20  # of a note


def run(library: Library, asked: Search, call: Call) -> Result:
    """Search, and return one page of results.

    :raises ArgumentError: for a query that is none, and for a cursor of another search.
    :raises RAGError: as `Workspace.search`.
    """
    filters, skipped = filters_of(asked), _skipped(asked)
    queries = [*dict.fromkeys(one for one in (asked.query, *asked.queries) if one.strip())]
    if asked.text.strip() or asked.tasks:
        if queries or (asked.text.strip() and asked.tasks):
            raise ArgumentError("give one of query, text and tasks")
        return _lines(library, asked, skipped, call)
    if not queries and filters is None:
        raise ArgumentError("give a query, queries, text, tasks or a filter")
    reports, end = [], min(_MOST, skipped + asked.limit)
    with library.reader() as workspace:
        for query in queries or [""]:
            call.check()
            request = SearchRequest(
                query,
                filters,
                top_k=end + 1,
                mode=asked.mode or None,
                plan=asked.plan,
                order=asked.sort,
            )
            reports.append(workspace.search(request))
    hits = _best(reports, is_ranked=asked.sort in ("", "score"))
    blocks = [
        _block(number, result, searched)
        for number, (result, searched) in enumerate(hits[skipped:end], skipped + 1)
    ]
    notices = noted(_notices(reports, queries))
    named = " | ".join(f'"{brief(query, 200)}"' for query in queries) or "these filters"
    if not blocks:
        return _nothing(named, reports, notices)
    by = f", by {reports[0].response.mode} search" if queries else ""
    return _page(named + by, blocks, notices, skipped, len(hits), asked)


def _page(
    named: str, blocks: list[str], notices: str, skipped: int, total: int, asked: Search
) -> Result:
    """Return a page of results, as far as there is room, and how to go on.

    :param total: how many results are known of; one more than shown, where there are more.
    """
    kept = fitting(blocks)
    shown = skipped + len(kept)
    tail = ""
    if shown < min(_MOST, total):
        cursor = f"{shown}-{_digest(asked)}"
        tail = f'There is more: call search with the same arguments and cursor "{cursor}".'
    head = f"Results {skipped + 1}-{shown} for {named}."
    return Result(head, "\n".join(filter(None, [*kept, notices])), tail)


def _nothing(named: str, reports: list[SearchReport], notices: str) -> Result:
    """Return that nothing was found, and the nearest notes where some are."""
    nearest = {(one.vault, one.file_path): one for report in reports for one in report.nearest}
    if not nearest:
        head = f"Nothing found for {named}. Try other words, or fewer filters."
        return Result(head, notices)
    head = f"Nothing clearly matches {named}. The nearest notes, most likely not meant:"
    lines = [clean_line(f"{one.title}  {one.vault}/{one.file_path}") for one in nearest.values()]
    return Result(head, "\n".join(filter(None, [*lines, notices])))


def _best(reports: list[SearchReport], is_ranked: bool) -> list[tuple[SearchResult, str]]:
    """Return each note once, by its best result, with the words that found it: best first, but of
    one search in its own order."""
    best: dict[tuple[str, str], tuple[SearchResult, str]] = {}
    for report in reports:
        for result in report.response.results:
            name = result.vault, result.file_path
            if name not in best or best[name][0].score < result.score:
                best[name] = result, report.response.searched
    hits = [*best.values()]
    is_sorted = len(reports) == 1 or not is_ranked
    return hits if is_sorted else sorted(hits, key=lambda hit: -hit[0].score)


def _block(number: int, result: SearchResult, searched: str) -> str:
    """Return a result as text: title, place, headings, tags, snippet; a note that is only listed
    has none."""
    place = clean_line(f"{result.vault}/{result.file_path}")
    title = brief(clean_line(result.title), 200)
    facts = [" ".join(f"#{brief(clean_line(tag), 40)}" for tag in result.tags[:8])]
    facts += [f"created {result.created[:10]}" if result.created else ""]
    facts += ["its file is gone" if result.gone else ""]
    if not any(result.scores.values()):
        return " · ".join(filter(None, [f"{number}. {place}", title, *facts]))
    score = f"  ({result.score:.2f})" if round(result.score, 2) else ""
    heading = [brief(clean_line(part), 200) for part in result.heading if part != result.title]
    more = " · ".join(filter(None, [" › ".join(heading), *facts]))
    lines = [
        f"{number}. {title}{score}",
        f"   {place}:{result.line}",
        more,
        _snippet(result, searched),
    ]
    return "\n   ".join([lines[0], *filter(None, [lines[1].strip(), *lines[2:]])])


def _snippet(result: SearchResult, searched: str) -> str:
    """Return the stretch of a result's text that holds most of what was searched for."""
    content = clean(result.content)
    if content == without_controls(result.content):
        return excerpt(result, searched, _SNIPPET)[0]
    return clean(excerpt(replace(result, content=content), searched, _SNIPPET)[0])


def _notices(reports: list[SearchReport], queries: list[str]) -> Iterator[str]:
    """Yield what there is to know of how it was searched."""
    for query, report in zip(queries or [""], reports, strict=True):
        response = report.response
        if report.plan:
            yield f"understood as: {interpretation_line(report.plan)}"
        for word, meant in response.corrections.items():
            yield f'searched for "{meant}": no note holds "{word}"'
        yield from missing_words(response.missing, query)
        yield from map(worded, response.notices)


def _lines(library: Library, asked: Search, skipped: int, call: Call) -> Result:
    """Return one page of the notes that hold a text or a task, with those lines."""
    text = asked.text.strip("\n")
    test = is_task(asked.tasks) if asked.tasks else holds_text(text)
    named = f"{asked.tasks} tasks" if asked.tasks else f'lines with "{brief(text, 200)}"'
    order = "" if asked.sort == "score" else asked.sort
    found: list[MatchingLines] = []
    with library.reader() as workspace:
        for one in workspace.lines_with(test, filters_of(asked), order):
            call.check()
            found.append(one)
    if not found:
        return Result(f"Nothing found for {named}. Try a shorter text, or fewer filters.")
    page = islice(found, skipped, min(_MOST, skipped + asked.limit))
    blocks = [_lines_block(number, one) for number, one in enumerate(page, skipped + 1)]
    count = sum(len(one.lines) for one in found)
    named = f"{named}: {plural(count, 'line')} in {plural(len(found), 'note')}"
    return _page(named, blocks, "", skipped, len(found), asked)


def _lines_block(number: int, found: MatchingLines) -> str:
    """Return the matching lines of a note as text, each by itself without what instructs."""
    lines = [
        Line(at, "".join(part.text for part in clean_lines([brief(line.strip(), 300)], at)))
        for at, line in found.lines[:_MOST_LINES]
    ]
    shown = [f"   {line.number}: {line.text}" for line in lines]
    more = len(found.lines) - len(lines)
    place = clean_line(f"{found.row.vault}/{found.row.path}")
    return "\n".join([f"{number}. {place}", *shown, *([f"   … and {more} more"] if more else [])])


def _skipped(asked: Search) -> int:
    """Return how many results a cursor leaves out.

    :raises ArgumentError: for one that no search with these arguments gave.
    """
    if not asked.cursor:
        return 0
    number, _, digest = asked.cursor.partition("-")
    if not (number.isascii() and number.isdigit() and len(number) < 4):
        raise ArgumentError("cursor is none that search gave")
    if digest != _digest(asked):
        raise ArgumentError("cursor is of another search; give the same arguments, limit too")
    return int(number)


def _digest(asked: Search) -> str:
    return sha256(repr(replace(asked, cursor="")).encode()).hexdigest()[:8]
