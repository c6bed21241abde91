"""Servers of Ollama and of OpenAI's API as providers of embeddings and of chat models.

What needs the HTTP client is imported where it is used: most commands do without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from rag.clients.models import can_write, chosen_traits, full_name, reads_script
from rag.clients.protocols import (
    Batches,
    ChatProvider,
    EmbeddingProvider,
    ModelInfo,
    ModelProvider,
    ServerView,
    Settings,
    Vector,
)
from rag.clients.servers import (
    OLLAMA,
    OPENAI,
    Endpoint,
    check_listening,
    endpoints,
    ollama_settings,
)
from rag.config import AUTO, ModelsConfig, OllamaConfig, RAGConfig
from rag.exceptions import ConnectionError, ModelError, ModelMissingError, RAGError
from rag.support.vector_digest import TEXTS, digest_of

if TYPE_CHECKING:
    from rag.clients.batch_embedder import BatchEmbedder
    from rag.clients.dialects import Client
    from rag.clients.http_client import Delta, Messages

Answer = TypeVar("Answer")


def _limited(config: ModelsConfig, seconds: float) -> OllamaConfig:
    """Return limits by which nothing is waited for longer."""
    limits = config.ollama
    names = ("read_timeout", "request_timeout", "connect_timeout", "query_timeout")
    return replace(limits, **{name: min(getattr(limits, name), seconds) for name in names})


@dataclass
class _Servers(ModelProvider):
    """What the providers do alike."""

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
        server = self.endpoints[0]
        return server.is_off or not server.url

    @property
    def lacking(self) -> str:
        return self.endpoints[0].lacking

    def check_configured(self) -> None:
        self.endpoints[0].check()

    def check_listening(self) -> None:
        self.check_configured()
        check_listening(self.endpoints)

    def survey(self) -> list[ServerView]:
        if self.endpoints[0].is_off:
            return [ServerView(self.api, self.config.ollama.url, is_off=True)]
        wanted: list[Endpoint] = []
        if self.config.embedding.provider == self.api:
            wanted += endpoints(self.api, "embedding", self.config)
        # Without a model answers are quotations, which the settings say.
        if self.config.chat.asked == self.api:
            wanted += [s for s in endpoints(self.api, "chat", self.config) if s.model]
        from rag.clients.dialects import look_at

        limits, views = self.config.ollama, dict[str, ServerView]()
        for server in wanted:
            if server.url not in views:
                views[server.url] = look_at(server, limits, limits.query_timeout / 2)
            view = views[server.url]
            if view.ok:
                setattr(view, server.section, self._examined(server, view.models))
        return [*views.values()]

    def _examined(self, server: Endpoint, models: Sequence[str]) -> ModelInfo | RAGError:
        """Return what a server says of the model that is wanted of it, or why there is none."""
        from rag.clients.dialects import connect
        from rag.clients.http_client import missing

        limits, is_named = self.config.ollama, server.model != AUTO
        seconds = limits.query_timeout / 2
        try:
            server.check()
            with closing(connect(server, limits, limits.query_timeout)) as client:
                if server.section == "chat":
                    info = client.find_writer(seconds)
                    context = client.context_of(info, seconds)
                    lacks = "" if can_write(info) else "writes no answers"
                    info = ModelInfo(info.name, context=context, is_named=is_named)
                elif self.api == OPENAI:  # which does not tell
                    embeddings = OpenAIEmbeddings(self.config).at(server.url, seconds)
                    info, lacks = embeddings.identity(whole=True), ""
                else:
                    info = client.describe_embedder(seconds)
                    embeds = "embedding" in (info.capabilities or ("embedding",))
                    lacks = "" if embeds else "gives no vectors"
        except ModelMissingError as error:
            return missing(server, server.model, tuple(models)) if models and is_named else error
        except RAGError as error:
            return error
        if not lacks:
            return info
        advice = ", or `auto`." if server.section == "chat" else f": `ollama show {info.name}`"
        hint = f"Name another in {server.model_setting}{advice}"
        return replace(info, unfit=ModelError(f"{info.name} at {server.url} {lacks}", hint=hint))


@dataclass
class _Embeddings(_Servers, EmbeddingProvider):
    """What a model wants of its texts and which scripts it reads is known by its name, unless the
    section `[ollama]` says it."""

    section = "embedding"
    backoff: ClassVar[float] = 0.5  # seconds before a failed request is sent again
    _queries: list[BatchEmbedder] = field(default_factory=list, init=False)
    _queries_dimension: int = field(default=0, init=False)

    @property
    def document_prefix(self) -> str:
        return chosen_traits(self.model, self.config.ollama).document_prefix

    def is_model(self, name: str) -> bool:
        return full_name(name) == full_name(self.model)

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        return reads_script(self.model, self.config.ollama, text, mostly)

    def at(self, server: str, seconds: float) -> Self:
        limits = replace(_limited(self.config, seconds), retries=0, max_in_flight=1)
        if self.api == OLLAMA:
            return type(self)(replace(self.config, ollama=replace(limits, url=server, urls=[])))
        embedding = replace(self.config.embedding, url=server)
        return type(self)(replace(self.config, embedding=embedding, ollama=limits))

    def identity(self, whole: bool = False) -> ModelInfo:
        limits = self.config.ollama
        traits, seconds = chosen_traits(self.model, limits), limits.query_timeout
        brief = ModelInfo(
            self.model, document_prefix=traits.document_prefix, query_prefix=traits.query_prefix
        )
        if not whole:
            return replace(brief, digest=self._ask(lambda client: client.digest(seconds)))
        info = self._ask(lambda client: client.describe_embedder(seconds))
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
        return replace(brief, digest=digest, dimension=dimension, context=info.limit)

    def _ask(self, ask: Callable[[Client], Answer]) -> Answer:
        """Return what the first of the servers says that answers, or raise why none does."""
        from rag.clients.dialects import connect

        failure: ConnectionError | None = None
        for server in self.endpoints:
            try:
                server.check()
                with closing(connect(server, self.config.ollama)) as client:
                    return ask(client)
            except ConnectionError as error:
                if failure is None or isinstance(error, ModelMissingError):
                    failure = error
        assert failure
        raise failure

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
        self, texts: Iterable[str], limit: int = 0, dimension: int = 0, patient: bool = True
    ) -> Batches:
        from rag.clients.batch_embedder import embed_in_batches

        limits = self.config.ollama
        embedders = self._embedders(
            prefix=self.document_prefix,
            dimension=dimension,
            limit=limit,
            retries=limits.retries,
            backoff=self.backoff,
            patient=patient,
        )
        yield from embed_in_batches(texts, embedders, limits.batch_tokens, limits.max_in_flight)

    def _embedders(self, seconds: float | None = None, **options: Any) -> list[BatchEmbedder]:
        from rag.clients.batch_embedder import BatchEmbedder
        from rag.clients.dialects import connect

        self.endpoints[0].check()
        return [
            BatchEmbedder(connect(server, self.config.ollama, seconds), seconds=seconds, **options)
            for server in self.endpoints
        ]

    def close(self) -> None:
        for embedder in self._queries:
            embedder.client.close()
        self._queries = []


class _Chat(_Servers, ChatProvider):
    section = "chat"

    def with_model(self, config: Settings, model: str) -> Settings:
        if self.api == OLLAMA:
            return replace(config, ollama=replace(config.ollama, chat_model=model))
        return replace(config, chat=replace(config.chat, model=model))

    def find_chat_model(self, deadline: float) -> str:
        self.check_listening()
        config = replace(self.config, ollama=_limited(self.config, deadline))
        from rag.clients.dialects import connect_writer

        with closing(connect_writer(self.api, config)) as client:
            return client.writer.name

    def context_window(self, model: str = "") -> int:
        from rag.clients.dialects import connect_writer

        try:
            with closing(connect_writer(self.api, self.config, model)) as client:
                return client.window
        except RAGError:  # another generator may answer, which does without the server
            return super().context_window(model)

    def generator(self, model: str = "", seconds: float | None = None) -> Any:
        config = self.config
        if seconds is not None:
            config = replace(config, ollama=_limited(config, seconds))
        return self._generator(config, model, timeout=seconds)

    def answer_generator(self, model: str, think: bool, temperature: float, tokens: int) -> Any:
        options = {"temperature": temperature, "num_predict": tokens}
        return self._generator(self.config, model, think, None, options, keeps_failures=True)

    def _generator(self, config: ModelsConfig, *arguments: Any, **more: Any) -> Any:
        from rag.clients.chat_generators import OllamaGenerator, OpenAIGenerator

        if self.api == OLLAMA:
            return OllamaGenerator(config.ollama, *arguments, **more)
        return OpenAIGenerator(config, *arguments, **more)


class OllamaEmbeddings(_Embeddings):
    """See `EmbeddingProvider`."""

    api = OLLAMA


class OpenAIEmbeddings(_Embeddings):
    """OpenAI's API has no digests: models are told apart by vectors of fixed texts."""

    api = OPENAI


