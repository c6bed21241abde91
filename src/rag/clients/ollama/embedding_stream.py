"""Vectors for any number of texts, handed over batch by batch as they are made."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from queue import SimpleQueue

from rag.clients.ollama.batch_embedder import BatchEmbedder, Outcome, TextFailure
from rag.clients.ollama.batching import Batch, Measure, estimate_tokens, pack
from rag.clients.ollama.connection import ollama_settings
from rag.clients.ollama.model_info import traits
from rag.clients.ollama.server_pool import ServerPool
from rag.clients.ollama.vectors import Vector
from rag.config import OllamaConfig, RAGConfig
from rag.exceptions import ConfigError, ConnectionError


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


def embed_texts(
    texts: Iterable[str],
    config: OllamaConfig | RAGConfig | None = None,
    *,
    measure: Measure = estimate_tokens,
    limit: int = 0,
    dimension: int = 0,
    backoff: float = 0.5,
    patient: bool = True,
) -> Generator[EmbeddedBatch, None, None]:
    """Embed documents, several requests and servers at once.

    Texts are taken as they are needed, in the caller's thread, and batches come in the order
    they are done, so memory holds a few batches however many texts there are. Closing the
    iterator, or Ctrl-C, abandons what is under way at once.

    :param measure: how many tokens a text has, about.
    :param limit: the most tokens the model reads (`ModelInfo.limit`); 0 when not known.
    :param dimension: the length vectors must have; 0 takes that of the first.
    :param backoff: seconds before a failed request is sent again.
    :param patient: see `BatchEmbedder`.
    :raises ConnectionError: when no server does its work; what came before stays valid.
    :raises ConfigError: when no embedding model is configured.
    """
    config = ollama_settings(config)
    pool = ServerPool.of(config)
    embedder = BatchEmbedder(
        pool,
        embedding_model(config),
        prefix=traits(config).document_prefix,
        dimension=dimension,
        limit=limit,
        measure=measure,
        keep_alive=config.keep_alive,
        retries=config.retries,
        backoff=backoff,
        patient=patient,
    )
    workers = _Workers(embedder, pack(texts, measure, config.batch_tokens), pool.slots)
    try:
        yield from workers.results()
    finally:
        workers.stop()
        pool.close()


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


class QueryVectors:
    """Vectors of queries; keeps its connections from one to the next.

    A query is not worth waiting for: it is sent once more, or to the next server, and then
    fails within `ollama.query_timeout` a try.
    """

    def __init__(self, config: OllamaConfig | RAGConfig | None = None, dimension: int = 0) -> None:
        config = ollama_settings(config)
        self._pool = ServerPool.of(config, read_timeout=config.query_timeout)
        self._embedder = BatchEmbedder(
            self._pool,
            embedding_model(config),
            prefix=traits(config).query_prefix,
            dimension=dimension,
            keep_alive=config.keep_alive,
            retries=min(config.retries, 1),
            backoff=0.1,
            seconds=config.query_timeout,
            patient=False,
        )

    def embed(self, text: str) -> Vector:
        """Return the vector of a query.

        :raises QueryError: when there is no text.
        :raises ConnectionError: when no server gives a vector.
        """
        [vector] = self.embed_all([text])
        assert vector
        return vector

    def embed_all(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vectors of a query and of what else to search for, in one request.

        :returns: `None` for texts that have none; the first always has one.
        :raises QueryError: when the first is empty.
        :raises ConnectionError: when no server gives a vector.
        """
        try:
            first, *others = self._embedder.embed(texts)
        except ConnectionError:
            if len(texts) == 1:
                raise
            # One of the others may have broken it; the query can do without them.
            first, others = self._embedder.embed(texts[:1])[0], []
        if isinstance(first, TextFailure):
            raise first.error
        made = [None if isinstance(one, TextFailure) else one for one in others]
        return [first, *(made or [None] * (len(texts) - 1))]

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


def get_embedding(text: str, config: OllamaConfig | RAGConfig | None = None) -> Vector:
    """Return the vector of one query, prefix and all.

    :raises QueryError: when there is no text.
    :raises ConnectionError: when no server gives a vector.
    """
    vectors = QueryVectors(config)
    try:
        return vectors.embed(text)
    finally:
        vectors.close()


def embedding_model(config: OllamaConfig) -> str:
    """Return the configured embedding model.

    :raises ConfigError: when there is none.
    """
    if not config.embedding_model:
        raise ConfigError(
            "no embedding model is configured", hint="Set ollama.embedding_model = 'bge-m3'."
        )
    return config.embedding_model
