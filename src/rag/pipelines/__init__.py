"""The wiring: indexing, search and question answering as Haystack pipelines.

Names load on first use, since Haystack takes half a second to import.
"""

from __future__ import annotations

from rag.lazy import lazy_names

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
__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