class OllamaChat(_Chat):
    """See `ChatProvider`."""

    api = OLLAMA


class OpenAIChat(_Chat):
    """See `ChatProvider`."""

    api = OPENAI


def get_embedding(text: str, config: OllamaConfig | RAGConfig | None = None) -> Vector:
    """Return the vector of one query by Ollama's configured model, prefix and all.

    :raises QueryError: when there is no text.
    :raises ConnectionError: when no server gives a vector.
    """
    with closing(OllamaEmbeddings(ModelsConfig(ollama=ollama_settings(config)))) as embeddings:
        [vector] = embeddings.embed_query([text])
        assert vector
        return vector


def generate_response(
    prompt: Messages,
    config: OllamaConfig | RAGConfig | None = None,
    *,
    model: str = "",
    on_delta: Callable[[Delta], Any] | None = None,
    **arguments: Any,
) -> str:
    """Return the answer of Ollama's configured chat model to a prompt, without its reasoning.

    :param on_delta: called with each piece as it arrives.
    :param arguments: `format`, `think`, `options` and `seconds` of `HttpClient.answer`.
    :raises ConfigError: when no chat model is configured; else as `HttpClient.answer`.
    """
    from rag.clients.dialects import connect_writer

    settings = ModelsConfig(ollama=ollama_settings(config))
    with closing(connect_writer(OLLAMA, settings, model)) as client:
        return client.respond(prompt, on_delta, **arguments).text


