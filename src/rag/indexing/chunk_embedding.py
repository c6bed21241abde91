"""Embedding the chunks of an index: those that have no vector yet, and no text twice.

It goes by rounds. While a model is at work, the index is not locked, so that a note that changes
meanwhile is indexed at once; the vectors are kept by text. At the end of a round they are written
and published, those of the notes that were modified last first.
"""

from __future__ import annotations

import fcntl
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from haystack import Document

from rag.clients.factory import embedding_provider
from rag.clients.protocols import EmbeddedTexts, EmbeddingProvider
from rag.exceptions import ConnectionError
from rag.index.background import (
    Background,
    background_texts,
    lacks_background,
    record_background,
)
from rag.index.embedding_space import Space, other_model, read_embedded, record_embedded
from rag.index.manifest import UNEMBEDDED
from rag.index.snapshots import not_a_file
from rag.index.vector_cache import VECTORS, VectorCache
from rag.indexing.reports import EmbeddingReport, Progress, unseen
from rag.indexing.sentence_embedder import Vectors, texts_of, write_vectors
from rag.support.regular_files import strange_kind
from rag.text.token_estimate import count_tokens

if TYPE_CHECKING:
    from rag.config import ModelsConfig
    from rag.index.snapshots import IndexDirectory
    from rag.indexing.index_writer import IndexWriter

Texts = dict[str, list[Document]]  # texts, each with the chunks that have it

_LOCK = "embedding.lock"
_FIRST, _ROUND = 3.0, 20.0  # seconds of the first and of later rounds, up to which they double
_SHARE = 20  # a round is longer where to publish takes more than this part of it
_CHUNKS = 2000  # whose texts are in memory at once
_PAGE = 500  # read from the store together
_ASKED = 32  # questions in a request
_KEPT = 16  # texts for each chunk whose vectors are kept; it has some five


class WriterVisit(Protocol):
    """A visit of the writer, such as `rag.indexing.run.IndexRun`."""

    writer: IndexWriter

    def paused(self) -> AbstractContextManager[None]:
        """Let other processes write; then there is another `writer`."""

    def publish(self) -> None:
        """Make what was written the snapshot that readers see."""


