"""Servers that speak OpenAI's API as providers of embeddings and of chat models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rag.clients.openai.endpoint import (
    Endpoint,
    chat_endpoint,
    check_endpoint,
    embedding_endpoint,
)
from rag.clients.protocols import Batches, EmbeddingIdentity, ServerView, Settings
from rag.config import ModelsConfig
from rag.exceptions import ModelError, RAGError
from rag.support.vector_digest import TEXTS, digest_of

if TYPE_CHECKING:
    from rag.clients.embeddings.batch_embedder import BatchEmbedder

_TIMEOUTS = ("read_timeout", "request_timeout")
_ALL_TIMEOUTS = (*_TIMEOUTS, "connect_timeout", "query_timeout")


@dataclass
class OpenAIEmbeddings:
    """The embedding model of the configured server; see `rag.clients.protocols`."""

    config: ModelsConfig
    _queries: BatchEmbedder | None = field(default=None, init=False)
    _dimension: int = field(default=0, init=False)  # that of the vectors that `_queries` takes

    @property
    def endpoint(self) -> Endpoint:
        """The server, and the model."""
        return embedding_endpoint(self.config)

    @property
    def model(self) -> str:
        """The name of the configured model."""
        return self.endpoint.model

    @property
    def is_configured(self) -> bool:
        """Whether there is a model to ask."""
        return not self.lacking

    @property
    def lacking(self) -> str:
        """What there must be before there is a model to ask."""
        return self.endpoint.lacking

    def check_configured(self) -> None:
        """Refuse to go on when there is no model to ask."""
        check_endpoint(self.endpoint)

    @property
    def document_prefix(self) -> str:
        """What is put before a text of a note."""
        from rag.clients.embeddings.model_traits import chosen_traits

        return chosen_traits(self.model, self.config.ollama).document_prefix

    def is_model(self, name: str) -> bool:
        """Return whether a name is that of the configured model, with its tag or without."""
        from rag.clients.embeddings.model_traits import full_name

        return full_name(name) == full_name(self.model)

    def check_listening(self) -> None:
        """Raise an error when it is plain that the server does not answer."""
        _check_listening(self.endpoint)

    def forget_silence(self) -> None:
        """Ask the server again, whatever is remembered of it."""
        _forget_silence(self.endpoint)

    def survey(self) -> list[ServerView]:
        """Ask all servers of this API."""
        from rag.clients.openai.survey import survey

        return survey(self.config)

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
        from rag.clients.embeddings.model_traits import chosen_traits
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
        from rag.clients.embeddings.stream import embed_queries
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

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        """Return whether the model reads the scripts of a text, or most of it."""
        from rag.clients.embeddings.model_traits import reads_script

        return reads_script(self.model, self.config.ollama, text, mostly)

    def close(self) -> None:
        """Close all connections."""
        if self._queries is not None:
            self._queries.pool.close()
            self._queries = None


@dataclass
class OpenAIChat:
    """The chat models of the configured server; see `rag.clients.protocols.ChatProvider`."""

    config: ModelsConfig

    @property
    def endpoint(self) -> Endpoint:
        """The server, and the model."""
        return chat_endpoint(self.config)

    @property
    def model(self) -> str:
        """The name of the configured model."""
        return self.endpoint.model

    @property
    def is_off(self) -> bool:
        """Whether no server is named."""
        return not self.endpoint.url

    @property
    def is_configured(self) -> bool:
        """Whether there is a model to ask."""
        return not self.endpoint.lacking

    def with_model(self, config: Settings, model: str) -> Settings:
        """Return settings with another chat model."""
        return replace(config, chat=replace(config.chat, model=model))

    def check_listening(self) -> None:
        """Raise an error when it is plain that the server does not answer."""
        _check_listening(self.endpoint)

    def forget_silence(self) -> None:
        """Ask the server again, whatever is remembered of it."""
        _forget_silence(self.endpoint)

    def survey(self) -> list[ServerView]:
        """Ask all servers of this API."""
        from rag.clients.openai.survey import survey

        return survey(self.config)

    def find_chat_model(self, deadline: float) -> str:
        """Return the name of the model that is to answer, which the server was asked for."""
        self.check_listening()
        from rag.clients.openai.chat_model import ChatModel

        with closing(ChatModel(self._limited(deadline))) as chat:
            return chat.served.name

    def context_window(self, model: str = "") -> int:
        """Return the tokens of prompt and answer together."""
        from rag.clients.openai.chat_model import ChatModel

        try:
            with closing(ChatModel(self.config, model)) as chat:
                return chat.window
        except RAGError:  # another generator may answer, which does without the server
            return self.config.ollama.max_context

    def generator(self, model: str = "", seconds: float | None = None) -> Any:
        """Return a chat generator; no server is asked before it runs."""
        from rag.clients.openai.chat_generator import OpenAIGenerator

        config = self.config if seconds is None else self._limited(seconds)
        return OpenAIGenerator(config, model, timeout=seconds)

    def answer_generator(self, model: str, think: bool, temperature: float, tokens: int) -> Any:
        """Return the chat generator that answers questions."""
        from rag.clients.openai.answer_generator import OpenAIAnswerGenerator

        options = {"temperature": temperature, "num_predict": tokens}
        return OpenAIAnswerGenerator(self.config, model, think, generation_kwargs=options)

    def _limited(self, seconds: float) -> ModelsConfig:
        limits = self.config.ollama
        shorter = {name: min(getattr(limits, name), seconds) for name in _ALL_TIMEOUTS}
        return replace(self.config, ollama=replace(limits, **shorter))


def _check_listening(endpoint: Endpoint) -> None:
    """Refuse to go on when it is plain that the server does not answer.

    :raises ConfigError: when none is named.
    :raises ConnectionError: when nobody answers.
    """
    check_endpoint(endpoint)
    from rag.clients.servers.reachability import check_listening

    check_listening([endpoint.base], endpoint.advice)


def _forget_silence(endpoint: Endpoint) -> None:
    from rag.clients.servers.silent_servers import forget

    forget([endpoint.base])
