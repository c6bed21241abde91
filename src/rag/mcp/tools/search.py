"""The tool `search`: notes by words and meaning, as text and as data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from rag.app.interpretation_text import interpretation_line, missing_words
from rag.app.requests import SearchRequest
from rag.mcp.arguments import ArgumentError
from rag.mcp.calls import Call
from rag.mcp.library import Library
from rag.mcp.remedies import worded
from rag.mcp.results import ToolResult, as_data, blocks_that_fit, clean, clean_line, uri_of
from rag.mcp.tools.filters import filters_of
from rag.search.matching_line import excerpt
from rag.text.messages import plural
from rag.text.sanitize import without_controls

if TYPE_CHECKING:
    from rag.app.search import SearchReport
    from rag.search.results import SearchResult

_LIMIT = 10
_SNIPPET = 300  # characters
_MOST = 500  # results that may be paged through


class Hit(NamedTuple):
    """A result, and the words that found it."""

    result: SearchResult
    searched: str


def run(library: Library, arguments: dict[str, Any], call: Call) -> ToolResult:
    """Search, and return one page of results.

    :raises ArgumentError: for a query that is none, and for a cursor of another search.
    :raises RAGError: as `Workspace.search`.
    """
    filters, limit = filters_of(arguments), arguments.get("limit", _LIMIT)
    queries = _queries(arguments)
    if not queries and filters is None:
        raise ArgumentError("give a query, queries or a filter")
    skipped = _skipped(arguments)
    reports, top_k = [], min(_MOST, skipped + limit) + 1
    with library.reader() as workspace:
        for query in queries or [""]:
            call.check()
            request = SearchRequest(
                query,
                filters,
                top_k=top_k,
                mode=arguments.get("mode"),
                plan=arguments.get("plan"),
            )
            reports.append(workspace.search(request))
        hits = _best(reports)
        page = hits[skipped : min(_MOST, skipped + limit)]
        ids = workspace.note_ids([(hit.result.vault, hit.result.file_path) for hit in page])
    found = [_to_json(hit, id_) for hit, id_ in zip(page, ids, strict=True)]
    pairs = enumerate(zip(found, page, strict=True), skipped + 1)
    blocks = blocks_that_fit(_block(rank, one, hit.result) for rank, (one, hit) in pairs)
    shown = skipped + len(blocks)
    cursor = "" if shown >= min(_MOST, len(hits)) else _cursor(arguments, shown)
    return _result(reports, queries, found[: len(blocks)], blocks, skipped, cursor)


def _queries(arguments: dict[str, Any]) -> list[str]:
    given = [arguments.get("query", ""), *arguments.get("queries", [])]
    return [*dict.fromkeys(query for query in given if query.strip())]


def _best(reports: list[SearchReport]) -> list[Hit]:
    """Return each note once, by its best result, best first; of one search in its own order."""
    best: dict[tuple[str, str], Hit] = {}
    for report in reports:
        for result in report.response.results:
            name = result.vault, result.file_path
            if name not in best or best[name].result.score < result.score:
                best[name] = Hit(result, report.response.searched)
    hits = [*best.values()]
    return hits if len(reports) == 1 else sorted(hits, key=lambda hit: -hit.result.score)


def _to_json(hit: Hit, id_: str) -> dict[str, Any]:
    result = hit.result
    content = clean(result.content)
    shown = (
        result if content == without_controls(result.content) else replace(result, content=content)
    )
    snippet = excerpt(shown, hit.searched, _SNIPPET)[0]
    made = {
        "id": id_,
        "vault": result.vault,
        "path": result.file_path,
        "title": clean_line(result.title),
        "heading": [clean_line(part) for part in result.heading if part != result.title],
        "line": result.line,
        "snippet": snippet if shown is result else clean(snippet),
        "score": round(result.score, 3),
        "uri": uri_of(result.vault, result.file_path),
    }
    return made | ({"gone": True} if result.gone else {})


def _block(rank: int, one: dict[str, Any], result: SearchResult) -> str:
    """Return a result as text: title, place, headings, tags, snippet."""
    score = f"  ({one['score']:.2f})" if one["score"] else ""
    place = clean_line(f"{one['vault']}/{one['path']}")
    more = [" › ".join(one["heading"]), " ".join(f"#{clean_line(tag)}" for tag in result.tags[:8])]
    more += [f"created {result.created[:10]}" if result.created else ""]
    more += ["its file is gone" if result.gone else ""]
    lines = [f"{rank}. {one['title']}{score}", f"   {place}:{one['line']}"]
    lines += [f"   {part}" for part in (" · ".join(filter(None, more)), one["snippet"]) if part]
    return "\n".join(lines)


def _result(
    reports: list[SearchReport],
    queries: list[str],
    found: list[dict[str, Any]],
    blocks: list[str],
    skipped: int,
    cursor: str,
) -> ToolResult:
    response, nearest = reports[0].response, [] if found else _nearest(reports)
    notices = [*dict.fromkeys(_notices(reports, queries))]
    asked = " | ".join(f'"{query[:200]}"' for query in queries) or "these filters"
    if found:
        first, last = skipped + 1, skipped + len(found)
        head = f"Results {first}-{last} for {asked}, by {response.mode} search."
        body = [head, as_data("\n".join(blocks))]
    else:
        body = [f"Nothing found for {asked}. Try other words, or fewer filters."]
    if nearest:
        body[0] = f"Nothing clearly matches {asked}. The nearest notes, most likely not meant:"
        body.append(as_data("\n".join(map(_place, nearest))))
    body += [f"Note: {notice}" for notice in notices]
    if cursor:
        body.append(f'There is more: call search with the same arguments and cursor "{cursor}".')
    structured = {
        "results": found,
        "corrections": {k: v for r in reports for k, v in r.response.corrections.items()},
        "missing": [*dict.fromkeys(word for r in reports for word in r.response.missing)],
        "notices": notices,
        **({"nearest": [*map(_place, nearest)]} if nearest else {}),
        "index": reports[0].index.to_json(),
        **({"cursor": cursor} if cursor else {}),
    }
    return ToolResult("\n".join(body), structured)


def _nearest(reports: list[SearchReport]) -> list[SearchResult]:
    """Return the notes that are named where nothing clearly matches, each once."""
    named = {(one.vault, one.file_path): one for report in reports for one in report.nearest}
    return [*named.values()]


def _place(result: SearchResult) -> str:
    """Return a note's title and where it is, on one line."""
    return clean_line(f"{result.title}  {result.vault}/{result.file_path}")


