"""The context pipeline: from a query to what a model is shown.

1. System prompts, 2. memory, 3. the steps, 4. the window: budgets, then by priority and score,
5. the format, 6. the result with its diagnostics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

from rag.context.budget import TokenBudget
from rag.context.formatters import GenericTextFormatter
from rag.context.models import ContextItem, ContextResult, SourceType
from rag.context.pipeline_run import Run, Setup
from rag.context.protocols import ContextQueryEnricher, Formatter, MemoryProvider, Tokenizer
from rag.context.steps import OnError, PipelineStep, is_async_callable
from rag.context.token_counter import TextTokenizer
from rag.query.models import QueryBundle, as_bundle
from rag.support.settings_repr import with_settings_repr

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
