"""Ollama as a provider of embeddings and of chat models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rag.clients.chat.provider import ServerChat, ServerEmbeddings, ServerProvider
from rag.clients.protocols import Batches, EmbeddingIdentity, ServerView, Settings
from rag.config import ModelsConfig, OllamaConfig
from rag.exceptions import ConfigError, ConnectionError, ModelError

if TYPE_CHECKING:
    from rag.clients.chat.generator import ChatConnection
    from rag.clients.ollama.embedders import QueryVectors
    from rag.clients.servers.reachability import Advice

_TIMEOUTS = ("read_timeout", "request_timeout")


class _OllamaProvider(ServerProvider):
    """What is said of Ollama's servers, whatever they are asked for."""

    config: ModelsConfig

    @property
    def advice(self) -> Advice:
        """What to tell when none of them answers."""
        from rag.clients.ollama.advice import advice

        return advice()

    def survey(self) -> list[ServerView]:
        """Ask all servers of Ollama."""
        from rag.clients.ollama.model_info import survey

        return survey(self.config)


@dataclass
class OllamaEmbeddings(_OllamaProvider, ServerEmbeddings):
    """The embedding model of the configured servers; see `rag.clients.protocols`."""

    config: ModelsConfig
    _queries: QueryVectors | None = field(default=None, init=False)
    _dimension: int = field(default=0, init=False)  # that of the vectors that `_queries` takes

    @property
    def model(self) -> str:
        """The name of the configured model."""
        return self.config.ollama.embedding_model

    @property
    def is_configured(self) -> bool:
        """Whether there is a model to ask."""
        return not self.lacking

    @property
    def lacking(self) -> str:
        """What there must be before there is a model to ask."""
        if not self.config.ollama.enabled:
            return "Ollama, which is switched off"
        return "" if self.model else "a model: set ollama.embedding_model"

    def check_configured(self) -> None:
        """Refuse to go on when there is no model to ask."""
        if self.lacking:
            on = self.config.ollama.enabled
            what = "embedding model is configured" if on else "Ollama is allowed"
            raise ConfigError(f"no {what}", hint="Set ollama.enabled and ollama.embedding_model.")

    @property
    def addresses(self) -> list[str]:
        """The servers that embed."""
        return self.config.ollama.embedding_urls

    def check_allowed(self) -> None:
        """Refuse to go on when Ollama is switched off."""
        if not self.config.ollama.enabled:
            raise ConfigError("Ollama is switched off", hint="Set ollama.enabled = true.")

    def at(self, server: str, seconds: float) -> OllamaEmbeddings:
        """Return a provider that asks one server alone, once, and waits so long."""
        ollama = self.config.ollama
        longest = {name: min(getattr(ollama, name), seconds) for name in _TIMEOUTS}
        one = replace(ollama, url=server, urls=[], retries=0, max_in_flight=1, **longest)
        return OllamaEmbeddings(replace(self.config, ollama=one))

    def identity(self, whole: bool = False) -> EmbeddingIdentity:
        """Return what makes the vectors now: `whole` asks for one."""
        from rag.clients.ollama.model_info import ask_servers, describe_model, find_digest, traits

        config, model = self.config.ollama, self.model
        wanted, seconds = traits(config), config.query_timeout
        document, query = wanted.document_prefix, wanted.query_prefix
        if not whole:
            digest = ask_servers(config, lambda client: find_digest(client, model, seconds))
            return EmbeddingIdentity(model, digest, document, query_prefix=query)
        info = ask_servers(config, lambda client: describe_model(client, model, seconds))
        _check_versions(config)
        # What it says of itself may be wrong, and it may not load: one vector tells.
        batches = self.embed_documents(["a"])
        sizes = [len(vector) for batch in batches for _, vector in batch.vectors]
        if not sizes:
            hint = f"Try `ollama run {model} test`, or another ollama.embedding_model."
            raise ModelError(f"{model} gives no embeddings", config.remote_url, hint=hint)
        return EmbeddingIdentity(model, info.digest, document, sizes[0], info.limit, query)

    def embed_query(self, texts: Sequence[str], dimension: int = 0) -> list[list[float] | None]:
        """Return the vectors of a query and of what else to search for, in one request."""
        from rag.clients.ollama.embedders import QueryVectors

        if self._queries is not None and self._dimension != dimension:
            self.close()
        if self._queries is None:
            self._queries, self._dimension = QueryVectors(self.config.ollama, dimension), dimension
        return self._queries.embed_all(texts)

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
        from rag.clients.ollama.embedders import embed_texts

        return embed_texts(
            texts,
            self.config.ollama,
            measure=measure or estimate_tokens,
            limit=limit,
            dimension=dimension,
            patient=patient,
        )

    def close(self) -> None:
        """Close all connections."""
        if self._queries is not None:
            self._queries.close()
            self._queries = None


@dataclass
class OllamaChat(_OllamaProvider, ServerChat):
    """The chat models of the configured server; see `rag.clients.protocols.ChatProvider`."""

    config: ModelsConfig

    @property
    def model(self) -> str:
        """The name of the configured model."""
        return self.config.ollama.chat_model

    @property
    def is_off(self) -> bool:
        """Whether Ollama is switched off."""
        return not self.config.ollama.enabled

    @property
    def is_configured(self) -> bool:
        """Whether there is a model to ask."""
        return bool(self.config.ollama.enabled and self.config.ollama.chat_model)

    def with_model(self, config: Settings, model: str) -> Settings:
        """Return settings with another chat model."""
        return replace(config, ollama=replace(config.ollama, chat_model=model))

    @property
    def addresses(self) -> list[str]:
        """The server that writes."""
        return [self.config.ollama.local_url]

    def check_allowed(self) -> None:
        """Refuse to go on when Ollama is switched off."""
        if self.is_off:
            raise ConfigError("Ollama is switched off (ollama.enabled)", hint="See `rag doctor`.")

    def _connection(self, config: ModelsConfig, model: str = "") -> ChatConnection:
        from rag.clients.ollama.chat_generator import ChatModel

        return ChatModel(config.ollama, model)

    def _generators(self) -> tuple[Any, Any]:
        from rag.clients.ollama.chat_generator import AnswerGenerator, OllamaGenerator

        return OllamaGenerator, AnswerGenerator

    def _section(self, config: ModelsConfig) -> OllamaConfig:
        return config.ollama


def _check_versions(config: OllamaConfig) -> None:
    """Refuse servers that have different models under one name.

    :raises ModelError: when they do; a server that does not answer is passed over.
    """
    from rag.clients.ollama.http_client import OllamaClient
    from rag.clients.ollama.model_info import find_digest

    model = config.embedding_model
    digests: dict[str, str] = {}
    for url in config.embedding_urls if len(config.embedding_urls) > 1 else ():
        with suppress(ConnectionError), OllamaClient(url, config) as client:
            digests[find_digest(client, model, config.query_timeout)] = url
    digests.pop("", None)
    if len(digests) > 1:
        one, other, *_ = digests.values()
        raise ModelError(
            f"{one} and {other} have different versions of {model}",
            other,
            hint=f"Run `ollama pull {model}` on both.",
        )
