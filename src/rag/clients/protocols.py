"""What search, indexing and answers ask of whoever runs models."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

Batches = Generator["EmbeddedTexts", None, None]


class EmbeddedTexts(Protocol):
    """What became of a few texts; positions count from 0 in the order they were given."""

    @property
    def vectors(self) -> list[tuple[int, list[float]]]:
        """Position and vector of each that has one."""

    @property
    def failures(self) -> list[tuple[int, str]]:
        """Position and reason of each that has none."""


@dataclass(frozen=True)
class EmbeddingIdentity:
    """What makes vectors: those of two models cannot be compared.

    :param digest: changes when the model does under the same name; empty if not told.
    :param document_prefix: what is put before a text of a note.
    :param dimension: the length of vectors; 0 when nobody asked the model for one.
    :param limit: the most tokens of a text; 0 if not told.
    :param query_prefix: what is put before a query.
    """

    model: str
    digest: str = ""
    document_prefix: str = ""
    dimension: int = 0
    limit: int = 0
    query_prefix: str = ""


class EmbeddingProvider(Protocol):
    """Makes vectors of queries and of documents. No server is asked before that is wanted."""

    @property
    def is_configured(self) -> bool:
        """Whether there is a model to ask."""

    @property
    def document_prefix(self) -> str:
        """What is put before a text of a note, as far as the settings tell."""

    def is_model(self, name: str) -> bool:
        """Return whether a name is that of the configured model, however it is spelt."""

    def check_listening(self) -> None:
        """Raise a `ConnectionError` when it is plain that nobody answers."""

    def identity(self, whole: bool = False) -> EmbeddingIdentity:
        """Return what makes the vectors now.

        :param whole: with dimension and limit, for which the model must make a vector.
        :raises ConnectionError: when nobody can be asked.
        """

    def embed_query(self, texts: Sequence[str], dimension: int = 0) -> list[list[float] | None]:
        """Return the vectors of a query and of what else to search for, in one request.

        :returns: `None` for texts that have none; the first always has one.
        :raises QueryError: when the first is empty.
        :raises ConnectionError: when there is no vector.
        """

    def embed_documents(
        self,
        texts: Iterable[str],
        measure: Callable[[str], int],
        limit: int = 0,
        dimension: int = 0,
        patient: bool = True,
    ) -> Batches:
        """Yield the vectors of texts, batch by batch as they are done.

        :param patient: wait for a server that is busy, and find out which text is at fault; else
            whatever goes wrong is raised at once.
        :raises ConnectionError: when nobody does the work; what came before stays valid.
        """

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        """Return whether the model reads the scripts of a text.

        :param mostly: it is enough that it reads most of the text.
        """

    def close(self) -> None:
        """Close all connections; they open again when they are wanted."""


class ChatProvider(Protocol):
    """Finds chat models, and makes Haystack chat generators of them."""

    @property
    def is_configured(self) -> bool:
        """Whether there is a model to ask."""

    def find_chat_model(self, deadline: float) -> str:
        """Return the name of the model that is to answer.

        :param deadline: seconds that looking for it may take.
        :raises ConfigError: when none is configured.
        :raises ConnectionError: when there is none, or nobody can be asked.
        """

    def generator(self, model: str = "", seconds: float | None = None) -> Any:
        """Return a chat generator; no server is asked before it runs.

        Its `run` takes `generation_kwargs` (`temperature`, `num_predict`) and `response_format`,
        a JSON schema; `close` closes its connection.

        :param model: another model than the configured one.
        :param seconds: the longest that it may wait for anything, and the whole answer take.
        """


@runtime_checkable
class BriefChat(Protocol):
    """A chat generator that can also reply to something beside the answers it is there for."""

    def brief_reply(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], tokens: int
    ) -> str:
        """Return a short reply, without reasoning and within the time of a query.

        :param messages: of `role` and `content`.
        :param schema: the JSON schema that the reply must fit.
        :param tokens: the longest reply.
        """
