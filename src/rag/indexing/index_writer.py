"""The writer's own copy of the index: opened, checked, begun again if need be."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from rag.config import RAGConfig
from rag.exceptions import IndexingError, IndexUnavailableError
from rag.index.embedding_space import Embedded, Space, read_embedded, record_embedded
from rag.index.manifest import UNEMBEDDED, Manifest, fingerprint, keep_copied, published_manifest
from rag.index.snapshots import IndexDirectory
from rag.index.vector_cache import VECTORS, VectorCache
from rag.indexing.reports import RunReport
from rag.stores import open_directory
from rag.support.disk_space import disk_in_view, is_of_full_disk
from rag.support.pipeline_parts import store_of

if TYPE_CHECKING:
    from haystack import Pipeline

    from rag.indexing.note_reader import NoteChunk
    from rag.stores.base.document_store import BaseDocumentStore
    from rag.stores.edge.segments import SegmentHome

T = TypeVar("T")

_DAMAGE = (IndexUnavailableError, sqlite3.DatabaseError)  # what the engine and SQLite report


class IndexWriter(ABC):
    """One visit of the writer. Use it as a context manager; it holds the index's lock.

    :param config: the settings.
    :param directory: the index's folder.
    :param pipeline: the pipeline that embeds and writes; made when first needed.
    :param rebuild: forget what is there and read every note again.
    :param wait: wait for another writer instead of failing.
    :raises LockedError: when another process is writing.
    """

    manifest: Manifest  # of the staging index
    _resources: ExitStack

    def __init__(
        self,
        config: RAGConfig,
        directory: IndexDirectory | None = None,
        pipeline: Pipeline | None = None,
        rebuild: bool = False,
        wait: bool = False,
    ) -> None:
        self.config = config
        self.directory = directory or open_directory(config)
        self.report = RunReport()
        self.is_open = False
        self._users_pipeline = pipeline
        self._rebuild, self._wait = rebuild, wait
        self._is_on_server = bool(config.store.url)
        self._requested: dict[str, tuple[Path, bool]] = {}  # vault -> folder, prune
        self._size = 0  # bytes of the notes that were to be written

    # -- opening and closing -----------------------------------------------------------

    def __enter__(self) -> Self:
        with self._disk_in_view():
            self._open(self._rebuild, self._wait)
        return self

    def __exit__(self, *_: object) -> None:
        """Release everything; what was written stays."""
        if self.is_open:
            self.is_open = False
            with self._disk_in_view():
                self._resources.close()

    def _open(self, rebuild: bool, wait: bool, brief: bool = False) -> None:
        """Take the lock and read the manifest.

        :param brief: see `IndexDirectory.writing`.
        """
        self._pipeline = self._users_pipeline
        self._is_prepared = False
        self._settled: set[str] = set()  # vaults that the staging index holds as they are now
        self._words: set[str] = set()  # those known to be in its vocabulary
        self._home: SegmentHome | None = None
        self._vectors: VectorCache | None = None
        self._without_vector = 0  # chunks written without an embedding
        self._is_suspect = False  # whether what readers have is damaged
        self._has_given_up = False  # whether the engine failed on what was there
        with ExitStack() as stack:
            stack.enter_context(self.directory.writing(wait, brief))
            self.manifest = self._open_manifest(rebuild)
            stack.callback(lambda: self.manifest.close())
            self.directory.sweep()  # after runs and searches that were killed
            if self._pipeline is not None:
                stack.callback(self.store.close)
            self._resources = stack.pop_all()
        self.is_open = True

    @abstractmethod
    def publish(self) -> None:
        """Make what was written the snapshot that readers see, unless it is already."""

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let other processes write the index; then wait until they have."""
        if self._users_pipeline is not None:  # who may have its store open
            yield
            return
        self.publish()  # or it would be lost
        self.__exit__()
        yield
        self._open(rebuild=False, wait=True, brief=True)
        self.prepare()

    def _disk_in_view(self) -> AbstractContextManager[None]:
        """Say of what fails on a full disk that the disk is full."""

        def need() -> int:
            self.directory.clear_unfinished()  # which no run goes on with
            return self.directory.room_to_write(self._size)

        return disk_in_view(self.directory.path, need)

    def _attempt(self, step: Callable[[], T]) -> T:
        """Take a step; where the engine or SQLite fails on what is there, make the index anew and
        take it once more.

        :raises DiskFullError: when the disk has no room for it.
        """
        with self._disk_in_view():
            try:
                return step()
            except _DAMAGE as error:
                is_full = is_of_full_disk(error, self.directory.path)
                if is_full or self._is_on_server or self._has_given_up:
                    raise
                self._give_up(str(error))
                return step()

    # -- the manifest ------------------------------------------------------------------

    def _open_manifest(self, rebuild: bool) -> Manifest:
        """Open the manifest; make the index anew when it does not fit or is damaged."""
        if rebuild:
            self.directory.clear_work()
        try:
            manifest = Manifest.open_writer(self.directory, self._is_on_server)
            known = manifest.get("fingerprint")
        except _DAMAGE as error:
            if is_of_full_disk(error, self.directory.path):
                raise
            return self._begin_rebuild(f"the index's manifest was damaged ({error})")
        if not known:
            self._begin(manifest)
        elif known != fingerprint(self.config):
            manifest.close()
            return self._begin_rebuild("the settings or the program changed how notes are indexed")
        elif damaged := self.directory.damage():
            if not self._is_on_server:
                manifest.close()
                return self._begin_rebuild(f"the index was damaged ({damaged[0]})")
            self.report.notices.append(
                f"what searches read was damaged ({damaged[0]}): it is written again"
            )
            self._is_suspect = True
        return manifest

    def _begin(self, manifest: Manifest) -> None:
        """A new manifest counts on from the snapshots there are, and is `anew` until it was
        published: readers must not take an old snapshot for it."""
        manifest.set(anew="yes")
        manifest.raise_revision(at_least=self.directory.newest())
        if embedded := self._published(read_embedded, None):
            record_embedded(manifest, embedded)  # the vectors themselves are kept by text
        self._published(lambda before: keep_copied(before, manifest), None)
        manifest.set(fingerprint=fingerprint(self.config))  # last: it says that all this was done

    def _begin_rebuild(self, why: str) -> Manifest:
        self.report.notices.append(f"{why}: the index is rebuilt")
        self.directory.clear_work()
        manifest = Manifest.open_writer(self.directory, self._is_on_server)
        self._begin(manifest)
        self._settled.clear()
        self._words.clear()
        return manifest

    def _give_up(self, why: str) -> None:
        """Leave what is there, and begin anew."""
        self._has_given_up, self._home = True, None
        if self._pipeline is not None:
            with suppress(IndexUnavailableError):  # it fails on what is damaged, but is closed then
                self.store.release()
        self.manifest.close()
        self.manifest = self._begin_rebuild(why)

    def _published(self, read: Callable[[Manifest], T], default: T) -> T:
        """Return what is read of the manifest that readers see; `default` where there is none or it
        is damaged."""
        with suppress(*_DAMAGE, ValueError), published_manifest(self.directory) as manifest:
            return read(manifest)
        return default

    def vaults(self) -> dict[str, Path]:
        """Return the folder of every vault in the index, of those yet to be restored too."""
        roots = self.manifest.vaults()
        if self.is_rebuilding:
            published: dict[str, str] = self._published(Manifest.vaults, {})
            roots = published | roots
        return {name: Path(root) for name, root in roots.items()}

    @property
    def is_rebuilding(self) -> bool:
        """Whether nothing of the staging index was published yet."""
        return bool(self.manifest.get("anew"))

    # -- the points --------------------------------------------------------------------

    @property
    def store(self) -> BaseDocumentStore:
        """The store it writes to; `prepare` makes it."""
        assert self._pipeline is not None
        store: BaseDocumentStore = store_of(self._pipeline, "writer")
        return store

    def prepare(self) -> None:
        """Load what writing needs and make sure that manifest and shard agree, once."""
        if self._is_prepared:
            return
        if self._pipeline is None:
            from rag.indexing.pipeline import create_indexing_pipeline
            from rag.stores import get_document_store

            store = get_document_store(self.config, self.directory)
            self._pipeline = create_indexing_pipeline(store, self.config)
            self._resources.callback(store.close)
        self.store.begin_writing()
        self._is_prepared = True
        # What was published together fits together.
        if self._is_on_server or self.directory.has_work:
            expected = self.manifest.expected_points()
            if expected is not None and (wrong := self.store.missing_points(expected)):
                self._give_up(wrong)

    def _write_chunks(self, chunks: Sequence[NoteChunk]) -> None:
        """Write chunks, with an embedding those whose text was embedded before.

        :raises RAGError: what a part of ours raised, or an `IndexingError` for anything else.
        """
        from rag.indexing.pipeline import run_pipeline
        from rag.support.pipeline_parts import own_errors

        assert self._pipeline is not None
        embedded = read_embedded(self.manifest)
        key = embedded.space.key if embedded else ""
        # Haystack copies all inputs but functions.
        known = (lambda texts: self.vectors.get(key, texts)) if embedded else None
        with own_errors(IndexingError, "the indexing pipeline failed"):
            words, count = run_pipeline(self._pipeline, chunks, known)
        self._without_vector += len(chunks) - count
        self._add_words(words)

    def _add_words(self, words: Iterable[str]) -> None:
        fresh = set(words) - self._words
        self.manifest.add_words(fresh)
        self._words |= fresh

    # -- embeddings --------------------------------------------------------------------

    @property
    def vectors(self) -> VectorCache:
        """The vectors of texts that were embedded before."""
        if self._vectors is None:
            self._vectors = VectorCache(self.directory.path / VECTORS)
            self._resources.callback(self._vectors.close)
        return self._vectors

    def begin_space(self, space: Space) -> None:
        """Make room for embeddings of a space; those of any other go."""
        self._without_vector = 0
        embedded = read_embedded(self.manifest)
        if embedded is None or embedded.space != space:
            # In this order: a run killed in between begins again, and never mixes two spaces.
            self.manifest.set(**{UNEMBEDDED: "yes"})
            record_embedded(self.manifest, None)
            self.store.drop_embeddings()
            record_embedded(self.manifest, Embedded(space))

    def _count_embedded(self) -> None:
        """Bring what the manifest says of the embeddings in step with the store."""
        embedded = read_embedded(self.manifest)
        if embedded is None:
            return
        chunks, done = self.store.count_documents(), self.store.count_embedded()
        # What was written now and has none is not known to be unreadable.
        unreadable = min(embedded.unreadable, max(0, chunks - done - self._without_vector))
        now = replace(embedded, chunks=chunks, embedded=done, unreadable=unreadable)
        record_embedded(self.manifest, now)
        if chunks == done:  # notes were only deleted, or their texts known: nothing to ask
            self.manifest.set(**{UNEMBEDDED: ""})
