"""Embedding the chunks of an index: those that have no vector yet, and no text twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from haystack import Document

from rag.clients import ModelInfo, describe_model, embed_texts, traits
from rag.clients.wire import OllamaClient
from rag.config import OllamaConfig
from rag.exceptions import (
    ConnectionError,
    ModelError,
    ModelMissingError,
)
from rag.pipelines.components import embedded_text
from rag.pipelines.spaces import Space, other_model, read_embedded, record_embedded
from rag.pipelines.working_copy import WorkingCopy
from rag.stores.manifest import UNEMBEDDED
from rag.stores.protocol import NoteStore
from rag.stores.vector_cache import VectorCache
from rag.text.budget import count_tokens
from rag.text.scripts import is_latin

Progress = Callable[[int, int], None]


def find_space(config: OllamaConfig) -> tuple[Space, ModelInfo]:
    """Ask the servers what the configured model's embeddings are.

    :raises ModelMissingError: when no server has the model.
    :raises ConnectionError: when none answers.
    """
    info = _describe(config)
    # What it says of itself may be wrong, and it may not load: one vector tells.
    sizes = [len(vector) for batch in embed_texts(["a"], config) for _, vector in batch.vectors]
    model = config.embedding_model
    if not sizes:
        hint = f"Try `ollama run {model} test`, or another ollama.embedding_model."
        raise ModelError(f"{model} gives no embeddings", config.remote_url, hint=hint)
    return Space(model, info.digest, sizes[0], traits(config).document_prefix), info


def _describe(config: OllamaConfig) -> ModelInfo:
    trouble: ConnectionError | None = None
    for url in config.embedding_urls:
        with OllamaClient(url, config) as client:
            try:
                return describe_model(client, config.embedding_model, config.query_timeout)
            except ConnectionError as error:
                if trouble is None or isinstance(error, ModelMissingError):
                    trouble = error
    assert trouble
    raise trouble


@dataclass
class EmbeddingReport:
    """What embedding did.

    :param made: how many vectors a model made.
    :param reused: how many were known from an earlier run.
    :param failed: what is wrong with those that have none, by `vault/path:line`.
    """

    made: int = 0
    reused: int = 0
    unreadable: int = 0
    failed: dict[str, str] = field(default_factory=dict)


class ChunkEmbedding:
    """Gives the chunks of a working copy the embeddings that they lack.

    :param space: what the embeddings are made by.
    :param limit: the most tokens the model reads; 0 when not known.
    """

    def __init__(
        self,
        store: NoteStore,
        cache: VectorCache,
        config: OllamaConfig,
        space: Space,
        limit: int = 0,
    ) -> None:
        self.store, self.cache, self.config = store, cache, config
        self.space, self.limit = space, limit
        self.report = EmbeddingReport()
        self._reads_all = traits(config).multilingual
        # Id, text and place of each chunk, in the order they were sent.
        self._waiting: list[tuple[str, str, str]] = []

    def run(self, progress: Progress | None = None) -> EmbeddingReport:
        """Embed what lacks an embedding; each batch is in the store when the next one comes.

        :param progress: called with how many chunks are done, and of how many.
        :raises ConnectionError: when no server does its work; what came before stays.
        """
        total = self.store.count_documents() - self.store.count_embedded()
        show = progress or (lambda done, total: None)
        batches = embed_texts(
            self._texts(),
            self.config,
            measure=count_tokens,
            limit=self.limit,
            dimension=self.space.dimension,
        )
        for batch in batches:
            made = dict(batch.vectors)
            self.cache.put(self.space.key, {self._waiting[at][1]: v for at, v in made.items()})
            self._write({self._waiting[at][0]: vector for at, vector in made.items()})
            self.report.made += len(made)
            self.report.failed |= {self._waiting[at][2]: why for at, why in batch.failures}
            for at in (*made, *(at for at, _ in batch.failures)):
                self._waiting[at] = ("", "", "")  # what is done need not stay in memory
            show(self._done, total)
        show(self._done, total)
        return self.report

    @property
    def _done(self) -> int:
        report = self.report
        return report.made + report.reused + report.unreadable + len(report.failed)

    def _texts(self) -> Iterator[str]:
        """Yield the texts that need a model."""
        for page in self.store.without_embedding():
            texts = {document.id: embedded_text(document) for document in page}
            known = self.cache.get(self.space.key, texts.values())
            self._write({key: known[text] for key, text in texts.items() if text in known})
            self.report.reused += sum(text in known for text in texts.values())
            for document in page:
                text = texts[document.id]
                if text in known:
                    continue
                if not text or not (self._reads_all or is_latin(text)):
                    self.report.unreadable += 1
                    continue
                self._waiting.append((document.id, text, _place(document)))
                yield text

    def _write(self, embeddings: dict[str, list[float]]) -> None:
        self.store.write_embeddings(embeddings)


def _place(document: Document) -> str:
    meta = document.meta
    return f"{meta.get('vault')}/{meta.get('file_path')}:{meta.get('line_start')}"


def embed_working_copy(
    copy: WorkingCopy, anew: bool = False, progress: Progress | None = None
) -> EmbeddingReport:
    """Embed what lacks an embedding.

    :param anew: make those of another model again, by the configured one.
    :raises ConnectionError: when no server does its work; what came before stays, and counts.
    :raises IndexUnavailableError: when the index holds embeddings of another model.
    """
    config = copy.config.ollama
    embedded = read_embedded(copy.manifest)
    is_ours = embedded is not None and embedded.space.is_configured(config)
    if embedded and not is_ours and not anew:
        raise other_model(embedded.space, config)
    space, info = find_space(config)
    if embedded and embedded.space != space and not anew:
        raise other_model(embedded.space, config)
    copy.prepare()
    before = copy.begin_space(space)
    work = ChunkEmbedding(copy.store, copy.vectors, config, space, info.limit)
    try:
        report = work.run(progress)
        copy.manifest.set(**{UNEMBEDDED: "yes" if report.failed else ""})
        copy.vectors.trim(space.key, 2 * copy.store.count_documents())
    finally:
        now = replace(before, unreadable=work.report.unreadable, failed=len(work.report.failed))
        record_embedded(copy.manifest, now)
        if work.report.made or work.report.reused:
            copy.manifest.raise_revision()
    return report