class ChunkEmbedding:
    """Gives the chunks of a staging index the embeddings that they lack.

    :param run: the visit of the writer; it lets go of the index while a model is at work.
    :param embeddings: who makes them.
    :param space: what they are made by.
    :param limit: the most tokens the model reads; 0 when not known.
    """

    def __init__(
        self,
        run: WriterVisit,
        embeddings: EmbeddingProvider,
        space: Space,
        limit: int = 0,
    ) -> None:
        self.visit, self.embeddings = run, embeddings
        self.space, self.limit = space, limit
        self.report = EmbeddingReport()
        self._seen: set[str] = set()  # chunks that were embedded, or cannot be
        self._waiting: deque[str] | None = None  # chunks; `None` where nobody has looked
        self._total = 0
        self._busy = 0.0  # seconds that the model was at work
        self._tokens = 0  # that it has read

    def run(self, progress: Progress | None = None, seconds: float | None = None) -> None:
        """Embed what lacks an embedding; each round is published when the next one begins.

        :param progress: called with how many chunks are done, of how many, and of how many tokens
            (as we estimate them) a model has made vectors.
        :param seconds: how long the model may be at it; the rest is left.
        :raises ConnectionError: when no server does its work; what came before is published.
        """
        show = progress or unseen
        until = monotonic() + seconds if seconds is not None else None
        length = _FIRST
        while texts := self._next_texts():
            if until is not None and monotonic() >= until:
                self._give_back(texts)
                break
            if self.report.reused:  # they need not wait for those that a model has yet to make
                self._publish()
            end = monotonic() + length
            error = self._round(texts, min(end, until) if until else end, show)
            cost = self._publish()
            length = max(min(2 * length, _ROUND), _SHARE * cost)
            if error:
                raise error
        self.report.is_complete = not self.report.left
        show(self._done, self._total, self._tokens)

    # -- what is to be embedded ------------------------------------------------------------

    def _next_texts(self) -> Texts:
        """Return the next texts that a model is to embed, each with the chunks that have it; give
        those that are known their vectors."""
        found: Texts = {}
        while not found:
            waiting = self._look() if self._waiting is None else self._waiting
            if not waiting:
                return {}
            ids = [waiting.popleft() for _ in range(min(_CHUNKS, len(waiting)))]
            found = self._unknown(self._documents(ids))
        return found

    def _look(self) -> deque[str]:
        """Look up which chunks lack an embedding, the newest first."""
        writer = self.visit.writer
        writer.prepare()
        lacking = writer.store.without_embedding() - self._seen
        ids = writer.manifest.chunks_newest_first()
        self._waiting = deque(identity for identity in ids if identity in lacking)
        self._total = self._done + len(self._waiting)
        return self._waiting

    def _documents(self, ids: Sequence[str]) -> Iterator[Document]:
        store = self.visit.writer.store
        for at in range(0, len(ids), _PAGE):
            yield from store.get_documents(ids[at : at + _PAGE])

    def _unknown(self, documents: Iterable[Document]) -> Texts:
        """Return the texts of chunks that no model has embedded yet and that ours reads."""
        chunks = [*documents]
        texts_by_id = texts_of(chunks)
        known = self._known(chain.from_iterable(texts_by_id.values()))
        self.report.reused += len(self._write(texts_by_id, known))
        unknown: Texts = {}
        for document in chunks:
            if document.id in self._seen:
                continue
            texts = texts_by_id[document.id]
            whole = "\n".join(texts)
            if not whole or not self.embeddings.reads_script(whole, mostly=True):
                self.report.unreadable += 1
                self._seen.add(document.id)
                continue
            for text in dict.fromkeys(texts):
                if text not in known:
                    unknown.setdefault(text, []).append(document)
        return unknown

    def _known(self, texts: Iterable[str]) -> Vectors:
        return self.visit.writer.vectors.get(self.space.key, dict.fromkeys(texts))

    def _write(self, texts: Mapping[str, list[str]], known: Vectors) -> Collection[str]:
        """Write the vectors of the chunks all of whose texts have one, and return their ids."""
        written = write_vectors(self.visit.writer.store, texts, known)
        self._seen |= {*written}
        return written

    def _give_back(self, texts: Texts) -> None:
        """Leave the chunks of texts to another round, or to the next run."""
        if self._waiting is None:  # it will be looked up
            return
        self._waiting.extendleft(reversed(_ids(texts)))
        self.report.left = len(self._waiting)

    # -- a round ---------------------------------------------------------------------------

    def _round(self, texts: Texts, until: float, show: Progress) -> ConnectionError | None:
        """Embed texts for a while, and give what has them their vectors.

        :returns: what kept the model from going on.
        """
        made: dict[str, list[float]] = {}
        failed: dict[str, str] = {}
        untried = Counter(document.id for some in texts.values() for document in some)
        started, error = monotonic(), None
        revision = self.visit.writer.manifest.revision
        path = self.visit.writer.directory.path / VECTORS
        with self.visit.paused():
            show(self._done, self._total, self._tokens)  # before the model is at work
            try:
                with VectorCache(path) as cache:
                    for batch, sent in self._batches([*texts], until):
                        fresh = {sent[at]: vector for at, vector in batch.vectors}
                        cache.put(self.space.key, fresh)
                        made |= fresh
                        self._tokens += sum(map(count_tokens, fresh))
                        failures = {sent[at]: why for at, why in batch.failures}
                        failed |= failures
                        untried.subtract(d.id for text in (*fresh, *failures) for d in texts[text])
                        tried = sum(not left for left in untried.values())
                        show(self._done + tried, self._total, self._tokens)
            except ConnectionError as failure:
                error = failure
            # A model of this machine holds 340 MB, and to write and publish takes as much.
            self.embeddings.close()
        self._busy += monotonic() - started
        self._take(texts, made, failed)
        if self.visit.writer.manifest.revision != revision:
            self._waiting = None  # another process has written meanwhile
        return error

    def _batches(self, texts: list[str], until: float) -> Iterator[tuple[EmbeddedTexts, list[str]]]:
        """Yield what becomes of texts until it is time to end, beside all that were sent."""
        sent: list[str] = []

        def send() -> Iterator[str]:
            for text in texts:
                if sent and monotonic() >= until:
                    return
                sent.append(text)
                yield text

        batches = self.embeddings.embed_documents(
            send(), count_tokens, self.limit, self.space.dimension
        )
        with closing(batches):  # whatever goes wrong here, nothing more is sent
            for batch in batches:
                yield batch, sent

    def _take(
        self,
        texts: Texts,
        made: dict[str, list[float]],
        failed: dict[str, str],
    ) -> None:
        """Write what a round made, for chunks that are still there and say the same."""
        touched = _ids({text: texts[text] for text in made})
        chunks = texts_of([*self._documents(touched)])
        others = {text for text in chain.from_iterable(chunks.values()) if text not in made}
        written = self._write(chunks, {**made, **self._known(others)})
        fresh = min(len(made), len(written))
        self.report.made += fresh
        self.report.reused += len(written) - fresh
        for text, why in failed.items():
            self._seen |= {document.id for document in texts[text]}
            self.report.failed |= {_place(document): why for document in texts[text]}
        tried = made | failed
        self._give_back({text: found for text, found in texts.items() if text not in tried})
        self.report.left = 0
        self.report.runtime = self.embeddings.runtime
        self.report.rate = self.report.made / self._busy if self._busy else 0.0

    def _publish(self) -> float:
        """Publish what there is, and return how many seconds that took."""
        started = monotonic()
        record_done(self.visit.writer, self.report)
        self.visit.publish()
        return monotonic() - started

    @property
    def _done(self) -> int:
        report = self.report
        return report.made + report.reused + report.unreadable + len(report.failed)


