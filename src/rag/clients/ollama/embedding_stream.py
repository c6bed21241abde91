"""Vectors of texts and of queries from the configured Ollama servers."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any

from rag.clients.embeddings.batch_embedder import BatchEmbedder
from rag.clients.embeddings.batching import Measure, estimate_tokens
from rag.clients.embeddings.stream import EmbeddedBatch, embed_in_batches, embed_queries
from rag.clients.embeddings.vectors import Vector
from rag.clients.ollama.connection import ollama_settings
from rag.clients.ollama.errors import BELOW, diagnose
from rag.clients.ollama.http_client import OllamaClient
from rag.clients.ollama.model_info import traits
from rag.clients.servers.pool import ServerPool
from rag.clients.servers.trouble import Trouble
from rag.config import OllamaConfig, RAGConfig
from rag.exceptions import ConfigError


class EmbeddingModel(OllamaClient):
    """A connection to one server, for vectors of the configured model."""

    failures = BELOW

    def vectors(self, texts: list[str], seconds: float | None) -> list[Any]:
        """Return the vectors of texts."""
        body = {
            "model": self._settings.embedding_model,
            "input": texts,
            "truncate": False,
            "keep_alive": self._settings.keep_alive,
        }
        found: list[Any] = self.fetch("/api/embed", body, seconds)["embeddings"]
        return found

    def explain(self, error: Exception) -> Trouble:
        """Explain what went wrong."""
        return diagnose(error, self.url, self._settings.embedding_model, "ollama.urls")


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
    """Embed documents, several requests and servers at once; see `embed_in_batches`.

    :param measure: how many tokens a text has, about.
    :param limit: the most tokens the model reads (`ModelInfo.limit`); 0 when not known.
    :param dimension: the length vectors must have; 0 takes that of the first.
    :param backoff: seconds before a failed request is sent again.
    :param patient: see `BatchEmbedder`.
    :raises ConnectionError: when no server does its work; what came before stays valid.
    :raises ConfigError: when no embedding model is configured.
    """
    config = ollama_settings(config)
    embedder = BatchEmbedder(
        _pool(config),
        prefix=traits(config).document_prefix,
        dimension=dimension,
        limit=limit,
        measure=measure,
        retries=config.retries,
        backoff=backoff,
        patient=patient,
    )
    yield from embed_in_batches(texts, embedder, config.batch_tokens)


class QueryVectors:
    """Vectors of queries; keeps its connections from one to the next.

    A query is not worth waiting for: it is sent once more, or to the next server, and then
    fails within `ollama.query_timeout` a try.
    """

    def __init__(self, config: OllamaConfig | RAGConfig | None = None, dimension: int = 0) -> None:
        config = ollama_settings(config)
        self._embedder = BatchEmbedder(
            _pool(config, config.query_timeout),
            prefix=traits(config).query_prefix,
            dimension=dimension,
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
        """Return the vectors of a query and of what else to search for; see `embed_queries`."""
        return embed_queries(self._embedder, texts)

    def close(self) -> None:
        """Close all connections."""
        self._embedder.pool.close()


def _pool(config: OllamaConfig, read_timeout: float | None = None) -> ServerPool:
    """Return the pool of the configured embedding servers; nothing is contacted yet.

    :raises ConfigError: when no embedding model is configured.
    """
    if not config.embedding_model:
        raise ConfigError(
            "no embedding model is configured", hint="Set ollama.embedding_model = 'bge-m3'."
        )
    urls = config.embedding_urls
    clients = [EmbeddingModel(url, config, read_timeout=read_timeout) for url in urls]
    return ServerPool(clients, config.max_in_flight)


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
