"""One run of a context pipeline: the stages between the query and the result."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rag.context.budget import TokenBudget, apply_budget
from rag.context.callbacks import fire
from rag.context.models import (
    ContextItem,
    ContextResult,
    ContextWindow,
    PipelineDiagnostics,
    SourceType,
    by_priority,
)
from rag.context.protocols import ContextQueryEnricher, Formatter, MemoryProvider, Tokenizer
from rag.context.steps import Items, PipelineStep
from rag.exceptions import FormatterError, PipelineExecutionError, RAGError
from rag.query.models import QueryBundle

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Setup:
    """What a run needs of its pipeline."""

    max_tokens: int
    tokenizer: Tokenizer
    budget: TokenBudget | None
    formatter: Formatter
    memory: MemoryProvider | None
    enricher: ContextQueryEnricher | None
    system: Sequence[ContextItem]
    callbacks: Sequence[object]


class _Given:
    """What a step is given, and what it made of it."""

    def __init__(self, items: Items) -> None:
        self.items, self.made = items, items


class Run:
    """What `build` and `abuild` have in common: all but the waiting."""

    def __init__(self, setup: Setup, query: QueryBundle, found: Sequence[ContextItem]) -> None:
        self.setup, self.query = setup, query.model_copy(deep=True)  # a step may change it
        self.started = time.perf_counter()
        self.diagnostics: PipelineDiagnostics = {"steps": [], "skipped_steps": []}
        fire(self.setup.callbacks, "on_pipeline_start", query)
        self.room = self._room()
        self.items = [*setup.system, *self._remembered(), *found]

    def _room(self) -> int:
        budget = self.setup.budget
        room = self.setup.max_tokens - (budget.reserve_tokens if budget else 0)
        if room <= 0:
            raise PipelineExecutionError(
                f"the reserve leaves nothing of {self.setup.max_tokens} tokens",
                self.diagnostics,
            )
        return room

    def _remembered(self) -> Items:
        """Return what memory gives, and let it enrich the query."""
        memory, enricher = self.setup.memory, self.setup.enricher
        with self._failing("memory"):
            items = [] if memory is None else list(memory.get_context_items())
        self.diagnostics.update({"memory_items": len(items), "query_enriched": False})
        if items and enricher is not None:
            with self._failing("query_enricher"):
                text = enricher.enrich(self.query.query_str, list(items))
                if not isinstance(text, str):
                    raise TypeError(f"the enricher gave {type(text).__name__}, not a query")
            if text != self.query.query_str:
                self.query = self.query.model_copy(update={"query_str": text})
                self.diagnostics["query_enriched"] = True
        return items

    @contextmanager
    def _failing(self, stage: str) -> Iterator[None]:
        """Give an error of a stage the form that callers are told of."""
        try:
            yield
        except (RAGError, TypeError, ValueError):
            self.diagnostics["failed_step"] = stage
            raise
        except Exception as error:
            self.diagnostics["failed_step"] = stage
            raise PipelineExecutionError(
                f"{stage!r} failed", self.diagnostics, details=str(error) or type(error).__name__
            ) from error

    @contextmanager
    def step(self, step: PipelineStep) -> Iterator[_Given]:
        """Run one step, and take over what it made unless it fails."""
        fire(self.setup.callbacks, "on_step_start", step.name, self.items)
        given = _Given(list(self.items))
        started = time.perf_counter()
        try:
            with self._failing(step.name):
                yield given
        except Exception as error:
            cause = error.__cause__ if isinstance(error, PipelineExecutionError) else error
            fire(self.setup.callbacks, "on_step_error", step.name, cause or error)
            if step.on_error == "raise":
                raise
            _log.warning("step %r failed and is skipped: %s", step.name, cause or error)
            del self.diagnostics["failed_step"]
            self.diagnostics["skipped_steps"].append(step.name)
            return
        self.items = given.made
        spent = _ms_since(started)
        self.diagnostics["steps"].append(
            {"name": step.name, "items_after": len(self.items), "time_ms": spent}
        )
        fire(self.setup.callbacks, "on_step_end", step.name, self.items, spent)

    def finish(self) -> ContextResult:
        """Fill the window, format it, and tell what was done."""
        window, overflow = self._assemble()
        formatter = self.setup.formatter
        try:
            formatted, format_type = formatter.format(window), formatter.format_type
        except FormatterError:
            raise
        except Exception as error:
            name = getattr(formatter, "format_type", type(formatter).__name__)
            raise FormatterError(f"the formatter {name!r} failed", details=str(error)) from error
        result = ContextResult(
            window=window,
            formatted_output=formatted,
            format_type=format_type,
            overflow_items=overflow,
            diagnostics=self.diagnostics,
            build_time_ms=_ms_since(self.started),
        )
        fire(self.setup.callbacks, "on_pipeline_end", result)
        return result

    def _assemble(self) -> tuple[ContextWindow, Items]:
        """Share out the room; system prompts come first, even those that a step lost."""
        prompts = {item.id: item for item in self.setup.system}
        prompts |= {item.id: item for item in self.items if item.id in prompts}
        others = (item for item in self.items if item.id not in prompts)
        items = [self._counted(item) for item in [*prompts.values(), *others]]
        budget = self.setup.budget
        window = ContextWindow(max_tokens=self.room)
        kept, over = apply_budget(budget, items, self.room, prompts) if budget else (items, [])
        overflow = by_priority([*over, *window.add_items_by_priority(kept)])
        usage = _tokens_by_source(window.items)
        self.diagnostics.update(
            {
                "total_items_considered": len(items),
                "items_included": len(window),
                "items_overflow": len(overflow),
                "token_utilization": window.utilization,
                "token_usage_by_source": usage,
                "shared_pool_usage": sum(
                    tokens
                    for source, tokens in usage.items()
                    if not (budget and budget.is_capped(SourceType(source)))
                ),
                "budget_overflow_by_source": dict(Counter(str(item.source) for item in over)),
            }
        )
        return window, overflow

    def _counted(self, item: ContextItem) -> ContextItem:
        if item.token_count:
            return item
        count = self.setup.tokenizer.count_tokens(item.content)
        return item.model_copy(update={"token_count": count}) if count > 0 else item


def _tokens_by_source(items: Items) -> dict[str, int]:
    usage: Counter[str] = Counter()
    for item in items:
        usage[str(item.source)] += item.token_count
    return dict(usage)


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
