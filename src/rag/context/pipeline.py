"""The context pipeline: from a query to what a model is shown.

1. System prompts, 2. memory, 3. the steps, 4. the window: budgets, then by priority and score,
5. the format, 6. the result with its diagnostics.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage, Document

from rag.context.budget import TextTokenizer, TokenBudget, apply_budget
from rag.context.formatters import ChatMessageFormatter, GenericTextFormatter
from rag.context.haystack_adapters import to_items
from rag.context.models import (
    ContextItem,
    ContextResult,
    ContextWindow,
    PipelineDiagnostics,
    SourceType,
    by_priority,
    fire,
)
from rag.context.protocols import ContextQueryEnricher, Formatter, MemoryProvider, Tokenizer
from rag.context.steps import Items, OnError, PipelineStep, is_async_callable
from rag.exceptions import (
    FormatterError,
    PipelineExecutionError,
    RAGError,
    TokenBudgetExceededError,
)
from rag.query.models import QueryBundle, as_bundle
from rag.query.serialization import check_callable, to_serialised, with_callables
from rag.support.settings_repr import with_settings_repr

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


Function = TypeVar("Function", bound=Callable[..., Any])
T = TypeVar("T")


@with_settings_repr
class ContextPipeline:
    """Assemble context for a query.

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
        self._system: list[ContextItem] = []
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
    def system_items(self) -> list[ContextItem]:
        """The system prompts, as a copy."""
        return list(self._system)

    @property
    def budget(self) -> TokenBudget | None:
        """What each source may take."""
        return self._budget

    def add_step(self, step: PipelineStep) -> Self:
        """Add a step, to run after those that are there.

        :raises TypeError: when it is no `PipelineStep`.
        """
        self._steps.append(_checked(step, PipelineStep))
        return self

    def with_memory(self, memory: MemoryProvider) -> Self:
        """Let what `memory` remembers be part of the context.

        :raises TypeError: when it is no `MemoryProvider`.
        """
        self._memory = _checked(memory, MemoryProvider)
        return self

    def with_budget(self, budget: TokenBudget) -> Self:
        """Set what each source may take.

        :raises TypeError: when it is no `TokenBudget`.
        """
        self._budget = _checked(budget, TokenBudget)
        return self

    def with_formatter(self, formatter: Formatter) -> Self:
        """Set the format.

        :raises TypeError: when it is no `Formatter`.
        """
        self._formatter = _checked(formatter, Formatter)
        return self

    def with_query_enricher(self, enricher: ContextQueryEnricher) -> Self:
        """Let what is remembered change the query that the steps are given.

        :raises TypeError: when it is no `ContextQueryEnricher`.
        """
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
            if not callable(function):
                raise TypeError(f"a step must be a function, not {type(function).__name__}")
            if is_async_callable(function) != is_async:
                kind, other = ("sync", "async_step") if is_async else ("async", "step")
                right = "step" if is_async else "async_step"
                raise TypeError(f"{other} was given a {kind} function: use {right}")
            called = name or str(getattr(function, "__name__", type(function).__name__))
            self.add_step(PipelineStep(called, function, is_async=is_async, on_error=on_error))
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
        run = Run(self._setup(), as_bundle(query), items)
        for step in self.steps:
            with run.step(step) as given:
                given.made = step.execute(given.items, run.query)
        return run.finish()

    async def abuild(
        self, query: str | QueryBundle, items: Sequence[ContextItem] = ()
    ) -> ContextResult:
        """Assemble the context; asynchronous steps are awaited.

        :param items: as for `build`.
        :raises PipelineExecutionError: and the other errors of `build`.
        """
        run = Run(self._setup(), as_bundle(query), items)
        for step in self.steps:
            with run.step(step) as given:
                given.made = await step.aexecute(given.items, run.query)
        return run.finish()

    def _setup(self) -> Setup:
        return Setup(
            self._max_tokens,
            self._tokenizer,
            self._budget,
            self._formatter,
            self._memory,
            self._enricher,
            tuple(self._system),
            tuple(self._callbacks),
        )


def _checked(given: T, kind: type) -> T:
    """Refuse what is of another kind here, and not in the middle of a run."""
    if not isinstance(given, kind):
        raise TypeError(f"{type(given).__name__} is no {kind.__name__}")
    return given


_OUTPUTS = {"messages": list[ChatMessage], "prompt": str, "result": ContextResult}


@with_settings_repr
@component
class ContextBuilder:
    """Assemble what a generator is sent, out of a query and what was found for it.

    :param make_pipeline: makes the context pipeline, once; it is serialised by its name.
    :param with_question: let the query be the last thing that the user says; not for a pipeline
        that sees to it itself.
    """

    def __init__(
        self, make_pipeline: Callable[[], ContextPipeline], with_question: bool = True
    ) -> None:
        check_callable(make_pipeline, "make_pipeline")
        self.make_pipeline, self.with_question = make_pipeline, with_question
        self._pipeline: ContextPipeline | None = None

    @component.output_types(**_OUTPUTS)
    def run(
        self, query: QueryBundle | str, documents: list[Document] | None = None
    ) -> dict[str, Any]:
        """Return the context as chat `messages` and as one text, `prompt`; and the pipeline's own
        `result`, whatever its formatter.

        :param documents: what was found, best first; the pipeline's steps are given them.
        :raises TokenBudgetExceededError: when the question or a system prompt does not fit.
        :raises PipelineExecutionError: when a step leaves out the question.
        :raises RAGError: and the other errors of `ContextPipeline.build`.
        """
        bundle = as_bundle(query)
        asked, items = self._question(bundle), to_items(documents or [])
        return _outputs(self._made().build(bundle, [*items, *asked]), asked)

    @component.output_types(**_OUTPUTS)
    async def run_async(
        self, query: QueryBundle | str, documents: list[Document] | None = None
    ) -> dict[str, Any]:
        """`run`; steps that can wait are waited for."""
        bundle = as_bundle(query)
        asked, items = self._question(bundle), to_items(documents or [])
        return _outputs(await self._made().abuild(bundle, [*items, *asked]), asked)

    def _made(self) -> ContextPipeline:
        if self._pipeline is None:
            self._pipeline = self.make_pipeline()
        return self._pipeline

    def _question(self, query: QueryBundle) -> list[ContextItem]:
        if not self.with_question:
            return []
        user = SourceType.USER
        return [ContextItem(content=query.query_str, source=user, priority=10, score=1.0)]

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component; the callable goes by name."""
        maker = to_serialised(self.make_pipeline)
        return default_to_dict(self, make_pipeline=maker, with_question=self.with_question)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        return default_from_dict(cls, with_callables(data, "make_pipeline"))


def _outputs(result: ContextResult, asked: list[ContextItem]) -> dict[str, Any]:
    """Return the outputs; a model is not sent anything without its rules and its question."""
    ids = {item.id for item in asked}
    if any(item.source == SourceType.SYSTEM or item.id in ids for item in result.overflow_items):
        room = result.window.max_tokens
        raise TokenBudgetExceededError(
            f"the question and the system prompts do not fit into {room} tokens",
            hint="Give the context pipeline more tokens, or ask a shorter question.",
        )
    if ids - {item.id for item in result.window.items}:
        raise PipelineExecutionError("a step left out the question", result.diagnostics)
    return {
        "messages": ChatMessageFormatter().format(result.window),
        "prompt": GenericTextFormatter().format(result.window),
        "result": result,
    }
