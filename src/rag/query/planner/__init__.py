"""Planning a query: with a chat model, by rules, and what both agree on.

Names load on first use, since Haystack takes half a second to import.
"""

from __future__ import annotations

from rag.support.lazy_imports import lazy_names

_HOMES = {
    "rag.query.planner.intent_router": ("ROUTERS", "IntentRouter"),
    "rag.query.planner.llm_planner": (
        "MODES",
        "Mode",
        "QueryTransformer",
        "QueryTransformerFactory",
    ),
    "rag.query.planner.query_planner": ("MetadataTransformer",),
}
__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
