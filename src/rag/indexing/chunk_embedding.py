"""Embedding the chunks of an index: those that have no vector yet, and no text twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from haystack import Document

from rag.clients.factory import embedding_provider
from rag.clients.protocols import EmbeddedTexts, EmbeddingProvider
from rag.index.embedding_space import Embedded, Space, other_model, read_embedded, record_embedded
from rag.index.manifest import UNEMBEDDED
from rag.index.searchable_text import embedded_text
from rag.index.vector_cache import VectorCache
from rag.indexing.index_writer import IndexWriter
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.token_estimate import count_tokens

Progress = Callable[[int, int], None]


def find_space(embeddings: EmbeddingProvider) -> tuple[Space, int]:
    """Return what the model's embeddings are, and the most tokens that it reads.

    :raises ModelMissingError: when no server has the model.
    :raises ConnectionError: when none answers.
    """
    made = embeddings.identity(whole=True)
    return Space(made.model, made.digest, made.dimension, made.document_prefix), made.limit


@dataclass
class EmbeddingReport:
    """What embedding did.

    :param made: how many vectors a model made.
    :param reused: how many were known, from an earlier run or from another chunk of this text.
    :param unreadable: how many were left out since the model does not read their script.
    :param failed: what is wrong with those that have none, by `vault/path:line`.
    """

    made: int = 0
    reused: int = 0
    unreadable: int = 0
    failed: dict[str, str] = field(default_factory=dict)


class _Sent(NamedTuple):
    """A text under way, and the id and place of each chunk that has it."""

    text: str
    chunks: list[tuple[str, str]]


class ChunkEmbedding:
    """Gives the chunks of a staging index the embeddings that they lack.

    :param embeddings: who makes them.
    :param space: what they are made by.
    :param limit: the most tokens the model reads; 0 when not known.
    """

    def __init__(
        self,
        store: BaseDocumentStore,
        cache: VectorCache,
        embeddings: EmbeddingProvider,
        space: Space,
        limit: int = 0,
    ) -> None:
        self.store, self.cache, self.embeddings = store, cache, embeddings
        self.space, self.limit = space, limit
        self.report = EmbeddingReport()
        # What the model is at, by position among all texts sent; and the positions by text.
        self._sent: dict[int, _Sent] = {}
        self._positions: dict[str, int] = {}
        self._count = 0

    def run(self, progress: Progress | None = None) -> EmbeddingReport:
        """Embed what lacks an embedding; each batch is in the store when the next one comes.

        :param progress: called with how many chunks are done, and of how many.
        :raises ConnectionError: when no server does its work; what came before stays.
        """
        total = self.store.count_documents() - self.store.count_embedded()
        show = progress or (lambda done, total: None)
        batches = self.embeddings.embed_documents(
            self._texts(), count_tokens, self.limit, self.space.dimension
        )
        with closing(batches):  # whatever goes wrong here, nothing more is sent
            for batch in batches:
                self._write(batch)
                show(self._done, total)
        show(self._done, total)
        return self.report

    def _write(self, batch: EmbeddedTexts) -> None:
        made = [(self._take(at), vector) for at, vector in batch.vectors]
        self.cache.put(self.space.key, {sent.text: vector for sent, vector in made})
        self.store.write_embeddings(
            {key: vector for sent, vector in made for key, _ in sent.chunks}
        )
        self.report.made += len(made)
        self.report.reused += sum(len(sent.chunks) - 1 for sent, _ in made)
        for at, why in batch.failures:
            self.report.failed |= {place: why for _, place in self._take(at).chunks}

    def _take(self, position: int) -> _Sent:
        """What is done need not stay in memory."""
        sent = self._sent.pop(position)
        del self._positions[sent.text]
        return sent

    @property
    def _done(self) -> int:
        report = self.report
        return report.made + report.reused + report.unreadable + len(report.failed)

    def _texts(self) -> Iterator[str]:
        """Yield the texts that need a model, each once."""
        for page in self.store.without_embedding():
            by_text: dict[str, list[Document]] = {}
            for document in page:
                by_text.setdefault(embedded_text(document.meta, document.content), []).append(
                    document
                )
            known = self.cache.get(self.space.key, by_text)
            vectors = {d.id: vector for text, vector in known.items() for d in by_text[text]}
            self.store.write_embeddings(vectors)
            self.report.reused += len(vectors)
            for text, documents in by_text.items():
                if text in known:
                    continue
                if not text or not self.embeddings.reads_script(text, mostly=True):
                    self.report.unreadable += len(documents)
                    continue
                chunks = [(document.id, _place(document)) for document in documents]
                if text in self._positions:
                    self._sent[self._positions[text]].chunks.extend(chunks)
                    continue
                self._sent[self._count] = _Sent(text, chunks)
                self._positions[text] = self._count
                self._count += 1
                yield text


def _place(document: Document) -> str:
    meta = document.meta
    return f"{meta.get('vault')}/{meta.get('file_path')}:{meta.get('line_start')}"


def embed_chunks(
    writer: IndexWriter, reembed: bool = False, progress: Progress | None = None
) -> EmbeddingReport:
    """Embed what lacks an embedding.

    :param reembed: make those of another model again, by the configured one.
    :raises ConnectionError: when no server does its work; what came before stays, and counts.
    :raises IndexUnavailableError: when the index holds embeddings of another model.
    """
    embeddings = embedding_provider(writer.config)
    embedded = read_embedded(writer.manifest)
    is_ours = embedded is not None and embedded.space.is_configured(embeddings)
    must_stay = embedded is not None and embedded.embedded > 0 and not reembed
    if embedded and must_stay and not is_ours:
        raise other_model(embedded.space, embeddings)
    space, limit = find_space(embeddings)
    if embedded and is_ours:  # the same, spelt otherwise or not told
        known = embedded.space
        space = replace(space, model=known.model, digest=space.digest or known.digest)
    if embedded and must_stay and embedded.space != space:
        raise other_model(embedded.space, embeddings)
    writer.prepare()
    before = writer.begin_space(space)
    work = ChunkEmbedding(writer.store, writer.vectors, embeddings, space, limit)
    try:
        work.run(progress)
        writer.manifest.set(**{UNEMBEDDED: "yes" if work.report.failed else ""})
        writer.vectors.trim(space.key, 2 * writer.store.count_documents())
    except BaseException:  # it did not come to all of those that no model reads
        work.report.unreadable = max(work.report.unreadable, before.unreadable)
        raise
    finally:
        _record(writer, before, work.report)
    return work.report


def _record(writer: IndexWriter, before: Embedded, report: EmbeddingReport) -> None:
    """Write down what was done; readers get to see it if it is news to them.

    What a killed run did is news too, though this one made nothing.
    """
    now = replace(
        before,
        chunks=writer.store.count_documents(),
        embedded=writer.store.count_embedded(),
        unreadable=report.unreadable,
        failed=len(report.failed),
    )
    if report.made or report.reused or now != before:
        record_embedded(writer.manifest, now)
        writer.manifest.raise_revision()
