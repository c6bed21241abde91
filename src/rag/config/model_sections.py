"""The settings of who runs models: who makes vectors, who writes, and Ollama's servers."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from rag.config.providers import AUTO, CHAT_PROVIDERS, EMBEDDING_PROVIDERS
from rag.config.setting import KEY_HOSTS, setting
from rag.config.untrusted import off_only

# Of servers that speak OpenAI's HTTP API.
_SERVER = (
    "the server, such as http://127.0.0.1:8080 (llama.cpp, LM Studio, vLLM and others that speak "
    "OpenAI's HTTP API)"
)
_KEY = (
    "for openai: the NAME of the environment variable that holds the server's API key, never the "
    "key itself; empty: none is sent"
)


@dataclass(frozen=True)
class EmbeddingConfig:
    """`[embedding]`: who makes vectors."""

    provider: str = setting(
        AUTO,
        f"who makes the vectors: {', '.join(EMBEDDING_PROVIDERS)}; auto: who made those of"
        " the index, else Ollama if it has the model, else builtin",
    )
    url: str = setting("", f"for openai: {_SERVER}")
    model: str = setting("", "for openai: the name of the embedding model, as the server lists it")
    api_key: str = setting("", _KEY)
    key_hosts: list[str] = setting(list, KEY_HOSTS)
    path: str = setting(
        "", "for onnx: the model.onnx of an embedding model, with its tokenizer.json beside it"
    )
    pooling: str = setting(
        "auto", "for onnx: mean, cls or last; auto: as the files beside the model say"
    )
    dimension: int = setting(
        0, "for onnx: keep so many numbers of a vector, of models trained for that; 0: all"
    )
    threads: int = setting(0, "processors that a model in this program may take; 0: all")
    minutes: float = setting(
        10.0,
        "how long a run without a terminal embeds, before it leaves the rest to the next one",
    )


@dataclass(frozen=True)
class ChatConfig:
    """`[chat]`: who runs chat models."""

    provider: str = setting(
        AUTO,
        f"who writes answers, plans and transforms: {', '.join(CHAT_PROVIDERS)}; auto: openai where"
        " url is set, else ollama",
    )
    url: str = setting("", f"for openai: {_SERVER}")
    model: str = setting(
        AUTO,
        "for openai: the name of the chat model, as the server lists it; auto: the first that can;"
        " empty: answers by quotation",
    )
    api_key: str = setting("", _KEY)
    key_hosts: list[str] = setting(list, KEY_HOSTS)

    @property
    def asked(self) -> str:
        """The provider that is asked: for `auto` the one whose settings are there."""
        if self.provider != AUTO:
            return self.provider
        return "openai" if self.url else "ollama"


@dataclass(frozen=True)
class RerankConfig:
    """`[rerank]`: who orders the best results again, where a search asks for it."""

    path: str = setting(
        "",
        "the model.onnx of a cross-encoder, with its tokenizer.json beside it; empty: the chat"
        " model",
    )


@dataclass(frozen=True)
class OllamaConfig:
    """`[ollama]`: the model servers, and what is asked of them."""

    enabled: bool = setting(True, "false: never talk to Ollama", off_only)
    url: str = setting("http://127.0.0.1:11434", "where Ollama answers")
    urls: list[str] = setting(list, "embedding servers, used in parallel; empty means url")
    generation_url: str = setting("", "the server of the chat model; empty means url")
    embedding_model: str = setting("bge-m3", "gives the vectors; empty means search by words")
    chat_model: str = setting(
        AUTO,
        "writes the answers; auto: the first installed one that can; empty: answers by quotation",
    )
    query_prefix: str = setting(
        "auto", "put before a query to embed; auto knows the prefixes of common models"
    )
    document_prefix: str = setting("auto", "put before a chunk to embed; auto as above")
    multilingual: str = setting(
        "auto", "auto, yes or no: whether the embedding model reads more than English"
    )
    max_context: int = setting(8192, "largest context asked of the chat model, in tokens")
    batch_tokens: int = setting(4096, "how much one embedding request holds, in tokens")
    max_in_flight: int = setting(2, "how many requests each embedding server has at once")
    retries: int = setting(2, "how often a failed request is sent again")
    keep_alive: str = setting("10m", "how long a model stays loaded; -1m means for ever")
    connect_timeout: float = setting(3.0, "longest wait for a connection, in seconds")
    read_timeout: float = setting(
        120.0, "longest silence of a server, in seconds; it is silent while a model loads"
    )
    request_timeout: float = setting(600.0, "longest request or answer as a whole, in seconds")
    query_timeout: float = setting(15.0, "longest wait for the vector of a query, in seconds")
    transform_timeout: float = setting(
        30.0, "longest wait for what a model makes of a query (transforms), in seconds"
    )

    @property
    def embedding_urls(self) -> list[str]:
        """The servers that embed, each once."""
        return list(dict.fromkeys(self.urls or [self.url]))

    @property
    def remote_url(self) -> str:
        """The first server that embeds."""
        return self.embedding_urls[0]

    @property
    def local_url(self) -> str:
        """The server that generates."""
        return self.generation_url or self.url


@dataclass(frozen=True, kw_only=True)
class ModelsConfig:
    """The sections that providers of models are made of: a provider's own is one of them."""

    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    chat: ChatConfig = field(default_factory=ChatConfig)
    rerank: RerankConfig = field(default_factory=RerankConfig)
    ollama: OllamaConfig = field(default_factory=OllamaConfig)


def models_config(config: ModelsConfig | OllamaConfig | None) -> ModelsConfig:
    """Return the sections for providers alone: those given, else the defaults.

    Who gives an `[ollama]` section asks for Ollama.
    """
    if config is None:
        return ModelsConfig()
    if isinstance(config, OllamaConfig):
        return ModelsConfig(embedding=EmbeddingConfig("ollama"), ollama=config)
    return ModelsConfig(**{item.name: getattr(config, item.name) for item in fields(ModelsConfig)})
