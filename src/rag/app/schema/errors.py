"""Errors in schema 1."""

from __future__ import annotations

from typing import Any

from rag.exceptions import RAGError


def error_to_json(error: RAGError) -> dict[str, str]:
    """Return an error as schema 1 has it."""
    return {"kind": error.kind, "message": str(error), "hint": error.hint}


def report_to_json(error: RAGError) -> dict[str, Any]:
    """Return an error that ended a request; what is near is named beside it."""
    suggestions = getattr(error, "suggestions", None)
    near = {"suggestions": suggestions} if suggestions else {}
    return {"error": {**error_to_json(error), **near}}
