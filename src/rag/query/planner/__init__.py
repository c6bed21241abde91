"""Planning a query: with a chat model, by rules, and what both agree on.

Names load on first use, since Haystack takes half a second to import.
"""

from __future__ import annotations

from rag.support.lazy_imports import lazy_names

_HOMES = {
    "rag.query.metadata": ("MetadataTransformer",),
    "rag.query.planner.llm_planner": (
        "MODES",
        "Mode",
        "QueryTransformer",
        "QueryTransformerFactory",
    ),
    "rag.query.router": ("ROUTERS", "IntentRouter"),
}
__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
