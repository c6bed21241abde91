"""Results of searches in schema 1."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rag.app.schema.plans import plan_to_json
from rag.app.schema.variants import variants_to_json

if TYPE_CHECKING:
    from rag.app.search import SearchReport
    from rag.search.results import Explanation, SearchResult


def search_to_json(report: SearchReport) -> dict[str, Any]:
    """Return the results of a search as schema 1 has them."""
    response = report.response
    return {
        "query": response.query,
        "mode": response.mode,
        **variants_to_json(response),
        **({"timings": response.timings} if response.timings else {}),
        "notices": report.notices,
        "corrections": response.corrections,
        "missing": [*response.missing],
        "results": [
            {"rank": rank, **result_to_json(result), **_context_to_json(report, rank)}
            for rank, result in enumerate(response.results, 1)
        ],
        "total": response.total,
        **({"plan": plan_to_json(report.plan, response.relaxed)} if report.plan else {}),
        "elapsed_ms": report.milliseconds,
        "index": report.index.to_json(),
    }


def results_to_json(report: SearchReport) -> list[dict[str, Any]]:
    """Return each result as an object that stands by itself: with its file."""
    return [
        {
            "schema": 1,
            "rank": rank,
            "file": str(report.index.file(result)),
            **result_to_json(result),
            **_context_to_json(report, rank),
        }
        for rank, result in enumerate(report.response.results, 1)
    ]


def _context_to_json(report: SearchReport, rank: int) -> dict[str, Any]:
    """Return the lines around a result, where they were asked for."""
    if not report.excerpts:
        return {}
    excerpt = report.excerpts[rank - 1]
    return {"context": {"line_start": excerpt.first, "lines": excerpt.lines}}


def result_to_json(result: SearchResult) -> dict[str, Any]:
    """Return a result as schema 1 has it, rank aside."""
    why = result.explanation
    explained = {"explanation": _explanation_to_json(why)} if why else {}
    found_by = {"found_by": result.found_by} if result.found_by else {}
    return {
        "score": round(result.score, 6),
        "scores": {name: round(value, 6) for name, value in result.scores.items()},
        "vault": result.vault,
        "path": result.file_path,
        "title": result.title,
        "heading": result.heading,
        "line": result.line,
        "line_start": result.line_start,
        "line_end": result.line_end,
        "tags": result.tags,
        "created": result.created,
        "content": result.content,
        **({"repeated": result.repeated} if result.repeated else {}),
        "duplicates": result.duplicates,
        **({"gone": True} if result.gone else {}),
        **found_by,
        **explained,
    }


def _explanation_to_json(why: Explanation) -> dict[str, Any]:
    """What is only there with variants of the query is left out without."""
    found = asdict(why)
    if not found["kept"]:
        del found["kept"]
    for chunk in found["chunks"]:
        if not chunk["variants"]:
            del chunk["variants"]
        for term in chunk["terms"]:
            if not term["forms"]:
                del term["forms"]
    return found