def check_connection(server: str | OllamaConfig | RAGConfig | None = None) -> ServerView:
    """Ask a server of Ollama for its version and its models; what is wrong is its `error`.

    :param server: an address; or the settings, whose servers are all asked, should have the
        configured models, and of which the first that is not `ok` is returned, else the first.
        Without it the settings in force.
    """
    if isinstance(server, str):
        from rag.clients.dialects import look_at

        config = OllamaConfig()
        return look_at(Endpoint(OLLAMA, "embedding", server), config, config.query_timeout)
    views = check_servers(ollama_settings(server))
    return next((each for each in views if not each.ok), views[0])


def check_servers(config: OllamaConfig) -> list[ServerView]:
    """Ask every configured server of Ollama; each should have the model it is to run."""
    from rag.clients.dialects import look_at
    from rag.clients.http_client import missing

    settings, views = ModelsConfig(ollama=config), dict[str, ServerView]()
    for section in ("embedding", "chat"):
        for server in endpoints(OLLAMA, section, settings):
            if server.url not in views:
                views[server.url] = look_at(server, config, config.query_timeout)
            view, model = views[server.url], server.model.removeprefix(AUTO)
            if view.ok and model and full_name(model) not in map(full_name, view.models):
                view.error = missing(server, model)
    return [*views.values()]