def _ids(texts: Texts) -> list[str]:
    """Return the ids of the chunks that texts are of, each once."""
    found = dict.fromkeys(document.id for documents in texts.values() for document in documents)
    return [*found]


def _place(document: Document) -> str:
    meta = document.meta
    return f"{meta.get('vault')}/{meta.get('file_path')}:{meta.get('line_start')}"


@contextmanager
def alone(directory: IndexDirectory) -> Iterator[bool]:
    """Be the one process that makes vectors of an index; yield whether this one is.

    :raises IndexUnavailableError: when something else is in the place of the lock.
    """
    path = directory.path / _LOCK
    if kind := strange_kind(path):
        raise not_a_file(path, kind)
    with path.open("a+b") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def embed_chunks(
    run: WriterVisit,
    models: ModelsConfig,
    reembed: bool = False,
    progress: Progress | None = None,
    seconds: float | None = None,
) -> EmbeddingReport:
    """Embed what lacks an embedding.

    :param models: settings that name who makes them.
    :param reembed: make those of another model again, by the configured one.
    :param seconds: how long the model may be at it.
    :raises ConnectionError: when no server does its work; what came before stays, and counts.
    :raises IndexUnavailableError: when the index holds embeddings of another model.
    """
    with closing(embedding_provider(models)) as embeddings:
        space, limit = agreed_space(run.writer, embeddings, models.embedding.provider, reembed)
        run.writer.prepare()
        run.writer.begin_space(space)
        work = ChunkEmbedding(run, embeddings, space, limit)
        try:
            work.run(progress, seconds)
            _ask_background(run, embeddings, space, limit)
            run.writer.vectors.trim(space.key, _KEPT * run.writer.store.count_documents())
        finally:
            if run.writer.is_open:  # Ctrl-C may come while it is not
                record_done(run.writer, work.report)
        return work.report


def _ask_background(
    run: WriterVisit, embeddings: EmbeddingProvider, space: Space, limit: int
) -> None:
    """Embed the texts against which nearness is measured, once for each model."""
    manifest, chunks = run.writer.manifest, run.writer.store.count_documents()
    if not lacks_background(manifest, space, chunks):
        return
    texts = background_texts()
    questions = [
        vector
        for at in range(0, len(texts.questions), _ASKED)
        for vector in embeddings.embed_query(texts.questions[at : at + _ASKED], space.dimension)
    ]
    passages: dict[int, list[float]] = {}
    for batch in embeddings.embed_documents(texts.passages, count_tokens, limit, space.dimension):
        passages |= dict(batch.vectors)
    known = [vector for vector in questions if vector]
    if len(known) == len(questions) and len(passages) == len(texts.passages):
        rows = [vector for _, vector in sorted(passages.items())]
        record_background(manifest, space, Background.of(known, rows))
        manifest.raise_revision()


def find_space(embeddings: EmbeddingProvider, provider: str = "") -> tuple[Space, int]:
    """Return what the model's embeddings are, and the most tokens that it reads.

    :param provider: the name of who makes them.
    :raises ModelMissingError: when no server has the model.
    :raises ConnectionError: when none answers.
    """
    made = embeddings.identity(whole=True)
    space = Space(made.model, made.digest, made.dimension, made.document_prefix, provider=provider)
    return space, made.limit


def agreed_space(
    writer: IndexWriter, embeddings: EmbeddingProvider, provider: str, reembed: bool
) -> tuple[Space, int]:
    """Return the space of what will be made, and the most tokens that the model reads.

    :raises IndexUnavailableError: when it is another than that of the index, which must stay.
    """
    embedded = read_embedded(writer.manifest)
    is_ours = embedded is not None and embedded.space.is_configured(embeddings)
    must_stay = embedded is not None and embedded.embedded > 0 and not reembed
    if embedded and must_stay and not is_ours:
        raise other_model(embedded.space, embeddings)
    space, limit = find_space(embeddings, provider)
    if embedded and is_ours and embedded.space.is_alike(space):
        space = embedded.space  # the same, spelt otherwise, or told by other digits
    if embedded and must_stay and embedded.space != space:
        raise other_model(embedded.space, embeddings)
    return space, limit


def record_done(writer: IndexWriter, report: EmbeddingReport) -> None:
    """Write down what was done; readers get to see it if it is news to them.

    What a killed run did is news too, though this one made nothing.
    """
    before = read_embedded(writer.manifest)
    assert before
    runtimes = dict.fromkeys(filter(None, (*before.runtime.split(", "), report.runtime)))
    now = replace(
        before,
        chunks=writer.store.count_documents(),
        embedded=writer.store.count_embedded(),
        unreadable=max(report.unreadable, 0 if report.is_complete else before.unreadable),
        failed=len(report.failed),
        rate=round(report.rate, 2) or before.rate,
        runtime=", ".join(runtimes),
    )
    writer.manifest.set(**{UNEMBEDDED: "yes" if now.lacking or now.failed else ""})
    if report.made or report.reused or now != before:
        record_embedded(writer.manifest, now)
        writer.manifest.raise_revision()
