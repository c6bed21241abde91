"""Variants of queries in schema 1."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag.qa.answer import Answer
    from rag.search.results import SearchedVariant, SearchResponse


def variants_to_json(response: SearchResponse | Answer) -> dict[str, Any]:
    """Return what schema 1 says of a query's route and variants, if it has any."""
    route = {"route": response.route} if response.route else {}
    variants = [variant_to_json(variant) for variant in response.variants]
    return {**route, **({"variants": variants} if variants else {})}


def variant_to_json(variant: SearchedVariant) -> dict[str, Any]:
    """Return a variant as schema 1 has it."""
    return {**asdict(variant), "weight": round(variant.weight, 6)}
