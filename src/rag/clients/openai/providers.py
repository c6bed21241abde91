"""Servers that speak OpenAI's API as providers of embeddings and of chat models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rag.clients.chat.provider import ServerChat, ServerEmbeddings, ServerProvider
from rag.clients.openai.endpoint import (
    Endpoint,
    chat_endpoint,
    check_endpoint,
    embedding_endpoint,
)
from rag.clients.protocols import Batches, EmbeddingIdentity, ServerView, Settings
from rag.config import ModelsConfig
from rag.exceptions import ModelError
from rag.support.vector_digest import TEXTS, digest_of

if TYPE_CHECKING:
    from rag.clients.chat.generator import ChatConnection
    from rag.clients.embeddings.batch_embedder import BatchEmbedder
    from rag.clients.servers.reachability import Advice

_TIMEOUTS = ("read_timeout", "request_timeout")


class _OpenAIProvider(ServerProvider):
    """What is said of one server, whatever it is asked for."""

    config: ModelsConfig

    @property
    def endpoint(self) -> Endpoint:
        """The server, and the model."""
        raise NotImplementedError

    @property
    def model(self) -> str:
        """The name of the configured model."""
        return self.endpoint.model

    @property
    def is_configured(self) -> bool:
        """Whether there is a model to ask."""
        return not self.endpoint.lacking

    @property
    def addresses(self) -> list[str]:
        """The server, with the version of the API."""
        return [self.endpoint.base]

    @property
    def advice(self) -> Advice:
        """What to tell when it does not answer."""
        return self.endpoint.advice

    def check_allowed(self) -> None:
        """Refuse to go on when no server or no model is named."""
        check_endpoint(self.endpoint)

    def survey(self) -> list[ServerView]:
        """Ask all servers of this API."""
        from rag.clients.openai.served_models import survey

        return survey(self.config)


@dataclass
class OpenAIEmbeddings(_OpenAIProvider, ServerEmbeddings):
    """The embedding model of the configured server; see `rag.clients.protocols`."""

    config: ModelsConfig
    _queries: BatchEmbedder | None = field(default=None, init=False)
    _dimension: int = field(default=0, init=False)  # that of the vectors that `_queries` takes

    @property
    def endpoint(self) -> Endpoint:
        """The server, and the model."""
        return embedding_endpoint(self.config)

    @property
    def lacking(self) -> str:
        """What there must be before there is a model to ask."""
        return self.endpoint.lacking

    def check_configured(self) -> None:
        """Refuse to go on when there is no model to ask."""
        self.check_allowed()

    def at(self, server: str, seconds: float) -> OpenAIEmbeddings:
        """Return a provider that asks the server once, and waits so long."""
        limits = self.config.ollama
        longest = {name: min(getattr(limits, name), seconds) for name in _TIMEOUTS}
        once = replace(limits, retries=0, max_in_flight=1, **longest)
        embedding = replace(self.config.embedding, url=server)
        return OpenAIEmbeddings(replace(self.config, embedding=embedding, ollama=once))

    def identity(self, whole: bool = False) -> EmbeddingIdentity:
        """Return what makes the vectors now: `whole` asks for some. The API has no digests, so that
        the model is told by vectors of fixed texts."""
        from rag.clients.models import chosen_traits
        from rag.clients.openai.embedding_model import EmbeddingModel
        from rag.clients.openai.served_models import find_embedding_limit

        limits, endpoint = self.config.ollama, self.endpoint
        wanted = chosen_traits(self.model, limits)
        document, query = wanted.document_prefix, wanted.query_prefix
        made = EmbeddingIdentity(self.model, "", document, query_prefix=query)
        if not whole:
            return made
        batches = self.embed_documents(TEXTS)
        found = dict(made for batch in batches for made in batch.vectors)
        if not found:
            hint = "Set embedding.model to an embedding model of the server."
            raise ModelError(f"{self.model} gives no embeddings", endpoint.url, hint=hint)
        with closing(EmbeddingModel(endpoint, limits, limits.query_timeout)) as client:
            try:
                limit = find_embedding_limit(client, self.model, limits.query_timeout)
            except client.failures:  # it makes vectors, and that is enough
                limit = 0
        is_whole = len(found) == len(TEXTS)
        digest = digest_of([found[at] for at in sorted(found)]) if is_whole else ""
        return replace(made, digest=digest, dimension=len(found[min(found)]), limit=limit)

    def embed_query(self, texts: Sequence[str], dimension: int = 0) -> list[list[float] | None]:
        """Return the vectors of a query and of what else to search for, in one request."""
        from rag.clients.embeddings.batch_embedder import embed_queries
        from rag.clients.openai.embedding_model import query_embedder

        if self._queries is not None and self._dimension != dimension:
            self.close()
        if self._queries is None:
            self._queries, self._dimension = query_embedder(self.config, dimension), dimension
        return embed_queries(self._queries, texts)

    def embed_documents(
        self,
        texts: Iterable[str],
        measure: Callable[[str], int] | None = None,
        limit: int = 0,
        dimension: int = 0,
        patient: bool = True,
    ) -> Batches:
        """Yield the vectors of texts, batch by batch as they are done."""
        from rag.clients.embeddings.batching import estimate_tokens
        from rag.clients.openai.embedding_model import embed_texts

        measure = measure or estimate_tokens
        return embed_texts(texts, self.config, measure, limit, dimension, patient)

    def close(self) -> None:
        """Close all connections."""
        if self._queries is not None:
            self._queries.pool.close()
            self._queries = None


@dataclass
class OpenAIChat(_OpenAIProvider, ServerChat):
    """The chat models of the configured server; see `rag.clients.protocols.ChatProvider`."""

    config: ModelsConfig

    @property
    def endpoint(self) -> Endpoint:
        """The server, and the model."""
        return chat_endpoint(self.config)

    @property
    def is_off(self) -> bool:
        """Whether no server is named."""
        return not self.endpoint.url

    def with_model(self, config: Settings, model: str) -> Settings:
        """Return settings with another chat model."""
        return replace(config, chat=replace(config.chat, model=model))

    def _connection(self, config: ModelsConfig, model: str = "") -> ChatConnection:
        from rag.clients.openai.chat_generator import ChatModel

        return ChatModel(config, model)

    def _generators(self) -> tuple[Any, Any]:
        from rag.clients.openai.chat_generator import OpenAIAnswerGenerator, OpenAIGenerator

        return OpenAIGenerator, OpenAIAnswerGenerator
