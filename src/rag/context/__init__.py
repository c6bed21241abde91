"""What a model is shown: items of context, budgets, the window, and the pipeline that fills it.

Names load on first use, since pydantic takes a tenth of a second to import and Haystack half of
one; only what wraps Haystack needs it.
"""

from __future__ import annotations

from rag.support.lazy_imports import lazy_names

_HOMES = {
    "rag.context.budget": (
        "BudgetAllocation",
        "TokenBudget",
        "default_chat_budget",
        "default_rag_budget",
        "TextTokenizer",
    ),
    "rag.context.pipeline": (
        "ContextBuilder",
        "ContextPipeline",
    ),
    "rag.context.models": (
        "PipelineCallback",
        "ContextItem",
        "ContextResult",
        "ContextWindow",
        "PipelineDiagnostics",
        "SourceType",
        "StepDiagnostic",
    ),
    "rag.context.steps": (
        "MemoryContextEnricher",
        "reciprocal_rank_fusion",
        "PipelineStep",
        "async_postprocessor_step",
        "async_reranker_step",
        "async_retriever_step",
        "classified_retriever_step",
        "filter_step",
        "postprocessor_step",
        "query_transform_step",
        "reranker_step",
        "retriever_step",
    ),
    "rag.context.memory": (
        "FactFile",
        "FactStore",
        "MemoryEntry",
        "RememberedFacts",
        "ConversationMemory",
        "MemoryManager",
        "SlidingWindowMemory",
    ),
    "rag.context.formatters": (
        "AnthropicFormatter",
        "ChatMessageFormatter",
        "GenericTextFormatter",
        "OpenAIFormatter",
    ),
    "rag.context.protocols": (
        "AsyncPostProcessor",
        "AsyncReranker",
        "AsyncRetriever",
        "ContextQueryEnricher",
        "Formatter",
        "MemoryProvider",
        "PostProcessor",
        "Reranker",
        "Retriever",
        "Tokenizer",
    ),
    "rag.context.registry": (
        "find_formatter",
        "find_step",
        "formatter_names",
        "step_names",
    ),
    "rag.context.haystack_adapters": (
        "HaystackReranker",
        "HaystackRetriever",
        "fitted_scores",
        "to_documents",
        "to_items",
    ),
    "rag.exceptions": (
        "ContextError",
        "FormatterError",
        "PipelineExecutionError",
        "RAGError",
        "RetrieverError",
        "StorageError",
        "TokenBudgetExceededError",
    ),
    "rag.query.models": (
        "AsyncQueryTransformer",
        "ConversationTurn",
        "QueryBundle",
        "QueryClassifier",
        "QueryTransformer",
    ),
}
__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
