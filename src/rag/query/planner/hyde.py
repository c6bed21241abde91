"""The hypothetical note of a plan, and the query that results are ordered by, from a model."""

from __future__ import annotations

import json
from typing import Any

from rag.query.llm import document_in, line_in, object_in, same_text
from rag.query.planner.audit_log import Asker
from rag.query.planner.plan import FullTransformationResult, HyDEGeneration
from rag.query.planner.templates import build
from rag.query.syntax import plain_words
from rag.text.tokenizer import has_words

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"hyde_paragraph": {"type": "string"}, "rerank_query": {"type": "string"}},
    "required": ["hyde_paragraph", "rerank_query"],
}
_KEYS = ("hyde_paragraph", "paragraph", "document", "passage", "text")


def hypothesis(plan: FullTransformationResult, asker: Asker) -> FullTransformationResult:
    """Return the plan with what the model of the stage `hyde` wrote; `fallbacks` says why there
    is nothing of it."""
    if not has_words(plan.query):
        return plan
    if not asker.has("hyde"):
        return _without(plan, "there is no model")
    prompt = build(
        "hyde", plan.query, text=plan.text, fields=", ".join(plan.mapped_physical_columns) or "-"
    )
    asked = asker.ask("hyde", prompt, SCHEMA)
    if asked.failure:
        return _without(plan, asked.failure)
    said = object_in(asked.reply, without=prompt.code)
    paragraph = next((said[key] for key in _KEYS if isinstance(said.get(key), str)), None)
    reply = asked.reply if paragraph is None and not said else paragraph or ""
    text = document_in(reply, without=prompt.code)
    line = line_in(said.get("rerank_query"))
    rerank = plain_words(line) or plan.hyde.rerank_query
    kept = {"hyde_paragraph": text, "rerank_query": line} if text else {}
    asker.trace.keep(json.dumps(kept, ensure_ascii=False) if kept else "")
    if not text or same_text(text, plan.query) or same_text(text, plan.text):
        return _without(plan, f"{asked.model} wrote no passage")
    hyde = HyDEGeneration(hyde_paragraph=text, rerank_query=rerank, by=asked.model)
    return plan.model_copy(update={"hyde": hyde, "models": {**plan.models, "hyde": asked.model}})


def _without(plan: FullTransformationResult, why: str) -> FullTransformationResult:
    return plan.model_copy(update={"fallbacks": [*plan.fallbacks, f"hyde: {why}"]})
