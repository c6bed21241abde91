"""How a query can be searched."""

from __future__ import annotations

from enum import StrEnum


class SearchMode(StrEnum):
    """By words, by meaning, or both; `auto` is `hybrid` where there are embeddings."""

    AUTO = "auto"
    LEXICAL = "lexical"
    DENSE = "dense"
    HYBRID = "hybrid"
