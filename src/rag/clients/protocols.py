"""What search, indexing and answers ask of whoever runs models.

A provider derives from `EmbeddingProvider` or `ChatProvider`, or has all that they have. As they
are here they are the provider `none`, which refuses. No server is asked before that is wanted.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from rag.config import ModelsConfig
from rag.exceptions import LIST_SETTINGS, ConfigError, RAGError

Settings = TypeVar("Settings", bound=ModelsConfig)
Vector = list[float]


@dataclass(frozen=True)
class EmbeddedTexts:
    """What became of a few texts: `vectors` are pairs of position (from 0) and vector, `failures`
    of position and reason."""

    vectors: list[tuple[int, Vector]] = field(default_factory=list)
    failures: list[tuple[int, str]] = field(default_factory=list)


Batches = Generator[EmbeddedTexts, None, None]


@dataclass(frozen=True)
class ModelInfo:
    """What is known of a model; numbers are 0 and texts empty where whoever runs it does not say.
    Vectors of two embedding models, or of one with other prefixes, cannot be compared.

    :param digest: changes when the model does.
    :param context: the most tokens it reads; `num_ctx` those it is loaded with by itself.
    :param dimension: the length of its vectors.
    :param capabilities: `embedding`, `completion`, `thinking`, …
    :param family: its architecture.
    :param unfit: why it cannot do what the settings want it for, if so.
    :param is_named: whether the settings name it; else it was picked.
    :param document_prefix: what is put before a text of a note; `query_prefix` before a query.
    """

    name: str
    digest: str = ""
    context: int = 0
    dimension: int = 0
    num_ctx: int = 0
    capabilities: tuple[str, ...] = ()
    family: str = ""
    aliases: tuple[str, ...] = ()
    unfit: RAGError | None = None
    is_named: bool = True
    document_prefix: str = ""
    query_prefix: str = ""

    @property
    def limit(self) -> int:
        """The most tokens of a text to embed; 0 if not told."""
        return min(filter(None, (self.context, self.num_ctx)), default=0)


@dataclass
class ServerView:
    """What a server, or whatever else runs models, says of itself and of those that are wanted;
    `ok, error = view` unpacks the essence.

    :param provider: the name of the section that configures it.
    :param error: why it does not answer, or lacks a model, with what mends it.
    :param is_off: the settings forbid to ask it.
    :param embedding: the embedding model, or why there is none; `None` where none is wanted.
    """

    provider: str
    server: str
    version: str = ""
    models: tuple[str, ...] = ()
    milliseconds: float = 0.0
    error: RAGError | None = None
    is_off: bool = False
    embedding: ModelInfo | RAGError | None = None
    chat: ModelInfo | RAGError | None = None

    @property
    def ok(self) -> bool:
        """Whether it answers and has every model that is wanted."""
        return self.error is None

    def __iter__(self) -> Iterator[bool | str | None]:
        return iter((self.ok, None if self.error is None else str(self.error)))


@dataclass
class ModelProvider:
    """What every provider of models does."""

    config: ModelsConfig

    def refusal(self) -> ConfigError:
        """Return the error of who is asked and has no model."""
        return ConfigError(f"this needs {self.lacking}", hint=LIST_SETTINGS)

    @property
    def model(self) -> str:
        """The name of the configured model, for chat `auto` for any; empty for none."""
        return ""

    @property
    def lacking(self) -> str:
        """What there must be before there is a model to ask, in words, or ""."""
        return "a provider of models"

    @property
    def is_configured(self) -> bool:
        """Whether there is a model to ask."""
        return not self.lacking

    def check_configured(self) -> None:
        """Raise a `ConfigError` that names the settings when there is no model to ask."""
        raise self.refusal()

    def check_listening(self) -> None:
        """Raise an error when it is plain that nobody answers: a `ConfigError` when the settings
        forbid to ask, else a `ConnectionError`."""
        self.check_configured()

    def survey(self) -> list[ServerView]:
        """Ask all servers of this provider, for embeddings and for chat, in about twice
        `ollama.query_timeout`."""
        return []

    def close(self) -> None:
        """Close all connections; they open again when they are wanted."""


class EmbeddingProvider(ModelProvider):
    """Makes vectors of queries and of documents; see the module for `none`.

    :param runtime: the program and version that computed the last vectors; "" for servers.
    """

    runtime = ""

    @property
    def lacking(self) -> str:
        return "an embedding model (embedding.provider is none)"

    @property
    def document_prefix(self) -> str:
        """What is put before a text of a note, as far as the settings tell."""
        return ""

    def is_model(self, name: str) -> bool:
        """Return whether a name is that of the configured model, however it is spelt."""
        return bool(name) and name == self.model

    def at(self, server: str, seconds: float) -> EmbeddingProvider:
        """Return a provider that asks one server of a survey alone, once, and waits so long."""
        raise self.refusal()

    def identity(self, whole: bool = False) -> ModelInfo:
        """Return what makes the vectors now.

        :param whole: with dimension and limit, for which the model must make a vector.
        :raises ConnectionError: when nobody can be asked.
        """
        raise self.refusal()

    def embed_query(self, texts: Sequence[str], dimension: int = 0) -> list[Vector | None]:
        """Return the vectors of a query and of what else to search for, in one request; `None` for
        texts that have none, which the first never is.

        :raises QueryError: when the first is empty.
        :raises ConnectionError: when there is no vector.
        """
        raise self.refusal()

    def embed_documents(
        self, texts: Iterable[str], limit: int = 0, dimension: int = 0, patient: bool = True
    ) -> Batches:
        """Yield the vectors of texts, batch by batch as they are done; a `ConnectionError` when
        nobody does the work: what came before stays valid.

        :param limit: the most tokens the model reads: longer texts are cut into windows; 0:
            unknown.
        :param dimension: the length vectors must have; 0 takes that of the first.
        :param patient: wait for a busy server, and find out which text is at fault; else raise at
            once.
        """
        raise self.refusal()

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        """Return whether the model reads the scripts of a text, or with `mostly` of most of it."""
        return False


class ChatProvider(ModelProvider):
    """Finds chat models, and makes Haystack chat generators of them; see the module for `none`."""

    @property
    def lacking(self) -> str:
        return "a chat model (chat.provider is none)"

    @property
    def is_off(self) -> bool:
        """Whether the settings forbid to ask any model."""
        return True

    def with_model(self, config: Settings, model: str) -> Settings:
        """Return settings with another chat model; with none at all for ""."""
        return config

    def find_chat_model(self, deadline: float) -> str:
        """Return the name of the model that is to answer, found within so many seconds.

        :raises ConfigError: when none is configured.
        :raises ConnectionError: when there is none, or nobody can be asked.
        """
        raise self.refusal()

    def context_window(self, model: str = "") -> int:
        """Return the tokens of prompt and answer together, of the configured model or another; the
        cap of the settings where it cannot be asked."""
        return self.config.ollama.max_context

    def generator(self, model: str = "", seconds: float | None = None) -> Any:
        """Return a chat generator of the configured model or another, which waits so long at most.

        Its `run` takes `generation_kwargs` (`temperature`, `num_predict`) and `response_format`,
        a JSON schema; `close` closes its connection.
        """
        raise self.refusal()

    def answer_generator(self, model: str, think: bool, temperature: float, tokens: int) -> Any:
        """Return the chat generator that answers questions, with `tokens` at the most and, if it is
        to `think`, after reasoning.

        Any of Haystack's will do. One whose `run` takes a `streaming_callback` streams. One that
        has a `Response` in the meta of its reply (as `RESPONSE`) has a prompt that is too long sent
        again with fewer notes, and what there is of an answer kept. One with
        `brief_reply(messages, schema, tokens)` replies to something beside the answers, without
        reasoning and within the time of a query.
        """
        raise self.refusal()


RESPONSE = "response"  # what the meta of an answer has its `Response` under


@dataclass
class Response:
    """An answer, as far as it has arrived, and what it took.

    :param finish_reason: `stop`; `length` when it reached its limit; empty when it broke off.
    :param prompt_tokens: how many tokens of the prompt the model read, and `tokens` how many it
        wrote; `None` if not told.
    :param num_ctx: how many it was given for both together; 0 if not told.
    :param model: empty when the server was not asked.
    :param load_seconds: how many of the `seconds` the model took to load.
    :param failure: why there is no more of it, where that is an error; `interrupted` by Ctrl-C.
    :param no_reasoning: whether the model was to reason and cannot.
    """

    text: str = ""
    thinking: str = ""
    finish_reason: str = ""
    prompt_tokens: int | None = None
    tokens: int | None = None
    num_ctx: int = 0
    model: str = ""
    server: str = ""
    seconds: float = 0.0
    load_seconds: float = 0.0
    failure: RAGError | None = None
    interrupted: bool = False
    no_reasoning: bool = False


# -- what reads texts with a question in mind ----------------------------------------------

# A text, and ranges of its characters: in each the best span is looked for.
TextToRead = tuple[str, Sequence[tuple[int, int]]]


class Span(NamedTuple):
    """Characters of a text that answer a question best; `score` is their log odds against no
    answer."""

    score: float
    begin: int
    end: int


class Reading(NamedTuple):
    """What a text says of a question.

    :param answered: the log odds that it answers.
    :param spans: the best one of each range; `None` where that was not read.
    """

    answered: float
    spans: list[Span | None]
