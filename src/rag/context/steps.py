"""The steps of a context pipeline: from the items so far and the query to the items to go on with.

A step is a function; the makers below turn retrievers, rankers and the like into one.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from math import fsum, inf
from typing import Any, Literal, get_args

from rag.context.models import ContextItem, SourceType
from rag.context.protocols import (
    AsyncPostProcessor,
    AsyncReranker,
    AsyncRetriever,
    PostProcessor,
    Reranker,
    Retriever,
)
from rag.exceptions import RetrieverError
from rag.query.models import QueryBundle, QueryClassifier, QueryTransformer
from rag.support.settings_repr import with_settings_repr

RRF_K = 60


def reciprocal_rank_fusion(
    lists: Sequence[Sequence[ContextItem]], k: int = RRF_K, weights: Sequence[float] | None = None
) -> list[ContextItem]:
    """Fuse ranked lists: an item scores Σ weight / (k + rank), ranks from 1, best item 1.0.

    Cormack, Clarke and Büttcher 2009, "Reciprocal Rank Fusion outperforms Condorcet and
    individual Rank Learning Methods". Of items with one id the first is kept; equal scores stay
    in the order of first appearance. `metadata["found_by"]` holds the numbers, from 0, of the
    lists that an item is in.

    :param weights: what each list counts for; without them all the same.
    :raises ValueError: for weights of another length, below 0 or infinite, or `k` below 0.
    """
    if weights is not None and len(weights) != len(lists):
        raise ValueError(f"{len(weights)} weights for {len(lists)} lists")
    if weights is not None and not all(0 <= weight < inf for weight in weights):
        raise ValueError(f"weights must be finite and not negative, not {list(weights)}")
    if k < 0:
        raise ValueError(f"k must not be negative, not {k}")
    parts: dict[str, list[float]] = {}
    first: dict[str, ContextItem] = {}
    found_by: dict[str, list[int]] = {}
    for number, items in enumerate(lists):
        weight = 1.0 if weights is None else weights[number]
        for rank, item in enumerate(items, 1):
            lists_of = found_by.setdefault(item.id, [])
            if number in lists_of:  # a list counts an item once, where it stands higher
                continue
            lists_of.append(number)
            first.setdefault(item.id, item)
            parts.setdefault(item.id, []).append(weight / (k + rank))
    # Summed exactly: the same ranks in lists of another order are a tie.
    scores = {key: fsum(added) for key, added in parts.items()}
    best = max(scores.values(), default=0.0) or 1.0
    return [
        first[key].model_copy(
            update={
                "score": scores[key] / best,
                "metadata": {**first[key].metadata, "found_by": found_by[key]},
            }
        )
        for key in sorted(scores, key=lambda key: -scores[key])
    ]


Items = list[ContextItem]
SyncStep = Callable[[Items, QueryBundle], Items]
AsyncStep = Callable[[Items, QueryBundle], Awaitable[Items]]
OnError = Literal["raise", "skip"]

# A reranker is asked about what was found, not about what must not be forgotten.
_NOT_RANKED = (
    SourceType.SYSTEM,
    SourceType.MEMORY,
    SourceType.CONVERSATION,
    SourceType.USER,
)


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
        made = self.fn(items, query)
        return self._checked(await made if self.is_async else made)  # type: ignore[misc]

    def _checked(self, made: Any) -> Items:
        if inspect.iscoroutine(made):
            made.close()
        if not isinstance(made, list):
            raise TypeError(f"step {self.name!r} gave {type(made).__name__}, not a list")
        for item in made:
            if not isinstance(item, ContextItem):
                raise TypeError(f"step {self.name!r} gave a list with {type(item).__name__} in it")
        return made


def is_async_callable(fn: Any) -> bool:
    """Return whether what a call of `fn` gives has to be awaited."""
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(
        getattr(type(fn), "__call__", None)  # noqa: B004  # an object with an async __call__
    )


def _check_top_k(top_k: int) -> None:
    if top_k < 1:
        raise ValueError(f"top_k must be at least 1, not {top_k}")


def retriever_step(name: str, retriever: Retriever, top_k: int = 10) -> PipelineStep:
    """Make a step that adds what a retriever finds.

    :raises ValueError: when `top_k` is below 1.
    """
    _check_top_k(top_k)

    def retrieve(items: Items, query: QueryBundle) -> Items:
        return [*items, *retriever.retrieve(query, top_k=top_k)]

    return PipelineStep(name, retrieve)


def async_retriever_step(name: str, retriever: AsyncRetriever, top_k: int = 10) -> PipelineStep:
    """Make a step that adds what an asynchronous retriever finds.

    :raises ValueError: when `top_k` is below 1.
    """
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


def reranker_step(name: str, reranker: Reranker, top_k: int = 10) -> PipelineStep:
    """Make a step that puts what was found into a better order and keeps the best.

    System items, memory, conversation and what the user says are not ranked; they stay, in
    front.

    :raises ValueError: when `top_k` is below 1.
    """
    _check_top_k(top_k)

    def rerank(items: Items, query: QueryBundle) -> Items:
        kept, ranked = _divided(items)
        return [*kept, *reranker.rerank(query, ranked, top_k=top_k)[:top_k]]

    return PipelineStep(name, rerank)


def async_reranker_step(name: str, reranker: AsyncReranker, top_k: int = 10) -> PipelineStep:
    """Make a step of an asynchronous reranker; otherwise as `reranker_step`.

    :raises ValueError: when `top_k` is below 1.
    """
    _check_top_k(top_k)

    async def rerank(items: Items, query: QueryBundle) -> Items:
        kept, ranked = _divided(items)
        return [*kept, *(await reranker.arerank(query, ranked, top_k=top_k))[:top_k]]

    return PipelineStep(name, rerank, is_async=True)


def _divided(items: Items) -> tuple[Items, Items]:
    kept = [item for item in items if item.source in _NOT_RANKED]
    return kept, [item for item in items if item.source not in _NOT_RANKED]


def query_transform_step(
    name: str, transformer: QueryTransformer, retriever: Retriever, top_k: int = 10
) -> PipelineStep:
    """Make a step that retrieves for each query a transformer makes, and adds the fused results.

    The lists are fused by `reciprocal_rank_fusion`; ids that are already there are left out. A
    transformer that makes no query leaves the one there is.

    :param top_k: how many items each query may bring.
    :raises ValueError: when `top_k` is below 1.
    """
    _check_top_k(top_k)

    def retrieve(items: Items, query: QueryBundle) -> Items:
        queries = transformer.transform(query) or [query]
        fused = reciprocal_rank_fusion([retriever.retrieve(one, top_k=top_k) for one in queries])
        known = {item.id for item in items}
        return [*items, *(item for item in fused if item.id not in known)]

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
    :raises ValueError: when `top_k` is below 1.
    :raises RetrieverError: when the step runs, for a label without a retriever where there is no
        default.
    """
    _check_top_k(top_k)

    def retrieve(items: Items, query: QueryBundle) -> Items:
        label = classifier.classify(query)
        retriever = retrievers.get(label)
        if retriever is None and default is not None:
            retriever = retrievers.get(default)
        if retriever is None:
            raise RetrieverError(
                f"no retriever for {label!r} in step {name!r}",
                hint=f"There are {', '.join(map(repr, retrievers)) or 'none'}.",
            )
        return [*items, *retriever.retrieve(query, top_k=top_k)]

    return PipelineStep(name, retrieve)


@with_settings_repr
class MemoryContextEnricher:
    """Put the newest of what is remembered behind a query.

    :param max_items: how many items.
    :param template: with `{query}` and `{context}` in it.
    :raises ValueError: when `max_items` is below 1, or the template has other fields.
    """

    def __init__(
        self,
        max_items: int = 5,
        template: str = "{query}\n\nConversation context: {context}",
    ) -> None:
        if max_items < 1:
            raise ValueError(f"max_items must be at least 1, not {max_items}")
        try:
            template.format(query="", context="")
        except (LookupError, AttributeError, ValueError) as error:
            message = f"the template may hold {{query}} and {{context}} alone: {template!r}"
            raise ValueError(message) from error
        self.max_items, self.template = max_items, template

    def enrich(self, query: str, context_items: list[ContextItem]) -> str:
        """Return the query with the newest items, oldest first; without items that say
        anything as it is."""
        said_items = [item for item in context_items if item.content.strip()]
        if not said_items:
            return query
        newest = sorted(said_items, key=lambda item: item.created_at)[-self.max_items :]
        said = "; ".join(item.content for item in newest)
        return self.template.format(query=query, context=said)