def _notices(reports: list[SearchReport], queries: list[str]) -> Iterator[str]:
    """Yield what there is to know of how it was searched, and how old the index is."""
    for query, report in zip(queries or [""], reports, strict=True):
        response = report.response
        if report.plan:
            yield clean_line(f"understood as: {interpretation_line(report.plan)}")
        for word, meant in response.corrections.items():
            yield f'searched for "{meant}": no note holds "{word}"'
        yield from missing_words(response.missing, query)
        yield from (clean_line(worded(notice))[:500] for notice in response.notices)
    if changed := reports[0].index.changed:
        yield f"{plural(changed, 'note')} changed since the index was made; `rag index` reads them"


def _skipped(arguments: dict[str, Any]) -> int:
    """Return how many results a cursor leaves out.

    :raises ArgumentError: for one that no search with these arguments gave.
    """
    cursor = arguments.get("cursor")
    if cursor is None:
        return 0
    number, _, digest = cursor.partition("-")
    if not (number.isascii() and number.isdigit() and len(number) < 4):
        raise ArgumentError("cursor is none that search gave")
    if digest != _digest(arguments):
        raise ArgumentError("cursor is of another search; give the same arguments, limit too")
    return int(number)


def _cursor(arguments: dict[str, Any], skipped: int) -> str:
    return f"{skipped}-{_digest(arguments)}"


def _digest(arguments: dict[str, Any]) -> str:
    asked = {name: value for name, value in arguments.items() if name != "cursor"}
    return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:8]
