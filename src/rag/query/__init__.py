"""What a query says besides its words, what else to search for, and where.

Names load on first use, since Haystack takes half a second to import.
"""

from __future__ import annotations

from rag.support.lazy_imports import lazy_names

_HOMES = {
    "rag.query.classifiers": "CallbackClassifier EmbeddingClassifier KeywordClassifier",
    "rag.query.values": "DateRange parse_date_range",
    "rag.query.metadata": "MetadataTransformer",
    "rag.query.models": "AsyncQueryTransformer ConversationTurn QueryBundle QueryClassifier"
    " QueryTransformer",
    "rag.query.llm": "LiveAsker ReplayAsker Trace",
    "rag.query.planner.names": "Catalogue StaticCatalogue",
    "rag.query.planner.llm_planner": "QueryPurpose QueryTransformationResult"
    " QueryTransformationUnit QueryTransformerFactory QueryType similarity_tool",
    "rag.query.planner.plan": "Extraction FullTransformationResult HyDEGeneration"
    " MetadataExtraction Named QueryIntent Route TimeWindow WindowName",
    "rag.query.registry": "classifier_names create_classifier create_transformer transformer_name"
    " transformer_names",
    "rag.query.router": "IntentRouter",
    "rag.query.transformers": "ContextualQueryTransformer ConversationRewriter"
    " DecompositionTransformer GeneratedText GeneratedTexts HyDETransformer MultiQueryTransformer"
    " QueryTransformPipeline StepBackTransformer HypotheticalDocuments QueryVariations"
    " RewrittenQuestions StepBackQuestions SubQuestions",
}
__all__, __getattr__, __dir__ = lazy_names(
    __name__, {home: names.split() for home, names in _HOMES.items()}
)
