"""Schema 1: the JSON of every report, which all front-ends return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rag.exceptions import RAGError

# A report brings what made it; who prints one has no need of the others.
if TYPE_CHECKING:
    from rag.app.ask import AnswerReport
    from rag.app.notes import NoteReport
    from rag.app.search import SearchReport
    from rag.app.status import StatusReport
    from rag.qa.answer import Answer
    from rag.qa.context_report import ShownItem
    from rag.search.planned_query import Intent
    from rag.search.results import Explanation, SearchedVariant, SearchResponse, SearchResult


def to_json(report: SearchReport | AnswerReport | NoteReport | StatusReport) -> dict[str, Any]:
    """Return a report as schema 1 has it.

    :raises TypeError: for what is no report.
    """
    write = _WRITERS.get(type(report).__name__)
    if write is None:
        raise TypeError(f"no report: {type(report).__name__}")
    return write(report)


def _search(report: SearchReport) -> dict[str, Any]:
    response = report.response
    return {
        "query": response.query,
        "mode": response.mode,
        **variants_to_json(response),
        **({"timings": response.timings} if response.timings else {}),
        "notices": response.notices,
        "corrections": response.corrections,
        "results": [
            {"rank": rank, **result_to_json(result)}
            for rank, result in enumerate(response.results, 1)
        ],
        "total": response.total,
        **({"plan": plan_to_json(report.plan, response.relaxed)} if report.plan else {}),
        "elapsed_ms": report.milliseconds,
        "index": report.index.to_json(),
    }


def _answer(report: AnswerReport) -> dict[str, Any]:
    answer, asked = report.answer, report.request
    return {
        "question": asked.question,
        **answer_to_json(answer, asked.think),
        "elapsed_ms": report.milliseconds,
        "index": report.index.to_json(),
        **({"plan": plan_to_json(report.plan, answer.relaxed)} if report.plan else {}),
        **({"context": context_to_json(answer)} if asked.explain else {}),
    }


def _note(report: NoteReport) -> dict[str, Any]:
    row = report.note.row
    return {
        "id": row.id,
        "vault": row.vault,
        "path": row.path,
        "file": str(report.note.file),
        "title": row.title,
        "aliases": row.aliases,
        "tags": row.tags,
        "created": row.created,
        "modified": row.modified,
        "links": row.links,
        "problems": row.problems,
        "line_start": report.first,
        "line_end": max(report.first, report.first + len(report.lines) - 1),
        "content": "\n".join(report.lines),
    }


def _status(report: StatusReport) -> dict[str, Any]:
    return {
        "index": {
            "path": report.path,
            "bytes": report.size,
            "notes": report.notes,
            "chunks": report.chunks,
            "indexed_at": report.indexed_at,
            "stale": None if report.changed is None else report.changed > 0,
            "changed": report.changed,
            "embedding": report.embedded.to_json() if report.embedded else None,
            "server": asdict(report.server) if report.server else None,
            "fingerprint": report.fingerprint,
        },
        "vaults": {
            vault.name: {"path": vault.path, "notes": vault.notes, "chunks": vault.chunks}
            for vault in report.vaults
        },
        "not_indexed": report.not_indexed,
        "problems": [asdict(problem) for problem in report.problems],
    }


def error_to_json(error: RAGError) -> dict[str, str]:
    """Return an error as schema 1 has it."""
    return {"kind": error.kind, "message": str(error), "hint": error.hint}


def variants_to_json(response: SearchResponse | Answer) -> dict[str, Any]:
    """Return what schema 1 says of a query's route and variants, if it has any."""
    route = {"route": response.route} if response.route else {}
    variants = [variant_to_json(variant) for variant in response.variants]
    return {**route, **({"variants": variants} if variants else {})}


def variant_to_json(variant: SearchedVariant) -> dict[str, Any]:
    """Return a variant as schema 1 has it."""
    return {**asdict(variant), "weight": round(variant.weight, 6)}


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
        "line_start": result.line_start,
        "line_end": result.line_end,
        "tags": result.tags,
        "created": result.created,
        "content": result.content,
        "duplicates": result.duplicates,
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
    return found


def plan_to_json(intent: Intent, relaxed: bool = False) -> dict[str, Any]:
    """Return an intent as schema 1 has it.

    :param relaxed: whether the filters of the plan were let go.
    """
    from rag.app.interpretation_text import understood_line

    plan = intent.plan.model_dump(mode="json", exclude={"query", "intent"})
    chosen = intent.plan.intent
    return {
        "understood": understood_line(intent),
        "route": chosen.primary_route.value,
        "route_by": chosen.by,
        "route_reason": chosen.reason,
        "narrows": intent.narrows,
        "relaxed": relaxed,
        **plan,
        "text": intent.text,
        "latency_ms": intent.milliseconds,
        "audit": intent.audit or None,
    }


def answer_to_json(answer: Answer, think: bool) -> dict[str, Any]:
    """Return an answer as schema 1 has it.

    What there is to tell of a model is in it when one was asked.
    """
    found: dict[str, Any] = {
        "answer": answer.text,
        "found": answer.found,
        "model": answer.model or None,
        "confidence": round(answer.confidence, 6),
        "quotes": [
            {"text": quote.text, "source": quote.source, "line": quote.line}
            for quote in answer.quotes
        ],
        "sources": [
            {"number": number, **result_to_json(source)}
            for number, source in enumerate(answer.sources, 1)
        ],
        "corrections": answer.corrections,
        "notices": answer.notices,
        **variants_to_json(answer),
    }
    return found | (_work_to_json(answer, think) if answer.usage else {})


def _work_to_json(answer: Answer, think: bool) -> dict[str, Any]:
    failure = answer.failure
    return {
        "verified": round(answer.verified, 6),
        "sentences": answer.sentences,
        "citations": [
            {"n": c.source, "sentence": c.sentence, "supported": c.supported}
            for c in answer.citations
        ],
        "struck": answer.struck,
        "partial": answer.partial,
        "finish_reason": answer.finish_reason,
        "usage": answer.usage,
        "timings": answer.timings,
        **({"thinking": answer.thinking} if think else {}),
        **({"error": error_to_json(failure)} if failure else {}),
    }


def context_to_json(answer: Answer) -> dict[str, Any] | None:
    """Return the `context` of schema 1; `None` when no model was asked."""
    made = answer.context
    if made is None:
        return None
    return {
        "max_tokens": made.max_tokens,
        "used_tokens": made.used_tokens,
        "window": [_item_to_json(item) for item in made.window],
        "overflow": [_item_to_json(item) for item in made.overflow],
        "usage": made.usage,
        "budgets": made.budgets,
        "steps": made.steps,
        "skipped": made.skipped,
    }


def _item_to_json(item: ShownItem) -> dict[str, Any]:
    return {
        "source": item.source,
        "priority": item.priority,
        "tokens": item.tokens,
        "label": item.label,
        "number": item.number or None,
        "cited": item.cited or None,
        "cut": item.cut,
        "why": item.why or None,
        "content": item.content,
        **({"found_by": item.found_by} if item.found_by else {}),
    }


_WRITERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "SearchReport": _search,
    "AnswerReport": _answer,
    "NoteReport": _note,
    "StatusReport": _status,
}
