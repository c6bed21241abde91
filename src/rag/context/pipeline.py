"""The context pipeline: from a query to what a model is shown.

1. System prompts, 2. memory, 3. the steps, 4. the window: budgets, then by priority and score,
5. the format, 6. the result with its diagnostics.
"""

from __future__ import annotations

import inspect
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any, Self, TypeVar

from rag.context.formatters import GenericTextFormatter
from rag.context.models import (
    ContextItem,
    ContextQueryEnricher,
    ContextResult,
    ContextWindow,
    Formatter,
    Items,
    MemoryProvider,
    PipelineDiagnostics,
    SourceType,
    TextTokenizer,
    TokenBudget,
    Tokenizer,
    by_priority,
)
from rag.context.steps import OnError, PipelineStep
from rag.exceptions import FormatterError, PipelineExecutionError, RAGError
from rag.query.models import QueryBundle, as_bundle
from rag.query.serialization import check_callable

_log = logging.getLogger(__name__)
Function = TypeVar("Function", bound=Callable[..., Any])
T = TypeVar("T")


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def _checked(given: T, kind: type) -> T:
    """Refuse what is of another kind here, and not in the middle of a run."""
    if not isinstance(given, kind):
        raise TypeError(f"{type(given).__name__} is no {kind.__name__}")
    return given


@contextmanager
def _stage(name: str, diagnostics: PipelineDiagnostics) -> Iterator[None]:
    """Name the stage that fails; what is no error of ours, `TypeError` or `ValueError` becomes a
    `PipelineExecutionError`."""
    try:
        yield
    except Exception as error:
        diagnostics["failed_step"] = name
        if isinstance(error, (RAGError, TypeError, ValueError)):
            raise
        why = str(error) or type(error).__name__
        raise PipelineExecutionError(f"{name!r} failed", diagnostics, details=why) from error


