"""Servers of Ollama and of OpenAI's API as providers of embeddings and of chat models.

What needs the HTTP client is imported where it is used: most commands do without.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from rag.clients.models import can_write, chosen_traits, full_name, reads_script
from rag.clients.protocols import (
    Batches,
    EmbeddingIdentity,
    ModelView,
    ServerView,
    Settings,
    Vector,
)
from rag.clients.servers import OLLAMA, OPENAI, Endpoint, check_listening, endpoints, forget
from rag.config import AUTO, ModelsConfig, OllamaConfig, RAGConfig
from rag.exceptions import ConfigError, ConnectionError, ModelError, ModelMissingError, RAGError
from rag.support.vector_digest import TEXTS, digest_of

if TYPE_CHECKING:
    from rag.clients.batch_embedder import BatchEmbedder
    from rag.clients.chat_model import ChatModel
    from rag.clients.http_client import HttpClient

Answer = TypeVar("Answer")
_TIMEOUTS = ("read_timeout", "request_timeout", "connect_timeout", "query_timeout")


@dataclass
class _Servers:
    """What the providers do alike; see `rag.clients.protocols.ModelProvider`.

    :param api: `ollama` or `openai`.
    :param section: `embedding` or `chat`.
    """

    config: ModelsConfig
    api: ClassVar[str]
    section: ClassVar[str]

    @property
    def endpoints(self) -> list[Endpoint]:
        """The servers that are asked, any of which will do."""
        return endpoints(self.api, self.section, self.config)

    @property
    def model(self) -> str:
        return self.endpoints[0].model

    @property
    def is_off(self) -> bool:
        if self.api == OLLAMA:
            return not self.config.ollama.enabled
        return not self.endpoints[0].url

    @property
    def lacking(self) -> str:
        if self.api == OLLAMA and self.is_off:
            return "Ollama, which is switched off"
        return self.endpoints[0].lacking

    @property
    def is_configured(self) -> bool:
        return not self.lacking

    def check_configured(self) -> None:
        if self.api == OLLAMA and self.is_off:
            raise ConfigError("Ollama is switched off (ollama.enabled)", hint="See `rag doctor`.")
        self.endpoints[0].check()

    def check_listening(self) -> None:
        self.check_configured()
        check_listening(self.endpoints)

    def survey(self) -> list[ServerView]:
        from concurrent.futures import ThreadPoolExecutor

        if self.api == OLLAMA and self.is_off:
            return [ServerView(self.api, self.config.ollama.url, is_off=True)]
        wanted: list[Endpoint] = []
        if self.config.embedding.provider == self.api:
            wanted += endpoints(self.api, "embedding", self.config)
        # Without a model answers are quotations, which the settings say.
        if self.config.chat.asked == self.api:
            wanted += [s for s in endpoints(self.api, "chat", self.config) if s.model]
        by_url: dict[str, list[Endpoint]] = {}
        for server in wanted:
            by_url.setdefault(server.url, []).append(server)
        with ThreadPoolExecutor(len(by_url) or 1) as pool:
            return [*pool.map(self._view, by_url.values())]

    def _view(self, wanted: list[Endpoint]) -> ServerView:
        """Ask one server for its models, and for those that are wanted of it."""
        from rag.clients.chat_model import connect
        from rag.clients.errors import missing

        started, server, limits = time.monotonic(), wanted[0], self.config.ollama
        seconds = limits.query_timeout / 2  # of each of two requests
        view = ServerView(self.api, server.url)
        forget(server)  # whoever asks wants to know how it is now
        try:
            if not server.url:
                server.check()
            with closing(connect(server, limits, limits.query_timeout)) as client:
                version, models = client.look(seconds)
        except RAGError as error:
            return replace(view, error=error)
        milliseconds = (time.monotonic() - started) * 1000
        view = replace(view, version=version, models=models, milliseconds=milliseconds)
        for server in wanted:
            is_chat = server.section == "chat"
            try:
                server.check()
                with closing(connect(server, limits, limits.query_timeout)) as client:
                    look = self._writer if is_chat else self._embedder
                    model: ModelView | RAGError = look(client, seconds)
            except ModelMissingError as error:
                is_named = models and server.model != AUTO
                model = missing(server, server.model, models) if is_named else error
            except RAGError as error:
                model = error
            view = replace(view, chat=model) if is_chat else replace(view, embedding=model)
        return view

    def _embedder(self, client: HttpClient, seconds: float) -> ModelView:
        server = client.endpoint
        if self.api == OPENAI:  # which does not tell
            model = OpenAIEmbeddings(self.config).at(server.url, seconds).identity(whole=True)
            return ModelView(model.model, model.digest, model.limit, model.dimension)
        info, unfit = client.describe_embedder(seconds), None
        if info.capabilities and "embedding" not in info.capabilities:
            hint = f"Name another in {server.model_setting}: `ollama show {info.name}`"
            unfit = ModelError(f"{info.name} at {server.url} gives no vectors", hint=hint)
        return ModelView(info.name, info.digest, info.limit, info.dimension, unfit)

    def _writer(self, client: HttpClient, seconds: float) -> ModelView:
        info, server = client.find_writer(seconds), client.endpoint
        unfit = None
        if not can_write(info):
            hint = f"Name another in {server.model_setting}, or `auto`."
            unfit = ModelError(f"{info.name} at {server.url} writes no answers", hint=hint)
        context, is_named = client.context_of(info, seconds), server.model != AUTO
        return ModelView(info.name, limit=context, unfit=unfit, is_named=is_named)


@dataclass
class _Embeddings(_Servers):
    """See `rag.clients.protocols.EmbeddingProvider`.

    What a model wants of its texts and which scripts it reads is known by its name, unless the
    section `[ollama]` says it.
    """

    section = "embedding"
    runtime: ClassVar[str] = ""
    backoff: ClassVar[float] = 0.5  # seconds before a failed request is sent again
    _queries: list[BatchEmbedder] = field(default_factory=list, init=False)
    _queries_dimension: int = field(default=0, init=False)

    @property
    def document_prefix(self) -> str:
        return chosen_traits(self.model, self.config.ollama).document_prefix

    def check_configured(self) -> None:
        if self.api == OLLAMA and self.lacking:
            what = "Ollama is allowed" if self.is_off else "embedding model is configured"
            raise ConfigError(f"no {what}", hint="Set ollama.enabled and ollama.embedding_model.")
        super().check_configured()

    def is_model(self, name: str) -> bool:
        return full_name(name) == full_name(self.model)

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        return reads_script(self.model, self.config.ollama, text, mostly)

    def at(self, server: str, seconds: float) -> Self:
        limits = self.config.ollama
        shorter = {name: min(getattr(limits, name), seconds) for name in _TIMEOUTS[:2]}
        limits = replace(limits, retries=0, max_in_flight=1, **shorter)
        if self.api == OLLAMA:
            return type(self)(replace(self.config, ollama=replace(limits, url=server, urls=[])))
        embedding = replace(self.config.embedding, url=server)
        return type(self)(replace(self.config, embedding=embedding, ollama=limits))

    def identity(self, whole: bool = False) -> EmbeddingIdentity:
        limits = self.config.ollama
        traits, seconds = chosen_traits(self.model, limits), limits.query_timeout
        digest = "" if whole else self._ask(lambda client: client.digest(seconds))[0]
        prefixes = traits.document_prefix, traits.query_prefix
        brief = EmbeddingIdentity(self.model, digest, prefixes[0], query_prefix=prefixes[1])
        if not whole:
            return brief
        infos = self._ask(lambda client: client.describe_embedder(seconds), of_all=True)
        info = infos[0]
        if len({other.digest for other in infos} - {""}) > 1:
            raise ModelError(
                f"the servers have different versions of {self.model}",
                self.endpoints[0].url,
                hint=f"Run `ollama pull {self.model}` on each.",
            )
        # What a server says of itself may be wrong, and it may not load: some vectors tell.
        texts = ("a",) if info.digest else TEXTS
        vectors = dict(pair for batch in self.embed_documents(texts) for pair in batch.vectors)
        if not vectors:
            server = self.endpoints[0]
            hint = f"Set {server.model_setting} to an embedding model of the server."
            raise ModelError(f"{self.model} gives no embeddings", server.url, hint=hint)
        digest = info.digest
        if len(vectors) == len(TEXTS):
            digest = digest_of([vectors[at] for at in sorted(vectors)])
        dimension = len(next(iter(vectors.values())))
        return replace(brief, digest=digest, dimension=dimension, limit=info.limit)

    def _ask(self, ask: Callable[[HttpClient], Answer], of_all: bool = False) -> list[Answer]:
        """Return what the first of the servers says that answers, or what all say that do.

        :raises ConnectionError: when none does; above all that one has not the model.
        """
        from rag.clients.chat_model import connect

        answers: list[Answer] = []
        failure: ConnectionError | None = None
        for server in self.endpoints:
            try:
                with closing(connect(server, self.config.ollama)) as client:
                    answers.append(ask(client))
                if not of_all:
                    break
            except ConnectionError as error:
                if failure is None or isinstance(error, ModelMissingError):
                    failure = error
        if not answers and failure:
            raise failure
        return answers

    def embed_query(self, texts: Sequence[str], dimension: int = 0) -> list[Vector | None]:
        from rag.clients.batch_embedder import embed_query

        limits = self.config.ollama
        if self._queries_dimension != dimension:
            self.close()
        if not self._queries:
            self._queries_dimension = dimension
            # A query is not worth waiting for.
            self._queries = self._embedders(
                seconds=limits.query_timeout,
                prefix=chosen_traits(self.model, limits).query_prefix,
                dimension=dimension,
                retries=min(limits.retries, 1),
                backoff=0.1,
                patient=False,
            )
        return embed_query(self._queries, texts)

    def embed_documents(
        self,
        texts: Iterable[str],
        measure: Callable[[str], int] | None = None,
        limit: int = 0,
        dimension: int = 0,
        patient: bool = True,
    ) -> Batches:
        from rag.clients.batch_embedder import embed_in_batches
        from rag.text.token_estimate import count_tokens

        limits = self.config.ollama
        embedders = self._embedders(
            prefix=self.document_prefix,
            dimension=dimension,
            limit=limit,
            measure=measure or count_tokens,
            retries=limits.retries,
            backoff=self.backoff,
            patient=patient,
        )
        yield from embed_in_batches(texts, embedders, limits.batch_tokens, limits.max_in_flight)

    def _embedders(self, seconds: float | None = None, **options: Any) -> list[BatchEmbedder]:
        """Return an embedder for each server, none of which is asked yet.

        :param seconds: the longest that a request may take; without it `ollama.request_timeout`.
        """
        from rag.clients.batch_embedder import BatchEmbedder
        from rag.clients.chat_model import connect

        self.endpoints[0].check()
        return [
            BatchEmbedder(connect(server, self.config.ollama, seconds), seconds=seconds, **options)
            for server in self.endpoints
        ]

    def close(self) -> None:
        for embedder in self._queries:
            embedder.client.close()
        self._queries = []


class _Chat(_Servers):
    """See `rag.clients.protocols.ChatProvider`."""

    section = "chat"

    def with_model(self, config: Settings, model: str) -> Settings:
        if self.api == OLLAMA:
            return replace(config, ollama=replace(config.ollama, chat_model=model))
        return replace(config, chat=replace(config.chat, model=model))

    def find_chat_model(self, deadline: float) -> str:
        self.check_listening()
        with closing(self._chat_model(self._limited(deadline))) as chat:
            return chat.info.name

    def context_window(self, model: str = "") -> int:
        try:
            with closing(self._chat_model(self.config, model)) as chat:
                return chat.window
        except RAGError:  # another generator may answer, which does without the server
            return self.config.ollama.max_context

    def generator(self, model: str = "", seconds: float | None = None) -> Any:
        config = self.config if seconds is None else self._limited(seconds)
        return self._generator(config, model, timeout=seconds)

    def answer_generator(self, model: str, think: bool, temperature: float, tokens: int) -> Any:
        options = {"temperature": temperature, "num_predict": tokens}
        return self._generator(self.config, model, think, None, options, keeps_failures=True)

    def _generator(self, config: ModelsConfig, *arguments: Any, **more: Any) -> Any:
        from rag.clients.chat_generators import OllamaGenerator, OpenAIGenerator

        if self.api == OLLAMA:
            return OllamaGenerator(config.ollama, *arguments, **more)
        return OpenAIGenerator(config, *arguments, **more)

    def _chat_model(self, config: ModelsConfig, model: str = "") -> ChatModel:
        from rag.clients.chat_model import ChatModel

        [server] = endpoints(self.api, "chat", config, model)
        return ChatModel(server, config.ollama)

    def _limited(self, seconds: float) -> ModelsConfig:
        """Return settings by which nothing is waited for longer."""
        limits = self.config.ollama
        shorter = {name: min(getattr(limits, name), seconds) for name in _TIMEOUTS}
        return replace(self.config, ollama=replace(limits, **shorter))


class OllamaEmbeddings(_Embeddings):
    """The embedding model of the configured servers of Ollama."""

    api = OLLAMA


class OpenAIEmbeddings(_Embeddings):
    """The embedding model of the configured server of OpenAI's API. That has no digests: models are
    told apart by vectors of fixed texts."""

    api = OPENAI


class OllamaChat(_Chat):
    """The chat models of the configured server of Ollama."""

    api = OLLAMA


class OpenAIChat(_Chat):
    """The chat models of the configured server of OpenAI's API."""

    api = OPENAI


def get_embedding(text: str, config: OllamaConfig | RAGConfig | None = None) -> Vector:
    """Return the vector of one query by Ollama's configured model, prefix and all.

    :raises QueryError: when there is no text.
    :raises ConnectionError: when no server gives a vector.
    """
    from rag.clients.ollama_api import ollama_settings

    with closing(OllamaEmbeddings(ModelsConfig(ollama=ollama_settings(config)))) as embeddings:
        [vector] = embeddings.embed_query([text])
        assert vector
        return vector
