"""A model in ONNX on the user's disk as a provider of embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property, partial
from importlib.metadata import version
from importlib.util import find_spec

from rag.clients.builtin.document_process import Load
from rag.clients.builtin.providers import BuiltinEmbeddings
from rag.clients.embeddings.model_traits import Traits, known_traits
from rag.clients.embeddings.model_traits import reads_script as reads
from rag.clients.onnx import runner
from rag.clients.onnx.model_folder import ModelFolder
from rag.clients.onnx.runner import ModelFiles
from rag.clients.protocols import EmbeddingIdentity
from rag.config import ModelsConfig
from rag.exceptions import ConfigError
from rag.support.vector_digest import TEXTS, digest_of

SETTING = "embedding.path"


class OnnxEmbeddings(BuiltinEmbeddings):
    """The model at `embedding.path`; see `rag.clients.protocols.EmbeddingProvider`.

    Prefixes are those of the settings, of the model's folder, or known by its name, in this order.
    """

    provider = "onnx"

    @cached_property
    def folder(self) -> ModelFolder:
        """The files of the model."""
        return ModelFolder(self.config.embedding.path, SETTING)

    @property
    def model(self) -> str:
        """The name of the model's folder; empty when there is none."""
        try:
            return self.folder.name if self.is_configured else ""
        except ConfigError:
            return ""

    @property
    def is_configured(self) -> bool:
        """Whether the settings name a model."""
        return bool(self.config.embedding.path)

    @property
    def lacking(self) -> str:
        """What there must be before there is a model to ask."""
        return "" if self.is_configured else f"the file of a model ({SETTING})"

    @property
    def document_prefix(self) -> str:
        """What is put before a text of a note."""
        return self._traits.document_prefix

    def check_configured(self) -> None:
        """Refuse to go on when the settings name no model, or it lacks a file or a library."""
        if not self.is_configured:
            raise ConfigError(
                f"{SETTING} is empty, where embedding.provider is onnx",
                hint="It takes the path of model.onnx, with its tokenizer.json beside it.",
            )
        self.folder.check()

    check_listening = check_configured

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        """Return whether the model reads the scripts of a text; one whose name is not known is
        taken to, unless `ollama.multilingual` says no."""
        if known_traits(self.model) is None and self.config.ollama.multilingual == "auto":
            return True
        return reads(self.model, self.config.ollama, text, mostly)

    def identity(self, whole: bool = False) -> EmbeddingIdentity:
        """Return what makes the vectors now: the version of the model's file, and `whole` what it
        makes of a few texts."""
        self.check_configured()
        traits, facts = self._traits, self.folder
        made = EmbeddingIdentity(
            self.model, facts.version, traits.document_prefix, 0, facts.limit, traits.query_prefix
        )
        if not whole:
            return made
        vectors = self._embed([*TEXTS], is_query=False)
        return replace(made, digest=digest_of(vectors, made.digest), dimension=len(vectors[0]))

    def _embed(self, texts: Sequence[str], is_query: bool) -> list[list[float]]:
        prefix = self._traits.query_prefix if is_query else self.document_prefix
        prefixed = [f"{prefix}{text}" for text in texts]
        call = self._process().call
        made: list[list[float]] = call(runner.embed, self._files, self._threads, prefixed).tolist()
        return made

    @property
    def _engines(self) -> str:
        return f"onnxruntime {version('onnxruntime')}" if find_spec("onnxruntime") else ""

    @property
    def _prepare(self) -> None:
        return None  # a process with threads must not fork

    @property
    def _load(self) -> Load:
        return partial(runner.load, self._files._replace(prefix=self.document_prefix))

    @property
    def _files(self) -> ModelFiles:
        embedding, folder = self.config.embedding, self.folder
        pooling = folder.pooling if embedding.pooling == "auto" else embedding.pooling
        return ModelFiles(
            str(folder.model), str(folder.tokenizer), folder.limit, pooling, embedding.dimension
        )

    @cached_property
    def _traits(self) -> Traits:
        ollama = self.config.ollama
        known = known_traits(self.model) or Traits()
        said = self.folder.prefixes() or (known.query_prefix, known.document_prefix)
        query, document = (
            own if setting == "auto" else setting
            for own, setting in zip(
                said, (ollama.query_prefix, ollama.document_prefix), strict=True
            )
        )
        return Traits(query, document)


def rank(config: ModelsConfig, query: str, passages: list[str], seconds: float) -> list[float]:
    """Return how well each passage answers a query, by the cross-encoder at `rerank.path`.

    :raises ConfigError: when there is none.
    :raises ConnectionError: when it fails, or takes longer than `seconds`.
    """
    from rag.clients.builtin.query_process import QueryProcess

    folder = ModelFolder(config.rerank.path, "rerank.path")
    folder.check()
    files = ModelFiles(str(folder.model), str(folder.tokenizer), folder.limit)
    with closing(QueryProcess(seconds)) as process:
        threads = config.embedding.threads or 1
        scores: list[float] = process.call(runner.rank, files, threads, query, passages)
    return scores
