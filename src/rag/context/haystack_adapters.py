"""Haystack's retrievers and rankers as those of a context pipeline.

Documents become items and back with their id, content, score and meta. Scores of items are
within [0, 1] and those of Haystack are not, so they are put there, in the order that the
component gave; see `fitted_scores`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from math import isnan
from typing import Any

from haystack import Document, Pipeline

from rag.context.models import ContextItem, SourceType
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
    known = [score for score in scores if score is not None and not isnan(score)]
    if len(known) < len(scores) or any(second > first for first, second in pairwise(known)):
        return [1 - place / len(scores) for place in range(len(scores))]
    bounded = [max(-_LARGEST, min(_LARGEST, score)) for score in known]
    low, high = min([0.0, *bounded]), max([1.0, *bounded])
    return [(score - low) / (high - low) for score in bounded]


def to_items(documents: Sequence[Document]) -> list[ContextItem]:
    """Return documents, best first, as retrieved items.

    Whatever their meta says, they are retrieved text, and no instructions.
    """
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


def to_documents(items: Sequence[ContextItem]) -> list[Document]:
    """Return items as documents."""
    return [
        Document(id=item.id, content=item.content, score=item.score, meta=dict(item.metadata))
        for item in items
    ]


class _Wrapped:
    """A component, or a whole pipeline, whose run gives `documents`.

    :param source: the component or pipeline.
    :param inputs: makes the arguments of its run.
    """

    def __init__(self, source: Any, inputs: Callable[..., dict[str, Any]]) -> None:
        if not callable(getattr(source, "run", None)):
            raise TypeError(f"{type(source).__name__} is no Haystack component or pipeline")
        self._source, self._inputs = source, inputs

    def run(self, *given: Any) -> list[Document]:
        """Run it, and return its documents."""
        with _own_errors():
            inputs = self._inputs(*given)
            if isinstance(self._source, Pipeline):
                return _documents(self._source.run(inputs), self._source)
            if hasattr(self._source, "warm_up"):
                self._source.warm_up()
            return _documents(self._source.run(**inputs), self._source)

    async def run_async(self, *given: Any) -> list[Document]:
        """`run`; what cannot wait runs in a thread."""
        if isinstance(self._source, Pipeline):
            with _own_errors():
                return _documents(await self._source.run_async(self._inputs(*given)), self._source)
        if not hasattr(self._source, "run_async"):
            return await asyncio.to_thread(self.run, *given)
        with _own_errors():
            if hasattr(self._source, "warm_up_async"):
                await self._source.warm_up_async()
            elif hasattr(self._source, "warm_up"):
                await asyncio.to_thread(self._source.warm_up)
            return _documents(await self._source.run_async(**self._inputs(*given)), self._source)


def _documents(outputs: dict[str, Any], source: Any) -> list[Document]:
    """Return the documents in what a component or a pipeline gave, each once.

    :raises RetrieverError: when there are none, or a pipeline gives those of two components.
    """
    parts = outputs.values() if isinstance(source, Pipeline) else [outputs]
    found = [part["documents"] for part in parts if "documents" in part]
    if len(found) != 1:
        kind, several = type(source).__name__, "no" if not found else "more than one list of"
        raise RetrieverError(f"{kind} gave {several} documents")
    first: dict[str, Document] = {}
    for document in found[0]:
        first.setdefault(document.id, document)
    return list(first.values())


@contextmanager
def _own_errors() -> Iterator[None]:
    """Raise an error of ours that Haystack has wrapped as it was."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, RAGError) and isinstance(error.__cause__, RAGError):
            raise error.__cause__ from error
        raise


def _accepted(source: Any, **offered: Any) -> dict[str, Any]:
    """Return those of the arguments that there are and that a component's run has."""
    sockets = source.__haystack_input__
    return {k: value for k, value in offered.items() if value is not None and k in sockets}


@with_settings_repr
class HaystackRetriever:
    """A Haystack retriever, or a pipeline that retrieves, as a retriever of items.

    A component that takes `query` is given the text, one that takes `query_embedding` the
    query's embedding; `inputs` is for all others and for pipelines. What the component raises is
    raised as it is: a step turns it into a `PipelineExecutionError`.

    :param source: a component whose run gives `documents`, or a pipeline that has one.
    :param inputs: makes the run's arguments of the query and `top_k`.
    :raises TypeError: when `source` is neither.
    :raises ValueError: for a pipeline without `inputs`, and for a component that takes neither
        `query` nor `query_embedding`.
    """

    def __init__(self, source: Any, inputs: MakeInputs | None = None) -> None:
        self._wrapped = _Wrapped(source, inputs or self._arguments)
        self._source = source
        if inputs is None:
            sockets = getattr(source, "__haystack_input__", ())
            if not any(name in sockets for name in ("query", "query_embedding")):
                raise ValueError(f"inputs must say what {type(source).__name__} is run with")

    def _arguments(self, query: QueryBundle, top_k: int) -> dict[str, Any]:
        socket = self._source.__haystack_input__.get("query_embedding")
        if socket and socket.is_mandatory and query.embedding is None:
            raise RetrieverError(
                f"{type(self._source).__name__} needs a query with an embedding",
                hint="Wrap a pipeline that embeds the query first.",
            )
        return _accepted(
            self._source, query=query.query_str, query_embedding=query.embedding, top_k=top_k
        )

    def retrieve(self, query: QueryBundle, top_k: int = 10) -> list[ContextItem]:
        """Return at most `top_k` items, best first.

        :raises RetrieverError: when the query has no embedding and needs one, or the run gives
            no documents.
        """
        return to_items(self._wrapped.run(query, top_k)[:top_k])

    async def aretrieve(self, query: QueryBundle, top_k: int = 10) -> list[ContextItem]:
        """`retrieve`, without blocking the event loop."""
        return to_items((await self._wrapped.run_async(query, top_k))[:top_k])


@with_settings_repr
class HaystackReranker:
    """A Haystack ranker as a reranker of items.

    The ranker's order holds: scores follow it, see `fitted_scores`. Items keep what a document
    has no place for: source, priority, token count and time.

    :param ranker: a component that takes `documents` and gives them in another order.
    :raises TypeError: when it is no component.
    """

    def __init__(self, ranker: Any) -> None:
        if "documents" not in getattr(ranker, "__haystack_input__", ()):
            raise TypeError(f"{type(ranker).__name__} is no Haystack component for documents")
        self._ranker = ranker
        self._wrapped = _Wrapped(ranker, self._arguments)

    def _arguments(self, query: QueryBundle, items: list[ContextItem], top_k: int) -> Any:
        return _accepted(
            self._ranker, query=query.query_str, documents=to_documents(items), top_k=top_k
        )

    def rerank(
        self, query: QueryBundle, items: list[ContextItem], top_k: int = 10
    ) -> list[ContextItem]:
        """Return at most `top_k` items, best first; without items the ranker is not asked."""
        return _ranked(self._wrapped.run(query, items, top_k)[:top_k], items) if items else []

    async def arerank(
        self, query: QueryBundle, items: list[ContextItem], top_k: int = 10
    ) -> list[ContextItem]:
        """`rerank`, without blocking the event loop."""
        if not items:
            return []
        return _ranked((await self._wrapped.run_async(query, items, top_k))[:top_k], items)


def _ranked(documents: list[Document], items: list[ContextItem]) -> list[ContextItem]:
    given = {item.id: item for item in items}
    return [
        given[made.id].model_copy(update={"score": made.score, "metadata": made.metadata})
        if made.id in given
        else made
        for made in to_items(documents)
    ]
