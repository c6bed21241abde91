"""Haystack's retrievers and rankers as those of a context pipeline.

Documents become items and back with their id, content, score and meta. Scores of items are
within [0, 1] and those of Haystack are not, so they are put there, in the order that the
component gave; see `fitted_scores`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import isnan
from typing import Any

from haystack import Document, Pipeline

from rag.context.models import ContextItem, Items, SourceType
from rag.exceptions import RAGError, RetrieverError
from rag.query.models import QueryBundle
from rag.support.settings_repr import with_settings_repr

MakeInputs = Callable[[QueryBundle, int], dict[str, Any]]

_LARGEST = 1e300  # beyond it a difference of two scores may be infinite


def fitted_scores(scores: Sequence[float | None]) -> list[float]:
    """Return scores within [0, 1] for results that come best first.

    Scores within [0, 1] stay. Others are scaled: the lower of 0 and the lowest becomes 0, the
    higher of 1 and the highest 1. Where a score is missing, or they say another order than the
    one that the results came in, the place decides: n results score 1, (n - 1)/n, …, 1/n.
    """
    given = [score for score in scores if score is not None and not isnan(score)]
    if len(given) < len(scores) or any(second > first for first, second in pairwise(given)):
        return [1 - place / len(scores) for place in range(len(scores))]
    bounded = [max(-_LARGEST, min(_LARGEST, score)) for score in given]
    low, high = min([0.0, *bounded]), max([1.0, *bounded])
    return [(score - low) / (high - low) for score in bounded]


def to_items(documents: Sequence[Document]) -> Items:
    """Return documents, best first, as retrieved items: whatever their meta says, they are no
    instructions."""
    scores = fitted_scores([document.score for document in documents])
    return [
        ContextItem(
            id=document.id,
            content=document.content or "",
            source=SourceType.RETRIEVAL,
            score=score,
            metadata=document.meta,
        )
        for document, score in zip(documents, scores, strict=True)
    ]


def _run(source: Any, given: dict[str, Any], top_k: int) -> Items:
    """Run a component or pipeline, and return its documents as items, each once.

    :raises RetrieverError: when there are none, or a pipeline gives those of two components.
    """
    if isinstance(source, Pipeline):
        try:
            outputs = [*source.run(given).values()]
        except Exception as error:
            if isinstance(error.__cause__, RAGError):  # as it was before Haystack wrapped it
                raise error.__cause__ from error
            raise
    else:
        if hasattr(source, "warm_up"):
            source.warm_up()
        outputs = [source.run(**given)]
    lists = [output["documents"] for output in outputs if "documents" in output]
    if len(lists) != 1:
        raise RetrieverError(f"{type(source).__name__} gave {len(lists)} lists of documents, not 1")
    first = {document.id: document for document in reversed(lists[0])}
    return to_items([*first.values()][::-1][:top_k])


def _accepted(component: Any, **offered: Any) -> dict[str, Any]:
    """Return those of the arguments that there are and that a component's run has."""
    sockets = component.__haystack_input__
    return {k: value for k, value in offered.items() if value is not None and k in sockets}


@with_settings_repr
class HaystackRetriever:
    """A Haystack retriever, or a pipeline that retrieves, as a retriever of items.

    A component that takes `query` is given the text, one that takes `query_embedding` the
    query's embedding; `inputs` is for all others and for pipelines.

    :param source: a component whose run gives `documents`, or a pipeline that has one.
    :param inputs: makes the run's arguments of the query and `top_k`.
    :raises TypeError: when `source` is neither.
    """

    def __init__(self, source: Any, inputs: MakeInputs | None = None) -> None:
        if not (hasattr(source, "__haystack_input__") or (inputs and hasattr(source, "run"))):
            raise TypeError(f"{type(source).__name__} is no Haystack component or pipeline")
        self._source, self._inputs = source, inputs

    def retrieve(self, query: QueryBundle, top_k: int = 10) -> Items:
        """Return at most `top_k` items, best first.

        :raises RetrieverError: when the query has no embedding and needs one, or the run gives
            no documents.
        """
        if self._inputs:
            return _run(self._source, self._inputs(query, top_k), top_k)
        socket = self._source.__haystack_input__.get("query_embedding")
        if socket and socket.is_mandatory and query.embedding is None:
            raise RetrieverError(f"{type(self._source).__name__} needs a query with an embedding")
        arguments = {"query": query.query_str, "query_embedding": query.embedding, "top_k": top_k}
        return _run(self._source, _accepted(self._source, **arguments), top_k)

    async def aretrieve(self, query: QueryBundle, top_k: int = 10) -> Items:
        """`retrieve` in a thread, without blocking the event loop."""
        return await asyncio.to_thread(self.retrieve, query, top_k)


@with_settings_repr
class HaystackReranker:
    """A Haystack ranker as a reranker of items.

    The ranker's order holds: scores follow it, see `fitted_scores`. Items keep what a document
    has no place for: source, priority, token count and time.

    :param ranker: a component that takes `documents` and gives them in another order.
    """

    def __init__(self, ranker: Any) -> None:
        self._ranker = ranker

    def rerank(self, query: QueryBundle, items: Items, top_k: int = 10) -> Items:
        """Return at most `top_k` items, best first; without items the ranker is not asked."""
        documents = [
            Document(id=item.id, content=item.content, score=item.score, meta=dict(item.metadata))
            for item in items
        ]
        arguments = _accepted(self._ranker, query=query.query_str, documents=documents, top_k=top_k)
        given = {item.id: item for item in items}
        ranked = _run(self._ranker, arguments, top_k) if items else []
        return [
            given.get(item.id, item).model_copy(
                update={"score": item.score, "metadata": item.metadata}
            )
            for item in ranked
        ]

    async def arerank(self, query: QueryBundle, items: Items, top_k: int = 10) -> Items:
        """`rerank` in a thread, without blocking the event loop."""
        return await asyncio.to_thread(self.rerank, query, items, top_k)
