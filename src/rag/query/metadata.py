"""The query planner, under the name that its contract gives it."""

from __future__ import annotations

from rag.query.planner.query_planner import MetadataTransformer

__all__ = ["MetadataTransformer"]
