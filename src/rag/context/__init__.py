"""What a model is shown: items of context, budgets, the window, and the pipeline that fills it.

Names load on first use, since pydantic takes a tenth of a second to import.
"""

from __future__ import annotations

from rag.support.lazy_imports import lazy_names

_HOMES = {
    "rag.context.models": """
        AsyncPostProcessor AsyncReranker AsyncRetriever BudgetAllocation ContextItem
        ContextQueryEnricher ContextResult ContextWindow Formatter MemoryProvider PipelineCallback
        PipelineDiagnostics PostProcessor Reranker Retriever SourceType StepDiagnostic TextTokenizer
        TokenBudget Tokenizer""",
    "rag.context.pipeline": "ContextPipeline",
    "rag.context.steps": """
        MemoryContextEnricher PipelineStep async_postprocessor_step async_reranker_step
        async_retriever_step classified_retriever_step filter_step find_step postprocessor_step
        query_transform_step reciprocal_rank_fusion reranker_step retriever_step""",
    "rag.context.memory": "FactFile MemoryEntry MemoryManager SlidingWindowMemory",
    "rag.context.formatters": "AnthropicFormatter GenericTextFormatter OpenAIFormatter",
    "rag.exceptions": """
        ContextError FormatterError PipelineExecutionError RAGError RetrieverError StorageError
        TokenBudgetExceededError""",
    "rag.query.models": """
        AsyncQueryTransformer ConversationTurn QueryBundle QueryClassifier QueryTransformer""",
}
__all__, __getattr__, __dir__ = lazy_names(
    __name__, {home: names.split() for home, names in _HOMES.items()}
)
