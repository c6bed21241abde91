"""Vectors for any number of texts, handed over batch by batch as they are made; and of queries."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from queue import SimpleQueue

from rag.clients.embeddings.batch_embedder import BatchEmbedder, Outcome, TextFailure
from rag.clients.embeddings.batching import Batch, pack
from rag.clients.embeddings.vectors import Vector
from rag.exceptions import ConnectionError


@dataclass(frozen=True)
class EmbeddedBatch:
    """What became of a few texts; positions count from 0 in the order they were given.

    :param vectors: position and vector of each that has one.
    :param failures: position and reason of each that has none.
    :param tokens: how much text it was, as measured.
    """

    vectors: list[tuple[int, Vector]] = field(default_factory=list)
    failures: list[tuple[int, str]] = field(default_factory=list)
    tokens: int = 0


def embed_in_batches(
    texts: Iterable[str], embedder: BatchEmbedder, batch_tokens: int
) -> Generator[EmbeddedBatch, None, None]:
    """Embed texts, as many requests at once as the embedder's servers have slots.

    Texts are taken as they are needed, in the caller's thread, and batches come in the order
    they are done, so memory holds a few batches however many texts there are. Closing the
    iterator, or Ctrl-C, abandons what is under way at once; connections are closed then.

    :param batch_tokens: how much one request holds.
    :raises ConnectionError: when no server does its work; what came before stays valid.
    """
    batches = pack(texts, embedder.measure, batch_tokens)
    workers = _Workers(embedder, batches, embedder.pool.slots)
    try:
        yield from workers.results()
    finally:
        workers.stop()
        embedder.pool.close()


class _Workers:
    """Threads that embed batches; daemons, so that Ctrl-C waits for no server."""

    def __init__(self, embedder: BatchEmbedder, batches: Iterator[Batch], count: int) -> None:
        self._embedder, self._batches, self._count = embedder, batches, count
        self._to_do: SimpleQueue[Batch | None] = SimpleQueue()
        self._done: SimpleQueue[EmbeddedBatch | BaseException] = SimpleQueue()

    def results(self) -> Iterator[EmbeddedBatch]:
        """Yield batches until all are done.

        :raises BaseException: the first that any thread raised.
        """
        for _ in range(self._count):
            threading.Thread(target=self._work, name="rag-embed", daemon=True).start()
        waiting = 0
        while True:
            for batch in islice(self._batches, 2 * self._count - waiting):
                self._to_do.put(batch)
                waiting += 1
            if not waiting:
                return
            result = self._done.get()
            waiting -= 1
            if isinstance(result, BaseException):
                raise result
            yield result

    def stop(self) -> None:
        """Let the threads end after the request they are at."""
        self._embedder.stop()
        for _ in range(self._count):
            self._to_do.put(None)

    def _work(self) -> None:
        while (batch := self._to_do.get()) is not None:
            try:
                self._done.put(_result(batch, self._embedder.embed(batch.texts)))
            except BaseException as error:
                self._done.put(error)


def _result(batch: Batch, outcomes: list[Outcome]) -> EmbeddedBatch:
    result = EmbeddedBatch(tokens=batch.tokens)
    for position, outcome in zip(batch.positions, outcomes, strict=True):
        if isinstance(outcome, TextFailure):
            result.failures.append((position, outcome.reason))
        else:
            result.vectors.append((position, outcome))
    return result


def embed_queries(embedder: BatchEmbedder, texts: Sequence[str]) -> list[Vector | None]:
    """Return the vectors of a query and of what else to search for, in one request.

    :returns: `None` for texts that have none; the first always has one.
    :raises QueryError: when the first is empty.
    :raises ConnectionError: when no server gives a vector.
    """
    try:
        first, *others = embedder.embed(texts)
    except ConnectionError:
        if len(texts) == 1:
            raise
        # One of the others may have broken it; the query can do without them.
        first, others = embedder.embed(texts[:1])[0], []
    if isinstance(first, TextFailure):
        raise first.error
    made = [None if isinstance(one, TextFailure) else one for one in others]
    return [first, *(made or [None] * (len(texts) - 1))]
