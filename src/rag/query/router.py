"""The intent router, under the name that its contract gives it."""

from __future__ import annotations

from rag.query.planner.intent_router import ROUTERS, IntentRouter

__all__ = ["ROUTERS", "IntentRouter"]
