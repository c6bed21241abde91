"""What a query says besides its words, what else to search for, and where.

Names load on first use, since Haystack takes half a second to import.
"""

from __future__ import annotations

from rag.support.lazy_imports import lazy_names

_HOMES = {
    "rag.query.classifiers": (
        "CallbackClassifier",
        "EmbeddingClassifier",
        "KeywordClassifier",
    ),
    "rag.query.planner.catalog": (
        "Catalogue",
        "StaticCatalogue",
    ),
    "rag.query.dates": (
        "DateRange",
        "parse_date_range",
    ),
    "rag.query.transforms.llm_callbacks": (
        "HypotheticalDocuments",
        "QueryVariations",
        "RewrittenQuestions",
        "StepBackQuestions",
        "SubQuestions",
    ),
    "rag.query.transforms.transformers": (
        "GeneratedText",
        "GeneratedTexts",
        "ContextualQueryTransformer",
        "ConversationRewriter",
        "DecompositionTransformer",
        "HyDETransformer",
        "MultiQueryTransformer",
        "QueryTransformPipeline",
        "StepBackTransformer",
    ),
    "rag.query.planner.guardrails": (
        "Allowlist",
        "DefaultTimeWindow",
        "EmptyHyDE",
        "MergeFlags",
        "RerankOverride",
        "TagExplosionCap",
    ),
    "rag.query.planner.query_planner": ("MetadataTransformer",),
    "rag.query.models": (
        "ConversationTurn",
        "QueryBundle",
    ),
    "rag.query.planner.rules.fields": ("Normaliser",),
    "rag.query.planner.plan": (
        "Extraction",
        "FullTransformationResult",
        "HyDEGeneration",
        "MetadataExtraction",
        "Named",
        "QueryIntent",
        "Route",
        "TimeWindow",
        "WindowName",
    ),
    "rag.query.planner.llm_planner": ("QueryTransformerFactory",),
    "rag.query.protocols": (
        "AsyncQueryTransformer",
        "QueryClassifier",
        "QueryTransformer",
    ),
    "rag.query.registry": (
        "classifier_names",
        "create_classifier",
        "create_transformer",
        "transformer_name",
        "transformer_names",
    ),
    "rag.query.planner.intent_router": ("IntentRouter",),
    "rag.query.planner.tools": ("similarity_tool",),
    "rag.query.planner.audit_log": (
        "LiveAsker",
        "ReplayAsker",
        "Trace",
    ),
    "rag.query.planner.llm_result": (
        "QueryPurpose",
        "QueryTransformationResult",
        "QueryTransformationUnit",
        "QueryType",
    ),
}
__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
