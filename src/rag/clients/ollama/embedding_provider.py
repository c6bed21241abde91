"""Ollama as a provider of embeddings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from rag.clients.protocols import Batches, EmbeddingIdentity
from rag.clients.reachability import check_listening
from rag.config import OllamaConfig
from rag.exceptions import ConnectionError, ModelError
from rag.text.scripts import has_other_letters, is_latin

if TYPE_CHECKING:
    from rag.clients.ollama.embedding_stream import QueryVectors


class OllamaEmbeddings:
    """The embedding model of the configured servers; see `rag.clients.protocols`.

    :param config: the `[ollama]` settings.
    """

    def __init__(self, config: OllamaConfig) -> None:
        self.config = config
        self._queries: QueryVectors | None = None
        self._dimension = 0  # that of the vectors that `_queries` takes

    @property
    def is_configured(self) -> bool:
        """Whether there is a model to ask."""
        return self.config.enabled and bool(self.config.embedding_model)

    @property
    def document_prefix(self) -> str:
        """What is put before a text of a note."""
        from rag.clients.ollama.model_info import traits

        return traits(self.config).document_prefix

    def is_model(self, name: str) -> bool:
        """Return whether a name is that of the configured model, with its tag or without."""
        from rag.clients.ollama.model_info import full_name

        return full_name(name) == full_name(self.config.embedding_model)

    def check_listening(self) -> None:
        """Raise a `ConnectionError` when it is plain that no server answers."""
        check_listening(self.config.embedding_urls)

    def identity(self, whole: bool = False) -> EmbeddingIdentity:
        """Return what makes the vectors now: `whole` asks for one."""
        from rag.clients.ollama.model_info import ask_servers, describe_model, find_digest, traits

        config, model = self.config, self.config.embedding_model
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
            self._queries, self._dimension = QueryVectors(self.config, dimension), dimension
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
        from rag.clients.ollama.batching import estimate_tokens
        from rag.clients.ollama.embedding_stream import embed_texts

        return embed_texts(
            texts,
            self.config,
            measure=measure or estimate_tokens,
            limit=limit,
            dimension=dimension,
            patient=patient,
        )

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        """Return whether the model reads the scripts of a text, or most of it."""
        from rag.clients.ollama.model_info import traits

        if traits(self.config).multilingual:
            return True
        return is_latin(text) if mostly else not has_other_letters(text)

    def close(self) -> None:
        """Close all connections."""
        if self._queries is not None:
            self._queries.close()
            self._queries = None


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
