"""Embedding the chunks of an index: those that have no vector yet, and no text twice.

It goes by rounds. While a model is at work, the index is not locked, so that a note that changes
meanwhile is indexed at once; the vectors are kept by text. At the end of a round they are written
and published, those of the notes that were modified last first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from rag.clients.factory import embedding_provider, resolved
from rag.clients.protocols import EmbeddingProvider
from rag.exceptions import ConnectionError, StoreConnectionError
from rag.index.embedding_space import (
    TEXT_VERSION,
    VECTORS,
    Background,
    Space,
    VectorCache,
    background_texts,
    lacks_background,
    maker,
    other_model,
    read_embedded,
    record_background,
)
from rag.index.manifest import Manifest
from rag.indexing.reports import EmbeddingReport, Progress, unseen

if TYPE_CHECKING:
    from haystack import Document

    from rag.config import ModelsConfig
    from rag.indexing.run import IndexRun

Texts = dict[str, list["Document"]]  # texts, each with the chunks that have it

_LOCK = "embedding.lock"
_NEWEST_FIRST = "modified DESC, mtime_ns DESC, vault, path"
_ROUND = 30.0  # seconds
_CHUNKS = 2000  # whose texts are in memory at once
_ASKED = 32  # questions in a request
_KEPT = 16  # texts for each chunk whose vectors are kept; it has some five


class ChunkEmbedding:
    """Gives the chunks of a staging index the embeddings that they lack; the run lets go of the
    index while a model is at work. `limit` is the most tokens the model reads; 0 when not known."""

    def __init__(
        self, run: IndexRun, embeddings: EmbeddingProvider, space: Space, limit: int = 0
    ) -> None:
        self.visit, self.embeddings = run, embeddings
        self.space, self.limit = space, limit
        self.report = EmbeddingReport()
        self._settled: set[str] = set()  # chunks that cannot be embedded
        self._made: dict[str, list[float]] = {}  # the vectors of the last round, by text
        self._fresh: set[str] = set()  # texts of it whose chunks are not written yet
        self._total = 0
        self._busy = 0.0  # seconds that the model was at work

    def run(self, progress: Progress | None = None, seconds: float | None = None) -> None:
        """Embed what lacks an embedding; what a round made is published as the next one begins.

        :param progress: called with how many chunks are done, of how many.
        :param seconds: how long the model may be at it; the rest is left.
        :raises ConnectionError: when no server does its work; what came before is written.
        """
        show, error = progress or unseen, None
        until = monotonic() + seconds if seconds is not None else inf
        while (texts := self._next_texts()) and not error and monotonic() < until:
            if self.report.made or self.report.reused:
                self.record()
                self.visit.publish()
            error = self._round(texts, min(monotonic() + _ROUND, until), show)
        if error:
            raise error
        self.report.left = len(self._lacking()) if texts else 0
        self.report.is_complete = not self.report.left
        show(self._done, self._total)

    def record(self) -> None:
        """Write down what was done."""
        report, before = self.report, read_embedded(self.visit.manifest)
        assert before
        report.rate = report.made / self._busy if self._busy else 0.0
        runtimes = dict.fromkeys(
            filter(None, (*before.runtime.split(", "), self.embeddings.runtime))
        )
        self.visit.record_embedding(
            unreadable=max(report.unreadable, 0 if report.is_complete else before.unreadable),
            failed=len(report.failed),
            rate=round(report.rate, 2) or before.rate,
            runtime=", ".join(runtimes),
        )

    @property
    def _done(self) -> int:
        report = self.report
        return report.made + report.reused + report.unreadable + len(report.failed)

    def _lacking(self) -> list[str]:
        """Return the ids of the chunks that lack an embedding and may get one, the newest first."""
        lacking = self.visit.store.without_embedding() - self._settled
        return [
            key.id
            for note in self.visit.manifest.notes(order=_NEWEST_FIRST)
            for key in note.chunks
            if key.id in lacking
        ]

    def _next_texts(self) -> Texts:
        """Write the vectors of the chunks all of whose texts have one; return the next texts that a
        model is to embed, each with the chunks that have it."""
        self.visit.prepare()
        chunk_ids = self._lacking()
        self._total = self._done + len(chunk_ids)
        for start in range(0, len(chunk_ids), _CHUNKS):
            if texts := self._write(chunk_ids[start : start + _CHUNKS]):
                return texts
        return {}

    def _write(self, chunk_ids: Sequence[str]) -> Texts:
        chunks = self.visit.store.get_documents(chunk_ids)
        # A run with nothing to embed does without its libraries.
        from rag.indexing.pipeline import texts_of, write_vectors

        texts, lacking = texts_of(chunks), Texts()
        needed = dict.fromkeys(chain.from_iterable(texts.values()))
        vectors = self.visit.vectors.get(self.space.key, needed.keys() - self._made.keys())
        vectors |= self._made
        written = write_vectors(self.visit.store, texts, vectors)
        for chunk in chunks:
            its = dict.fromkeys(texts[chunk.id])
            if chunk.id in written:
                is_made = not self._fresh.isdisjoint(its)
                self._fresh.difference_update(its)
                self.report.made += is_made
                self.report.reused += not is_made
            elif not its or not self.embeddings.reads_script("\n".join(its), mostly=True):
                self.report.unreadable += 1
                self._settled.add(chunk.id)
            else:
                for text in its:
                    if text not in vectors:
                        lacking.setdefault(text, []).append(chunk)
        return lacking

    def _round(self, texts: Texts, until: float, show: Progress) -> ConnectionError | None:
        """Embed texts for a while; return what kept the model from going on."""
        self._made, failed, sent = {}, dict[str, str](), list[str]()
        chunk_count = len({chunk.id for chunks in texts.values() for chunk in chunks})
        started, error = monotonic(), None

        def send() -> Iterator[str]:
            for text in texts:
                if sent and monotonic() >= until:
                    return
                sent.append(text)
                yield text

        with self.visit.paused():
            show(self._done, self._total)  # before the model is at work
            batches = self.embeddings.embed_documents(send(), self.limit, self.space.dimension)
            path = self.visit.directory.path / VECTORS
            try:
                # Closed, so that nothing more is sent, whatever goes wrong here.
                with VectorCache(path) as cache, closing(batches):
                    for batch in batches:
                        fresh = {sent[at]: vector for at, vector in batch.vectors}
                        cache.put(self.space.key, fresh)
                        self._made |= fresh
                        failed |= {sent[at]: why for at, why in batch.failures}
                        tried = (len(self._made) + len(failed)) / len(texts)
                        show(self._done + int(tried * chunk_count), self._total)
            except ConnectionError as failure:
                error = failure
            # A model of this machine holds 340 MB, and to write and publish takes as much.
            self.embeddings.close()
        self._busy += monotonic() - started
        self._fresh = set(self._made)
        for text, why in failed.items():
            self._settled |= {chunk.id for chunk in texts[text]}
            self.report.failed |= {_place(chunk): why for chunk in texts[text]}
        return error


def _place(chunk: Document) -> str:
    meta = chunk.meta
    return f"{meta.get('vault')}/{meta.get('file_path')}:{meta.get('line_start')}"


def embed_chunks(
    run: IndexRun,
    reembed: bool = False,
    progress: Progress | None = None,
    seconds: float | None = None,
    models: ModelsConfig | None = None,
) -> None:
    """Give the chunks of a run's index the embeddings that they lack, publish, and report it.

    :param reembed: make those of another model again, by the configured one.
    :param seconds: how long the model may be at it.
    :raises ConnectionError: when no server does its work; what came before stays, and counts.
    :raises IndexUnavailableError: when the index holds embeddings of another model.
    """
    embedded = read_embedded(run.manifest)
    models = resolved(models or run.config, "" if reembed else maker(embedded))
    provider = embedding_provider(models)
    is_done = (
        embedded is not None
        and embedded.is_complete
        and embedded.space.version == TEXT_VERSION
        # The second look is slow to import; most names are spelt as they were.
        and (embedded.space.model == provider.model or embedded.space.is_configured(provider))
        and not lacks_background(run.manifest, embedded.space, embedded.embedded)
    )
    if is_done and not reembed:
        return
    provider.check_listening()
    with (
        closing(provider),
        run.directory.disk_in_view(),
        run.directory.alone(_LOCK) as is_alone,
    ):
        if not is_alone:
            run.report.notices.append("another process makes the vectors")
            return
        try:
            maker_name = models.embedding.provider
            space, limit = _agreed_space(run.manifest, provider, maker_name, reembed)
            run.prepare()
            run.begin_space(space)
            work = ChunkEmbedding(run, provider, space, limit)
            try:
                work.run(progress, seconds)
                _embed_background(run, provider, space, limit)
                run.vectors.trim(space.key, _KEPT * run.store.count_documents())
            finally:
                if run.is_open:  # Ctrl-C may come while it is not
                    work.record()
            run.report.embedding = work.report
        except ConnectionError as error:
            if not isinstance(error, StoreConnectionError):
                run.publish()
            raise
        run.publish()


def _embed_background(
    run: IndexRun, embeddings: EmbeddingProvider, space: Space, limit: int
) -> None:
    """Embed the texts against which nearness is measured, once for each model."""
    if not lacks_background(run.manifest, space, run.store.count_documents()):
        return
    texts = background_texts()
    questions = [
        vector
        for at in range(0, len(texts.questions), _ASKED)
        for vector in embeddings.embed_query(texts.questions[at : at + _ASKED], space.dimension)
        if vector
    ]
    passages: dict[int, list[float]] = {}
    for batch in embeddings.embed_documents(texts.passages, limit, space.dimension):
        passages |= dict(batch.vectors)
    if len(questions) == len(texts.questions) and len(passages) == len(texts.passages):
        rows = [vector for _, vector in sorted(passages.items())]
        record_background(run.manifest, space, Background.of(questions, rows))


def _agreed_space(
    manifest: Manifest, embeddings: EmbeddingProvider, provider: str, reembed: bool
) -> tuple[Space, int]:
    """Return the space of what will be made, and the most tokens that the model reads.

    :raises IndexUnavailableError: when it is another than that of the index, which must stay.
    """
    embedded = read_embedded(manifest)
    is_ours = embedded is not None and embedded.space.is_configured(embeddings)
    must_stay = embedded is not None and embedded.embedded > 0 and not reembed
    if embedded and must_stay and not is_ours:
        raise other_model(embedded.space, embeddings)
    model = embeddings.identity(whole=True)
    space = Space(
        model.name, model.digest, model.dimension, model.document_prefix, provider=provider
    )
    if embedded and is_ours and embedded.space.is_alike(space):
        space = embedded.space  # the same, spelt otherwise, or told by other digits
    if embedded and must_stay and embedded.space != space:
        raise other_model(embedded.space, embeddings)
    return space, model.limit
