"""The wiring: indexing, search and question answering as Haystack pipelines.

Names load on first use, since Haystack takes half a second to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "rag.pipelines.models": (
        "Answer",
        "Document",
        "DocumentMeta",
        "IndexingResult",
        "QueryFilters",
        "SearchResponse",
        "SearchResult",
    ),
    "rag.pipelines.indexing": (
        "chunk_document",
        "chunk_documents",
        "index_all_vaults",
        "index_vault",
        "parse_frontmatter",
        "scan_vault",
    ),
    "rag.pipelines.filtering": ("build_qdrant_filters",),
    "rag.pipelines.searching": ("create_search_pipeline", "search"),
    "rag.pipelines.writing": ("create_indexing_pipeline",),
    "rag.pipelines.qa": ("ask", "create_qa_pipeline"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
