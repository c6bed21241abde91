"""The embedders as Haystack components: ollama-haystack's, over our own transport.

    embedder = OllamaChunkEmbedder(config.ollama, measure=count_tokens)
    for batch in embedder.stream(documents):
        store(batch.documents)

Left to themselves those put no prefix before the text, replace its line breaks, let the server cut
it silently, and lose a batch to one text that fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.utils import deserialize_callable, serialize_callable
from haystack_integrations.components.embedders.ollama import (
    OllamaDocumentEmbedder,
    OllamaTextEmbedder,
)

from rag.clients.embeddings.batch_embedder import (
    BatchEmbedder,
    EmbeddedBatch,
    Vector,
    embed_in_batches,
    embed_queries,
)
from rag.clients.embeddings.batching import Measure, estimate_tokens
from rag.clients.ollama.http_client import BELOW, OllamaClient, diagnose
from rag.clients.ollama.model_info import ollama_settings, traits
from rag.clients.serialization import with_config
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


# After ours, which imports the client without the environment's proxies.

Failed = list[tuple[str, str]]


@component
class OllamaQueryEmbedder(OllamaTextEmbedder):
    """Give a query the vector it is looked for by.

    :param config: the `[ollama]` settings; without them those in force.
    """

    def __init__(self, config: OllamaConfig | None = None) -> None:
        # Not `super()`: Haystack makes a class of its own of each component.
        OllamaTextEmbedder.__init__(self)
        self.config = config
        self._vectors: QueryVectors | None = None

    @component.output_types(embedding=list[float])
    def run(  # type: ignore[override]
        self, text: str, generation_kwargs: dict[str, Any] | None = None
    ) -> dict[str, list[float]]:
        """Return the `embedding` of `text`.

        :param generation_kwargs: taken for ollama-haystack's sake; vectors need no options.
        :raises QueryError: when there is no text.
        :raises ConnectionError: when no server gives a vector.
        """
        if self._vectors is None:
            self._vectors = QueryVectors(self.config)
        return {"embedding": self._vectors.embed(text)}

    @component.output_types(embedding=list[float])
    async def run_async(  # type: ignore[override]
        self, text: str, generation_kwargs: dict[str, Any] | None = None
    ) -> dict[str, list[float]]:
        """`run`, off the event loop; ollama-haystack's would use its own client."""
        return await asyncio.to_thread(self.run, text, generation_kwargs)

    def warm_up(self) -> None:
        """Do nothing: connections are opened when they are wanted."""

    async def warm_up_async(self) -> None:
        """Do nothing, as `warm_up`."""

    async def close_async(self) -> None:
        """Close all connections."""
        self.close()

    def close(self) -> None:
        """Close all connections; `run` opens them again."""
        if self._vectors is not None:
            self._vectors.close()
            self._vectors = None

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its settings."""
        return default_to_dict(self, config=self.config and asdict(self.config))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        return default_from_dict(cls, with_config(data))


@dataclass(frozen=True)
class EmbeddedDocuments:
    """A few documents as they are done, and the ids and reasons of those that failed."""

    documents: list[Document]
    failed: Failed


@component
class OllamaChunkEmbedder(OllamaDocumentEmbedder):
    """Give documents the vectors they are found by.

    :param config: the `[ollama]` settings; without them those in force.
    :param measure: a function that tells how many tokens a text has, about.
    :param limit: the most tokens the model reads; 0 when not known.
    :param dimension: the length vectors must have; 0 takes that of the first.
    """

    def __init__(
        self,
        config: OllamaConfig | None = None,
        measure: Measure = estimate_tokens,
        limit: int = 0,
        dimension: int = 0,
    ) -> None:
        OllamaDocumentEmbedder.__init__(self, progress_bar=False)
        self.config, self.measure = config, measure
        self.limit, self.dimension = limit, dimension

    def stream(self, documents: Iterable[Document]) -> Iterator[EmbeddedDocuments]:
        """Yield documents with their `embedding`, batch by batch, in the order they are done.

        :raises ConnectionError: when no server does its work; what came before stays valid.
        """
        waiting: dict[int, Document] = {}

        def texts() -> Iterator[str]:
            for position, document in enumerate(documents):
                waiting[position] = document
                yield document.content or ""

        for batch in embed_texts(
            texts(),
            ollama_settings(self.config),
            measure=self.measure,
            limit=self.limit,
            dimension=self.dimension,
        ):
            yield EmbeddedDocuments(
                [replace(waiting.pop(at), embedding=vector) for at, vector in batch.vectors],
                [(waiting.pop(at).id, reason) for at, reason in batch.failures],
            )

    @component.output_types(documents=list[Document], failed=list[tuple[str, str]])
    def run(  # type: ignore[override]
        self, documents: list[Document], generation_kwargs: dict[str, Any] | None = None
    ) -> dict[str, list[Document] | Failed]:
        """Return the `documents` that have an `embedding` now, in the order they were given, and
        of those that `failed` the id and the reason.

        :param generation_kwargs: taken for ollama-haystack's sake; vectors need no options.
        :raises ConnectionError: when no server does its work.
        """
        order = {document.id: position for position, document in enumerate(documents)}
        done: list[Document] = []
        failed: Failed = []
        for batch in self.stream(documents):
            done += batch.documents
            failed += batch.failed
        done.sort(key=lambda document: order[document.id])
        return {"documents": done, "failed": failed}

    @component.output_types(documents=list[Document], failed=list[tuple[str, str]])
    async def run_async(  # type: ignore[override]
        self, documents: list[Document], generation_kwargs: dict[str, Any] | None = None
    ) -> dict[str, list[Document] | Failed]:
        """`run`, off the event loop; ollama-haystack's would use its own client."""
        return await asyncio.to_thread(self.run, documents, generation_kwargs)

    def warm_up(self) -> None:
        """Do nothing: connections are opened when they are wanted."""

    async def warm_up_async(self) -> None:
        """Do nothing, as `warm_up`."""

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its settings."""
        return default_to_dict(
            self,
            config=self.config and asdict(self.config),
            measure=serialize_callable(self.measure),
            limit=self.limit,
            dimension=self.dimension,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        data = with_config(data)
        given = data["init_parameters"]
        if "measure" in given:
            given["measure"] = deserialize_callable(given["measure"])
        return default_from_dict(cls, data)
