"""The wiring: indexing, search and question answering as Haystack pipelines.

Names load on first use, since Haystack takes half a second to import.
"""

from __future__ import annotations

from rag.support.lazy_imports import lazy_names

_HOMES = {
    "rag.qa.answer": ("Answer",),
    "rag.search.results": ("QueryFilters", "SearchResponse", "SearchResult"),
    "rag.pipelines.library": (
        *("Document", "DocumentMeta", "IndexingResult"),
        "chunk_document",
        "chunk_documents",
        "index_all_vaults",
        "index_vault",
        "parse_frontmatter",
        "scan_vault",
    ),
    "rag.search.filters": ("build_qdrant_filters",),
    "rag.search.run": ("create_search_pipeline", "search"),
    "rag.indexing.pipeline": ("create_indexing_pipeline",),
    "rag.qa.pipeline": ("ask", "create_qa_pipeline"),
}
__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
