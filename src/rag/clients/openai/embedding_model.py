"""Vectors from a server that speaks OpenAI's API."""

from __future__ import annotations

import base64
import sys
from array import array
from collections.abc import Generator, Iterable
from typing import Any

from rag.clients.embeddings.batch_embedder import BatchEmbedder, EmbeddedBatch, embed_in_batches
from rag.clients.embeddings.batching import Measure
from rag.clients.models import chosen_traits
from rag.clients.openai.endpoint import check_endpoint, embedding_endpoint
from rag.clients.openai.http_client import OpenAIClient
from rag.clients.servers.pool import ServerPool
from rag.clients.servers.trouble import BadVectors
from rag.config import ModelsConfig


class EmbeddingModel(OpenAIClient):
    """A connection to one server, for vectors of the configured model."""

    def vectors(self, texts: list[str], seconds: float | None) -> list[Any]:
        """Return the vectors of texts, in their order.

        As base64 they are asked for, which is a quarter of the bytes; a server that does not know
        it gives numbers.
        """
        body = {"model": self.endpoint.model, "input": texts, "encoding_format": "base64"}
        data = self.post("/embeddings", body, seconds)["data"]
        found: list[Any] = [None] * len(data)
        for position, item in enumerate(data):
            at = item.get("index", position)
            if not isinstance(at, int) or not 0 <= at < len(data) or found[at] is not None:
                raise BadVectors(f"gave vectors numbered so that {at!r} makes no sense")
            found[at] = _numbers(item["embedding"])
        return found


def _numbers(given: Any) -> Any:
    """Return a vector; base64 is that of little-endian numbers of 32 bits."""
    if not isinstance(given, str):
        return given
    numbers = array("f", base64.b64decode(given, validate=True))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist()


def embed_texts(
    texts: Iterable[str],
    config: ModelsConfig,
    measure: Measure,
    limit: int = 0,
    dimension: int = 0,
    patient: bool = True,
    backoff: float = 0.5,
) -> Generator[EmbeddedBatch, None, None]:
    """Embed documents, several requests at once; see `embed_in_batches` and `BatchEmbedder`.

    :raises ConnectionError: when the server does not do its work; what came before stays valid.
    :raises ConfigError: when no server or model is configured, or the key cannot be sent.
    """
    limits = config.ollama
    embedder = BatchEmbedder(
        _pool(config),
        prefix=chosen_traits(config.embedding.model, limits).document_prefix,
        dimension=dimension,
        limit=limit,
        measure=measure,
        retries=limits.retries,
        backoff=backoff,
        patient=patient,
    )
    yield from embed_in_batches(texts, embedder, limits.batch_tokens)


def query_embedder(config: ModelsConfig, dimension: int = 0) -> BatchEmbedder:
    """Return the embedder of queries: each is sent once more at most, and fails within
    `ollama.query_timeout` a try.

    :raises ConfigError: when no server or model is configured, or the key cannot be sent.
    """
    limits = config.ollama
    return BatchEmbedder(
        _pool(config, limits.query_timeout),
        prefix=chosen_traits(config.embedding.model, limits).query_prefix,
        dimension=dimension,
        retries=min(limits.retries, 1),
        backoff=0.1,
        seconds=limits.query_timeout,
        patient=False,
    )


def _pool(config: ModelsConfig, read_timeout: float | None = None) -> ServerPool:
    endpoint = embedding_endpoint(config)
    check_endpoint(endpoint)
    model = EmbeddingModel(endpoint, config.ollama, read_timeout)
    return ServerPool([model], config.ollama.max_in_flight)
