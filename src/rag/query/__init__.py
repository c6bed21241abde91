"""What a query says besides its words, what else to search for, and where.

Names load on first use, since Haystack takes half a second to import.
"""

from __future__ import annotations

from rag.lazy import lazy_names

_HOMES = {
    "rag.query.classifiers": ("CallbackClassifier", "EmbeddingClassifier", "KeywordClassifier"),
    "rag.query.catalogue": ("Catalogue", "StaticCatalogue"),
    "rag.query.dates": ("DateRange", "parse_date_range"),
    "rag.query.generate": (
        "HypotheticalDocuments",
        "QueryVariations",
        "RewrittenQuestions",
        "StepBackQuestions",
        "SubQuestions",
    ),
    "rag.query.generated": ("GeneratedText", "GeneratedTexts"),
    "rag.query.guardrails": (
        "Allowlist",
        "DefaultTimeWindow",
        "EmptyHyDE",
        "MergeFlags",
        "RerankOverride",
        "TagExplosionCap",
    ),
    "rag.query.metadata": ("MetadataTransformer",),
    "rag.query.models": ("ConversationTurn", "QueryBundle"),
    "rag.query.normalising": ("Normaliser",),
    "rag.query.plan": (
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
    "rag.query.planner": ("QueryTransformerFactory",),
    "rag.query.protocols": ("AsyncQueryTransformer", "QueryClassifier", "QueryTransformer"),
    "rag.query.registry": (
        "classifier_names",
        "create_classifier",
        "create_transformer",
        "transformer_name",
        "transformer_names",
    ),
    "rag.query.router": ("IntentRouter",),
    "rag.query.tools": ("similarity_tool",),
    "rag.query.trace": ("LiveAsker", "ReplayAsker", "Trace"),
    "rag.query.transformation": (
        "QueryPurpose",
        "QueryTransformationResult",
        "QueryTransformationUnit",
        "QueryType",
    ),
    "rag.query.transformers": (
        "ContextualQueryTransformer",
        "ConversationRewriter",
        "DecompositionTransformer",
        "HyDETransformer",
        "MultiQueryTransformer",
        "QueryTransformPipeline",
        "StepBackTransformer",
    ),
}
__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
