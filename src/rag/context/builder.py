"""A context pipeline as a Haystack component."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage, Document

from rag.context.formatters import ChatMessageFormatter, GenericTextFormatter
from rag.context.haystack_adapters import to_items
from rag.context.models import ContextItem, ContextResult, SourceType
from rag.context.pipeline import ContextPipeline
from rag.exceptions import PipelineExecutionError, TokenBudgetExceededError
from rag.query.models import QueryBundle, as_bundle
from rag.query.serialization import check_callable, to_serialised, with_callables
from rag.support.settings_repr import with_settings_repr

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
