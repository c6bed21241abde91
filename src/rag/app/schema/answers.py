"""Answers in schema 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag.app.schema.errors import error_to_json
from rag.app.schema.plans import plan_to_json
from rag.app.schema.results import result_to_json
from rag.app.schema.variants import variants_to_json

if TYPE_CHECKING:
    from rag.app.ask import AnswerReport
    from rag.qa.answer import Answer, NotesAnswer
    from rag.qa.context_report import ShownItem


def report_to_json(report: AnswerReport) -> dict[str, Any]:
    """Return an answer, its plan and its index as schema 1 has them."""
    answer, asked = report.answer, report.request
    return {
        "question": asked.question,
        **answer_to_json(answer, asked.think),
        "elapsed_ms": report.milliseconds,
        "index": report.index.to_json(),
        **({"plan": plan_to_json(report.plan, answer.relaxed)} if report.plan else {}),
        **({"context": context_to_json(answer)} if asked.explain else {}),
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
            | (
                {"also": [{"source": n, "line": line} for n, line in quote.also]}
                if quote.also
                else {}
            )
            for quote in answer.quotes
        ],
        "sources": [
            {"number": number, **result_to_json(source)}
            for number, source in enumerate(answer.sources, 1)
        ],
        **({"near": [result_to_json(one) for one in answer.near]} if answer.near else {}),
        **({"notes": _notes_to_json(answer.notes, answer)} if answer.notes else {}),
        "corrections": answer.corrections,
        "notices": answer.notices,
        **variants_to_json(answer),
    }
    return found | (_work_to_json(answer, think) if answer.usage else {})


def _notes_to_json(found: NotesAnswer, answer: Answer) -> dict[str, Any]:
    """Return what was asked of the notes themselves: `counted_by` says what makes a note count."""
    return {
        "asked": found.asked,
        "count": found.count,
        "counted_by": "words" if found.words else "filters",
        "words": found.words,
        **({"any_of": found.any_of} if found.any_of else {}),
        **(
            {"date": found.day and found.day.isoformat(), "dated_by": found.dated_by or None}
            if found.asked == "last"
            else {"shown": len(answer.sources)}
        ),
    }


def _work_to_json(answer: Answer, think: bool) -> dict[str, Any]:
    failure = answer.failure
    return {
        "verified": round(answer.verified, 6),
        "sentences": answer.sentences,
        "citations": [
            {"n": c.source, "sentence": c.sentence, "supported": c.supported}
            | ({"doubt": c.doubt} if c.doubt else {})
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
        **({"added": [[*lines] for lines in item.added]} if item.added else {}),
    }
