"""The embedders as Haystack components.

    embedder = OllamaChunkEmbedder(config.ollama, measure=count_tokens)
    for batch in embedder.stream(documents):
        store(batch.documents)

Unlike those of ollama-haystack they put the model's prefixes before the text, keep its line
breaks, let no text be cut silently, and lose nothing to one text that fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.utils import deserialize_callable, serialize_callable

from rag.clients.ollama.batching import Measure, estimate_tokens
from rag.clients.ollama.connection import ollama_settings
from rag.clients.ollama.embedding_stream import QueryVectors, embed_texts
from rag.clients.serialization import with_config
from rag.config import OllamaConfig

Failed = list[tuple[str, str]]


@component
class OllamaQueryEmbedder:
    """Give a query the vector it is looked for by.

    :param config: the `[ollama]` settings; without them those in force.
    """

    def __init__(self, config: OllamaConfig | None = None) -> None:
        self.config = config
        self._vectors: QueryVectors | None = None

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        """Return the `embedding` of `text`.

        :raises QueryError: when there is no text.
        :raises ConnectionError: when no server gives a vector.
        """
        if self._vectors is None:
            self._vectors = QueryVectors(self.config)
        return {"embedding": self._vectors.embed(text)}

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
class OllamaChunkEmbedder:
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
    def run(self, documents: list[Document]) -> dict[str, list[Document] | Failed]:
        """Return the `documents` that have an `embedding` now, in the order they were given, and
        of those that `failed` the id and the reason.

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
