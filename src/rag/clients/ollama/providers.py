"""Ollama as a provider of embeddings and of chat models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rag.clients.protocols import Batches, EmbeddingIdentity, ServerView, Settings
from rag.config import ModelsConfig, OllamaConfig
from rag.exceptions import ConfigError, ConnectionError, ModelError, RAGError, Remedy

if TYPE_CHECKING:
    from rag.clients.ollama.embedding_stream import QueryVectors

_TIMEOUTS = ("read_timeout", "request_timeout")
_ALL_TIMEOUTS = (*_TIMEOUTS, "connect_timeout", "query_timeout")


@dataclass
class OllamaEmbeddings:
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
    def document_prefix(self) -> str:
        """What is put before a text of a note."""
        from rag.clients.ollama.model_info import traits

        return traits(self.config.ollama).document_prefix

    def is_model(self, name: str) -> bool:
        """Return whether a name is that of the configured model, with its tag or without."""
        from rag.clients.embeddings.model_traits import full_name

        return full_name(name) == full_name(self.model)

    def check_listening(self) -> None:
        """Raise an error when it is plain that no server answers."""
        if not self.config.ollama.enabled:
            raise ConfigError("Ollama is switched off", hint="Set ollama.enabled = true.")
        from rag.clients.ollama.advice import advice
        from rag.clients.servers.reachability import check_listening

        check_listening(self.config.ollama.embedding_urls, advice())

    def forget_silence(self) -> None:
        """Ask the servers again, whatever is remembered of them."""
        from rag.clients.servers.silent_servers import forget

        forget(self.config.ollama.embedding_urls)

    def survey(self) -> list[ServerView]:
        """Ask all servers of Ollama."""
        from rag.clients.ollama.inventory import survey

        return survey(self.config)

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
        from rag.clients.ollama.embedding_stream import QueryVectors

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
        from rag.clients.ollama.embedding_stream import embed_texts

        return embed_texts(
            texts,
            self.config.ollama,
            measure=measure or estimate_tokens,
            limit=limit,
            dimension=dimension,
            patient=patient,
        )

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        """Return whether the model reads the scripts of a text, or most of it."""
        from rag.clients.embeddings.model_traits import reads_script

        return reads_script(self.model, self.config.ollama, text, mostly)

    def close(self) -> None:
        """Close all connections."""
        if self._queries is not None:
            self._queries.close()
            self._queries = None


@dataclass
class OllamaChat:
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

    def check_listening(self) -> None:
        """Raise an error when it is plain that the server does not answer."""
        if self.is_off:
            raise ConfigError("Ollama is switched off (ollama.enabled)", remedy=Remedy.SEE_DOCTOR)
        from rag.clients.ollama.advice import advice
        from rag.clients.servers.reachability import check_listening

        check_listening([self.config.ollama.local_url], advice())

    def forget_silence(self) -> None:
        """Ask the server again, whatever is remembered of it."""
        from rag.clients.servers.silent_servers import forget

        forget([self.config.ollama.local_url])

    def survey(self) -> list[ServerView]:
        """Ask all servers of Ollama."""
        from rag.clients.ollama.inventory import survey

        return survey(self.config)

    def find_chat_model(self, deadline: float) -> str:
        """Return the name of the model that is to answer, which the server was asked for."""
        self.check_listening()
        from rag.clients.ollama.chat import ChatModel

        with closing(ChatModel(self._limited(deadline))) as chat:
            return chat.info.name

    def context_window(self, model: str = "") -> int:
        """Return the tokens of prompt and answer together."""
        from rag.clients.ollama.chat import ChatModel

        try:
            with closing(ChatModel(self.config.ollama, model)) as chat:
                return chat.window
        except RAGError:  # another generator may answer, which does without Ollama
            return self.config.ollama.max_context

    def generator(self, model: str = "", seconds: float | None = None) -> Any:
        """Return a chat generator; no server is asked before it runs."""
        from rag.clients.ollama.chat_generator import OllamaGenerator

        config = self.config.ollama if seconds is None else self._limited(seconds)
        return OllamaGenerator(config, model, timeout=seconds)

    def answer_generator(self, model: str, think: bool, temperature: float, tokens: int) -> Any:
        """Return the chat generator that answers questions."""
        from rag.clients.ollama.answer_generator import AnswerGenerator

        options = {"temperature": temperature, "num_predict": tokens}
        return AnswerGenerator(self.config.ollama, model, think, generation_kwargs=options)

    def _limited(self, seconds: float) -> OllamaConfig:
        ollama = self.config.ollama
        return replace(
            ollama, **{name: min(getattr(ollama, name), seconds) for name in _ALL_TIMEOUTS}
        )


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
