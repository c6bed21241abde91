"""Watching a context pipeline run."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from rag.context.models import ContextItem, ContextResult
from rag.query.models import QueryBundle

_log = logging.getLogger(__name__)


@runtime_checkable
class PipelineCallback(Protocol):
    """What can be watched; leave out what you do not need."""

    def on_pipeline_start(self, query: QueryBundle) -> None:
        """Called before anything is done."""

    def on_step_start(self, step_name: str, items: list[ContextItem]) -> None:
        """Called before each step, with the items that it is given."""

    def on_step_end(self, step_name: str, items: list[ContextItem], time_ms: float) -> None:
        """Called after each step that ran to its end, with the items that it gave."""

    def on_step_error(self, step_name: str, error: Exception) -> None:
        """Called when a step raises."""

    def on_pipeline_end(self, result: ContextResult) -> None:
        """Called when all is done."""


def fire(callbacks: Sequence[object], event: str, *arguments: Any) -> None:
    """Call what watches for an event; what goes wrong there is logged, and breaks nothing.

    Queries and lists are handed over as copies, so that nobody who watches changes a run. The
    result is the caller's own: the run is over.
    """
    for callback in callbacks:
        try:
            method = getattr(callback, event, None)
            if method is not None:
                method(*map(_copied, arguments))
        except Exception:
            _log.warning("%s of %s failed", event, type(callback).__name__, exc_info=True)


def _copied(argument: Any) -> Any:
    if isinstance(argument, QueryBundle):
        return argument.model_copy(deep=True)
    return list(argument) if isinstance(argument, list) else argument
