"""The steps of a context pipeline: from the items so far and the query to the items to go on with.

A step is a function; the makers below turn retrievers, rankers and the like into one.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from math import fsum, inf
from typing import Any, Literal, get_args

from rag.context.models import (
    AsyncPostProcessor,
    AsyncReranker,
    AsyncRetriever,
    ContextItem,
    Items,
    PostProcessor,
    Reranker,
    Retriever,
    SourceType,
)
from rag.exceptions import RAGError, RetrieverError
from rag.query.models import QueryBundle, QueryClassifier, QueryTransformer
from rag.query.registry import STEPS, make_plugin

RRF_K = 60

SyncStep = Callable[[Items, QueryBundle], Items]
AsyncStep = Callable[[Items, QueryBundle], Awaitable[Items]]
OnError = Literal["raise", "skip"]


def reciprocal_rank_fusion(
    lists: Sequence[Sequence[ContextItem]], k: int = RRF_K, weights: Sequence[float] | None = None
) -> Items:
    """Fuse ranked lists: an item scores Σ weight / (k + rank), ranks from 1, best item 1.0.

    Cormack, Clarke and Büttcher 2009, "Reciprocal Rank Fusion outperforms Condorcet and
    individual Rank Learning Methods". Of items with one id the first is kept; equal scores stay
    in the order of first appearance. `metadata["found_by"]` holds the numbers, from 0, of the
    lists that an item is in.

    :param weights: what each list counts for; without them all the same.
    :raises ValueError: for weights of another length, below 0 or infinite, or `k` below 0.
    """
    weights = [1.0] * len(lists) if weights is None else weights
    if len(weights) != len(lists):
        raise ValueError(f"{len(weights)} weights for {len(lists)} lists")
    if not all(0 <= weight < inf for weight in weights):
        raise ValueError(f"weights must be finite and not negative, not {list(weights)}")
    if k < 0:
        raise ValueError(f"k must not be negative, not {k}")
    first: dict[str, ContextItem] = {}
    parts: dict[str, dict[int, float]] = {}  # by item, what each list adds
    for number, (items, weight) in enumerate(zip(lists, weights, strict=True)):
        for rank, item in enumerate(items, 1):
            first.setdefault(item.id, item)
            # A list counts an item once, where it stands higher.
            parts.setdefault(item.id, {}).setdefault(number, weight / (k + rank))
    # Summed exactly: the same ranks in lists of another order are a tie.
    scores = {key: fsum(added.values()) for key, added in parts.items()}
    best = max(scores.values(), default=0.0) or 1.0
    return [
        first[key].model_copy(
            update={
                "score": scores[key] / best,
                "metadata": {**first[key].metadata, "found_by": [*parts[key]]},
            }
        )
        for key in sorted(scores, key=lambda key: -scores[key])
    ]


@dataclass(slots=True)
class PipelineStep:
    """A step.

    :param fn: takes the items so far and the query, returns the items to go on with.
    :param is_async: whether `fn` has to be awaited.
    :param on_error: `raise` ends the run; `skip` goes on with the items from before.
    :raises ValueError: for another `on_error`.
    """

    name: str
    fn: SyncStep | AsyncStep
    is_async: bool = False
    on_error: OnError = "raise"
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.on_error not in get_args(OnError):
            raise ValueError(f"on_error must be 'raise' or 'skip', not {self.on_error!r}")

    def execute(self, items: Items, query: QueryBundle) -> Items:
        """Run the step.

        :raises TypeError: when it is asynchronous, or gives something else than a list of items.
        """
        if self.is_async:
            raise TypeError(f"step {self.name!r} is asynchronous: use abuild()")
        return self._checked(self.fn(items, query))

    async def aexecute(self, items: Items, query: QueryBundle) -> Items:
        """Run the step, of either kind.

        :raises TypeError: when it gives something else than a list of items.
        """
        output = self.fn(items, query)
        return self._checked(await output if self.is_async else output)  # type: ignore[misc]

    def _checked(self, output: Any) -> Items:
        if inspect.iscoroutine(output):
            output.close()
        if not isinstance(output, list):
            raise TypeError(f"step {self.name!r} gave {type(output).__name__}, not a list")
        for item in output:
            if not isinstance(item, ContextItem):
                raise TypeError(f"step {self.name!r} gave a list with {type(item).__name__} in it")
        return output


def find_step(name: str) -> PipelineStep:
    """Make the step of a plug-in: an entry point of `rag.steps`, called without arguments.

    :param name: with `-` or `_` and in any case.
    :raises UsageError: for a name that nothing has, with the nearest ones.
    :raises RAGError: when the plug-in fails, or makes something else.
    """
    step = make_plugin(STEPS, name)
    if not isinstance(step, PipelineStep):
        other = type(step).__name__
        raise RAGError(f"the plug-in {name!r} of {STEPS} made a {other}, which is no PipelineStep")
    return step


# Those below that take a `top_k` raise `ValueError` when it is below 1.


def _check_top_k(top_k: int) -> None:
    if top_k < 1:
        raise ValueError(f"top_k must be at least 1, not {top_k}")


def retriever_step(name: str, retriever: Retriever, top_k: int = 10) -> PipelineStep:
    """Make a step that adds what a retriever finds."""
    _check_top_k(top_k)
    return PipelineStep(
        name, lambda items, query: [*items, *retriever.retrieve(query, top_k=top_k)]
    )


def async_retriever_step(name: str, retriever: AsyncRetriever, top_k: int = 10) -> PipelineStep:
    """Make a step that adds what an asynchronous retriever finds."""
    _check_top_k(top_k)

    async def retrieve(items: Items, query: QueryBundle) -> Items:
        return [*items, *await retriever.aretrieve(query, top_k=top_k)]

    return PipelineStep(name, retrieve, is_async=True)


def postprocessor_step(name: str, processor: PostProcessor) -> PipelineStep:
    """Make a step of a post-processor."""
    return PipelineStep(name, lambda items, query: processor.process(items, query))


def async_postprocessor_step(name: str, processor: AsyncPostProcessor) -> PipelineStep:
    """Make a step of an asynchronous post-processor."""
    return PipelineStep(name, lambda items, query: processor.aprocess(items, query), is_async=True)


def filter_step(name: str, predicate: Callable[[ContextItem], bool]) -> PipelineStep:
    """Make a step that keeps the items for which `predicate` holds."""
    return PipelineStep(name, lambda items, query: [item for item in items if predicate(item)])


# A reranker is asked about what was found, not about what must not be forgotten.
_NOT_RANKED = (SourceType.SYSTEM, SourceType.MEMORY, SourceType.CONVERSATION, SourceType.USER)


def _divided(items: Items) -> tuple[Items, Items]:
    kept = [item for item in items if item.source in _NOT_RANKED]
    return kept, [item for item in items if item.source not in _NOT_RANKED]


def reranker_step(name: str, reranker: Reranker, top_k: int = 10) -> PipelineStep:
    """Make a step that puts what was found into a better order and keeps the best.

    System items, memory, conversation and what the user says are not ranked; they stay, in
    front.
    """
    _check_top_k(top_k)

    def rerank(items: Items, query: QueryBundle) -> Items:
        kept, ranked = _divided(items)
        return [*kept, *reranker.rerank(query, ranked, top_k=top_k)[:top_k]]

    return PipelineStep(name, rerank)


def async_reranker_step(name: str, reranker: AsyncReranker, top_k: int = 10) -> PipelineStep:
    """Make a step of an asynchronous reranker; otherwise as `reranker_step`."""
    _check_top_k(top_k)

    async def rerank(items: Items, query: QueryBundle) -> Items:
        kept, ranked = _divided(items)
        return [*kept, *(await reranker.arerank(query, ranked, top_k=top_k))[:top_k]]

    return PipelineStep(name, rerank, is_async=True)


def query_transform_step(
    name: str, transformer: QueryTransformer, retriever: Retriever, top_k: int = 10
) -> PipelineStep:
    """Make a step that retrieves for each query a transformer makes, and adds the fused results.

    The lists are fused by `reciprocal_rank_fusion`; ids that are already there are left out. A
    transformer that makes no query leaves the one there is.

    :param top_k: how many items each query may bring.
    """
    _check_top_k(top_k)

    def retrieve(items: Items, query: QueryBundle) -> Items:
        queries = transformer.transform(query) or [query]
        fused = reciprocal_rank_fusion([retriever.retrieve(q, top_k=top_k) for q in queries])
        ids = {item.id for item in items}
        return [*items, *(item for item in fused if item.id not in ids)]

    return PipelineStep(name, retrieve)


def classified_retriever_step(
    name: str,
    classifier: QueryClassifier,
    retrievers: dict[str, Retriever],
    default: str | None = None,
    top_k: int = 10,
) -> PipelineStep:
    """Make a step that adds what the retriever for this kind of query finds.

    :param retrievers: by the classifier's labels.
    :param default: the label of the retriever for all other queries.
    :raises RetrieverError: when the step runs, for a label without a retriever where there is no
        default.
    """
    _check_top_k(top_k)

    def retrieve(items: Items, query: QueryBundle) -> Items:
        label = classifier.classify(query)
        retriever = retrievers.get(label, retrievers.get(default or ""))
        if retriever is None:
            raise RetrieverError(
                f"no retriever for {label!r} in step {name!r}",
                hint=f"There are {', '.join(map(repr, retrievers)) or 'none'}.",
            )
        return [*items, *retriever.retrieve(query, top_k=top_k)]

    return PipelineStep(name, retrieve)


class MemoryContextEnricher:
    """Put the newest of what is remembered behind a query.

    :param max_items: how many items.
    :param template: with `{query}` and `{context}` in it.
    :raises ValueError: when `max_items` is below 1, or the template has other fields.
    """

    def __init__(
        self, max_items: int = 5, template: str = "{query}\n\nConversation context: {context}"
    ) -> None:
        if max_items < 1:
            raise ValueError(f"max_items must be at least 1, not {max_items}")
        try:
            template.format(query="", context="")
        except (LookupError, AttributeError, ValueError) as error:
            message = f"the template may hold {{query}} and {{context}} alone: {template!r}"
            raise ValueError(message) from error
        self.max_items, self.template = max_items, template

    def enrich(self, query: str, context_items: Items) -> str:
        """Return the query with the newest items, oldest first; as it is where none says
        anything."""
        items = [item for item in context_items if item.content.strip()]
        if not items:
            return query
        newest = sorted(items, key=lambda item: item.created_at)[-self.max_items :]
        return self.template.format(query=query, context="; ".join(item.content for item in newest))
