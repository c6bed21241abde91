"""What a query says besides its words, what else to search for, and where.

Names load on first use, since Haystack takes half a second to import.
"""

from __future__ import annotations

from rag.lazy import lazy_names

_HOMES = {
    "rag.query.classifiers": ("CallbackClassifier", "EmbeddingClassifier", "KeywordClassifier"),
    "rag.query.dates": ("DateRange", "parse_date_range"),
    "rag.query.generate": (
        "HypotheticalDocuments",
        "QueryVariations",
        "RewrittenQuestions",
        "StepBackQuestions",
        "SubQuestions",
    ),
    "rag.query.generated": ("GeneratedText", "GeneratedTexts"),
    "rag.query.models": ("ConversationTurn", "QueryBundle"),
    "rag.query.protocols": ("AsyncQueryTransformer", "QueryClassifier", "QueryTransformer"),
    "rag.query.registry": (
        "classifier_names",
        "create_classifier",
        "create_transformer",
        "transformer_name",
        "transformer_names",
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
