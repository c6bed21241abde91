"""Modules of older versions, which serialised pipelines name."""

from __future__ import annotations

from rag.exceptions import UsageError

# Where older versions had the Haystack components and the stores.
_MOVED = {
    *("rag.clients.embedding", "rag.clients.generator", "rag.context.wrapping"),
    *("rag.pipelines.components", "rag.pipelines.expanding", "rag.pipelines.generation"),
    *("rag.pipelines.meaning", "rag.pipelines.quotation", "rag.pipelines.ranking"),
    *("rag.pipelines.reranking", "rag.pipelines.routing", "rag.query.transformers"),
    *("rag.qa.answer_generator", "rag.stores.retrievers"),
}


def check_moved(module: str) -> None:
    """Refuse to import a module that an older version had.

    :raises UsageError: that says what to do.
    """
    if module in _MOVED:
        raise UsageError(
            f"this pipeline was serialised by an older version of rag: {module} has moved",
            hint="Make it again with create_search_pipeline or create_qa_pipeline, and dump that.",
        )