class ContextPipeline:
    """Assemble context for a query.

    The methods that add something raise `TypeError` for an object of another kind.

    :param max_tokens: how much the model reads.
    :param tokenizer: counts tokens; without it an estimate that is right for Japanese too.
    :param budget: what each source may take, and what stays free.
    :raises ValueError: when `max_tokens` is not positive.
    """

    def __init__(
        self,
        max_tokens: int = 8192,
        tokenizer: Tokenizer | None = None,
        budget: TokenBudget | None = None,
    ) -> None:
        if max_tokens <= 0:
            raise ValueError(f"max_tokens must be positive, not {max_tokens}")
        self._max_tokens = max_tokens
        self._tokenizer: Tokenizer = _checked(tokenizer or TextTokenizer(), Tokenizer)
        self._budget = budget
        self._formatter: Formatter = GenericTextFormatter()
        self._memory: MemoryProvider | None = None
        self._enricher: ContextQueryEnricher | None = None
        self._steps: list[PipelineStep] = []
        self._system: Items = []
        self._callbacks: list[object] = []

    @property
    def max_tokens(self) -> int:
        """How much the model reads, in tokens."""
        return self._max_tokens

    @property
    def formatter(self) -> Formatter:
        """What puts the window into a format."""
        return self._formatter

    @property
    def steps(self) -> list[PipelineStep]:
        """The steps, as a copy."""
        return list(self._steps)

    @property
    def system_items(self) -> Items:
        """The system prompts, as a copy."""
        return list(self._system)

    @property
    def budget(self) -> TokenBudget | None:
        """What each source may take."""
        return self._budget

    def add_step(self, step: PipelineStep) -> Self:
        """Add a step, to run after those that are there."""
        self._steps.append(_checked(step, PipelineStep))
        return self

    def with_memory(self, memory: MemoryProvider) -> Self:
        """Let what `memory` remembers be part of the context."""
        self._memory = _checked(memory, MemoryProvider)
        return self

    def with_budget(self, budget: TokenBudget) -> Self:
        """Set what each source may take."""
        self._budget = _checked(budget, TokenBudget)
        return self

    def with_formatter(self, formatter: Formatter) -> Self:
        """Set the format."""
        self._formatter = _checked(formatter, Formatter)
        return self

    def with_query_enricher(self, enricher: ContextQueryEnricher) -> Self:
        """Let what is remembered change the query that the steps are given."""
        self._enricher = _checked(enricher, ContextQueryEnricher)
        return self

    def add_system_prompt(self, content: str, priority: int = 10) -> Self:
        """Add an instruction to the model."""
        item = ContextItem(content=content, source=SourceType.SYSTEM, score=1.0, priority=priority)
        self._system.append(item)
        return self

    def add_callback(self, callback: object) -> Self:
        """Let an object watch the runs; see `PipelineCallback`."""
        self._callbacks.append(callback)
        return self

    def step(
        self, fn: Function | None = None, *, name: str | None = None, on_error: OnError = "raise"
    ) -> Any:
        """Add a function as a step: `@pipeline.step`, or `@pipeline.step(name=…, on_error=…)`.

        :raises TypeError: when the function is asynchronous, or none.
        """
        return self._decorate(fn, name, on_error, is_async=False)

    def async_step(
        self, fn: Function | None = None, *, name: str | None = None, on_error: OnError = "raise"
    ) -> Any:
        """Add an asynchronous function as a step, as `step` does.

        :raises TypeError: when the function is not asynchronous, or none.
        """
        return self._decorate(fn, name, on_error, is_async=True)

    def _decorate(
        self, fn: Function | None, name: str | None, on_error: OnError, is_async: bool
    ) -> Any:
        def register(function: Function) -> Function:
            check_callable(function, "a step")
            call = getattr(type(function), "__call__", None)  # noqa: B004  # of an object
            if any(map(inspect.iscoroutinefunction, (function, call))) != is_async:
                kind, right = ("sync", "step") if is_async else ("async", "async_step")
                raise TypeError(f"this is an {kind} function: use {right}")
            step_name = name or str(getattr(function, "__name__", type(function).__name__))
            self.add_step(PipelineStep(step_name, function, is_async, on_error))
            return function

        return register if fn is None else register(fn)

    def build(self, query: str | QueryBundle, items: Sequence[ContextItem] = ()) -> ContextResult:
        """Assemble the context.

        :param items: what was found already; the steps are given it after what is remembered.
        :raises ValueError: when `query` is neither of both.
        :raises PipelineExecutionError: when a step fails, or the reserve leaves no room.
        :raises TypeError: for an asynchronous step, and for one that gives no list.
        :raises FormatterError: when the formatter fails.
        """
        try:
            self._build(query, items, waits=False).send(None)
        except StopIteration as end:
            result: ContextResult = end.value
            return result
        raise AssertionError("a synchronous build waited")

    async def abuild(
        self, query: str | QueryBundle, items: Sequence[ContextItem] = ()
    ) -> ContextResult:
        """`build`; asynchronous steps are awaited."""
        return await self._build(query, items, waits=True)

    async def _build(
        self, query: str | QueryBundle, given: Sequence[ContextItem], waits: bool
    ) -> ContextResult:
        """Assemble the context; without `waits` nothing is awaited, and one `send` runs it all."""
        started = time.perf_counter()
        query = as_bundle(query).model_copy(deep=True)
        system = self.system_items
        diagnostics: PipelineDiagnostics = {"steps": [], "skipped_steps": []}
        self._fire("on_pipeline_start", query)
        room = self._max_tokens - (self._budget.reserve_tokens if self._budget else 0)
        if room <= 0:
            why = f"the reserve leaves nothing of {self._max_tokens} tokens"
            raise PipelineExecutionError(why, diagnostics)
        with _stage("memory", diagnostics):
            remembered = list(self._memory.get_context_items()) if self._memory is not None else []
        diagnostics.update({"memory_items": len(remembered), "query_enriched": False})
        if remembered and self._enricher is not None:
            with _stage("query_enricher", diagnostics):
                text = self._enricher.enrich(query.query_str, list(remembered))
                diagnostics["query_enriched"] = text != query.query_str
                query = QueryBundle.model_validate({**dict(query), "query_str": text})
        items = [*system, *remembered, *given]
        for step in self.steps:
            self._fire("on_step_start", step.name, list(items))
            began = time.perf_counter()
            with _stage(step.name, diagnostics):
                try:
                    run = step.aexecute if waits else step.execute
                    output: Any = run(list(items), query)
                    items = await output if waits else output
                except Exception as error:
                    self._fire("on_step_error", step.name, error)
                    if step.on_error == "raise":
                        raise
                    _log.warning("step %r failed and is skipped: %s", step.name, error)
                    diagnostics["skipped_steps"].append(step.name)
                    continue
            spent = _ms_since(began)
            diagnostics["steps"].append(
                {"name": step.name, "items_after": len(items), "time_ms": spent}
            )
            self._fire("on_step_end", step.name, list(items), spent)
        window, overflow = self._window(system, items, room, diagnostics)
        result = ContextResult(
            window=window,
            formatted_output=self._formatted(window),
            format_type=self._formatter.format_type,
            overflow_items=overflow,
            diagnostics=diagnostics,
            build_time_ms=_ms_since(started),
        )
        self._fire("on_pipeline_end", result)
        return result

    def _fire(self, event: str, *arguments: Any) -> None:
        """Call what watches for an event; what goes wrong there is logged, and breaks nothing."""
        for callback in tuple(self._callbacks):
            try:
                if method := getattr(callback, event, None):
                    method(*arguments)
            except Exception:
                _log.warning("%s of %s failed", event, type(callback).__name__, exc_info=True)

    def _window(
        self, system: Items, items: Items, room: int, diagnostics: PipelineDiagnostics
    ) -> tuple[ContextWindow, Items]:
        """Share out the room; system prompts come first, even those that a step lost, and only an
        allocation of their own refuses them."""
        prompts = {item.id: item for item in system}
        prompts |= {item.id: item for item in items if item.id in prompts}
        others = (item for item in items if item.id not in prompts)
        items = [self._counted(item) for item in [*prompts.values(), *others]]
        budget, window = self._budget, ContextWindow(max_tokens=room)
        total = budget.total_tokens - budget.reserve_tokens if budget else inf
        left = budget.caps(items) if budget else {}
        over_budget: Items = []
        no_room: Items = []
        usage: Counter[SourceType] = Counter()
        for item in by_priority(items):
            tokens = item.token_count
            is_within = item.id in prompts or window.used_tokens + tokens <= total
            if not is_within or tokens > left.get(item.source, tokens):
                over_budget.append(item)
            elif window.add_item(item):
                usage[item.source] += tokens
                if item.source in left:
                    left[item.source] -= tokens
            else:
                no_room.append(item)
        overflow = by_priority([*over_budget, *no_room])
        diagnostics.update(
            {
                "total_items_considered": len(items),
                "items_included": len(window),
                "items_overflow": len(overflow),
                "token_utilization": window.utilization,
                "token_usage_by_source": {str(source): n for source, n in usage.items()},
                "shared_pool_usage": sum(n for source, n in usage.items() if source not in left),
                "budget_overflow_by_source": dict(Counter(str(i.source) for i in over_budget)),
            }
        )
        return window, overflow

    def _counted(self, item: ContextItem) -> ContextItem:
        if item.token_count:
            return item
        count = max(self._tokenizer.count_tokens(item.content), 0)
        return item.model_copy(update={"token_count": count})

    def _formatted(self, window: ContextWindow) -> Any:
        try:
            return self._formatter.format(window)
        except RAGError:
            raise
        except Exception as error:
            name = self._formatter.format_type
            raise FormatterError(f"the formatter {name!r} failed", details=str(error)) from error
