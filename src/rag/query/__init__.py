"""What a query says besides its words, what else to search for, and where.

Names load on first use, since Haystack takes half a second to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

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
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
