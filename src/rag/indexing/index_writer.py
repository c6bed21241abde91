"""The writer's own copy of the index: opened, checked, begun again if need be, published."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rag.config import RAGConfig
from rag.exceptions import IndexingError, IndexUnavailableError
from rag.index.embedding_space import Embedded, Space, read_embedded, record_embedded
from rag.index.manifest import UNEMBEDDED, Manifest, fingerprint, keep_copied, published_manifest
from rag.index.snapshots import IndexDirectory
from rag.index.vector_cache import VECTORS, VectorCache
from rag.support.disk_space import is_of_full_disk
from rag.support.memory_limits import give_back
from rag.support.pipeline_parts import store_of

if TYPE_CHECKING:
    from haystack import Pipeline

    from rag.indexing.bulk_build import BuiltSegments
    from rag.indexing.note_points import NoteChunk
    from rag.indexing.sentence_embedder import Lookup
    from rag.stores.base.document_store import BaseDocumentStore
    from rag.stores.edge.segments import SegmentHome

T = TypeVar("T")


class IndexWriter:
    """Holds the index's lock from `open` to `close`; one writer has it at a time.

    :param pipeline: the pipeline that writes; made when it is first needed.
    :param rebuild: forget what is there.
    :param wait: wait for another writer instead of failing.
    :param brief: see `IndexDirectory.writing`.
    """

    manifest: Manifest

    def __init__(
        self,
        config: RAGConfig,
        directory: IndexDirectory,
        pipeline: Pipeline | None = None,
        rebuild: bool = False,
        wait: bool = False,
        brief: bool = False,
    ) -> None:
        self.config, self.directory = config, directory
        self.notices: list[str] = []
        self.settled: set[str] = set()  # vaults that it holds as they are now
        self.words: set[str] = set()  # those known to be in its vocabulary
        self._pipeline = pipeline
        self._is_plain = pipeline is None and not config.store.url
        self._home: SegmentHome | None = None
        self._vectors: VectorCache | None = None
        self._without = 0  # chunks written without an embedding
        self._prepared = False
        self._is_on_server = bool(config.store.url)
        self._is_suspect = False  # whether what readers have is damaged
        self._has_given_up = False  # whether the engine failed on what was there
        self._rebuild = rebuild
        self._lock = directory.writing(wait, brief)
        self.is_open = False

    def open(self) -> None:
        """Take the lock and read the manifest.

        :raises LockedError: when another process is writing.
        """
        self._lock.__enter__()
        self.is_open = True
        try:
            self.manifest = self._open_manifest()
            self.directory.sweep()  # after runs and searches that were killed
        except BaseException:
            self.is_open = False
            self._lock.__exit__(None, None, None)
            raise

    def close(self) -> None:
        """Release everything; what was written stays."""
        if not self.is_open:
            return
        self.is_open = False
        with ExitStack() as stack:  # each of them, should one fail
            stack.callback(self._lock.__exit__, None, None, None)
            if self._pipeline is not None:
                stack.callback(self.store.close)
            if self._vectors is not None:
                stack.callback(self._vectors.close)
            stack.callback(self.manifest.close)

    # -- the manifest ------------------------------------------------------------------

    def _open_manifest(self) -> Manifest:
        """Open the manifest; make the index anew when it does not fit or is damaged."""
        if self._rebuild:
            self.directory.clear_work()
        try:
            manifest = self._open_work()
            known = manifest.get("fingerprint")
        except (IndexUnavailableError, sqlite3.DatabaseError) as error:
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
            self.notices.append(
                f"what searches read was damaged ({damaged[0]}): it is written again"
            )
            self._is_suspect = True
        return manifest

    def _open_work(self) -> Manifest:
        return Manifest.open_writer(self.directory, self._is_on_server)

    def _begin(self, manifest: Manifest) -> None:
        """A new manifest counts on from the snapshots there are, and is `anew` until it was
        published: readers must not take an old snapshot for it."""
        manifest.set(anew="yes")
        manifest.raise_revision(at_least=self.directory.newest())
        if embedded := self.readable_embeddings():
            record_embedded(manifest, embedded)  # the vectors themselves are kept by text
        self._published(lambda before: keep_copied(before, manifest), None)
        manifest.set(fingerprint=fingerprint(self.config))  # last: it says that all this was done

    def _begin_rebuild(self, why: str) -> Manifest:
        self.notices.append(f"{why}: the index is rebuilt")
        self.directory.clear_work()
        manifest = self._open_work()
        self._begin(manifest)
        self.settled.clear()
        self.words.clear()
        return manifest

    def _published(self, read: Callable[[Manifest], T], default: T) -> T:
        """Return what is read of the manifest that readers see; `default` where there is none or it
        is damaged."""
        failures = (IndexUnavailableError, sqlite3.DatabaseError, ValueError)
        with suppress(*failures), published_manifest(self.directory) as manifest:
            return read(manifest)
        return default

    # -- the points --------------------------------------------------------------------

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline that weighs and writes chunks; `prepare` makes it."""
        assert self._pipeline is not None
        return self._pipeline

    @property
    def store(self) -> BaseDocumentStore:
        """The store it writes to; `prepare` makes it."""
        store: BaseDocumentStore = store_of(self.pipeline, "writer")
        return store

    def prepare(self) -> bool:
        """Load what writing needs and make sure that manifest and shard agree.

        Only the first call does anything; it returns true.
        """
        if self._prepared:
            return False
        from rag.indexing.pipeline import create_indexing_pipeline
        from rag.stores import get_document_store

        if self._pipeline is None:
            store = get_document_store(self.config, self.directory)
            self._pipeline = create_indexing_pipeline(store, self.config)
        self.store.begin_writing()
        self._prepared = True
        # What was published together fits together.
        is_known = not (self._is_on_server or self.directory.has_work)
        expected = None if is_known else self.manifest.expected_points()
        wrong = "" if expected is None else self.store.missing_points(expected)
        if wrong:
            self._give_up(wrong)
        return True

    def give_up(self, error: IndexUnavailableError | sqlite3.DatabaseError) -> None:
        """Make the index anew where the engine or SQLite failed on what was there. It is done once.

        :raises IndexUnavailableError, sqlite3.DatabaseError: the error itself, where that does not
            help.
        """
        is_full = is_of_full_disk(error, self.directory.path)
        if is_full or self._is_on_server or self._has_given_up:
            raise error
        self._give_up(str(error))

    def _give_up(self, why: str) -> None:
        self._has_given_up, self._home = True, None
        if self._pipeline is not None:
            with suppress(IndexUnavailableError):  # it fails on what is damaged, but is closed then
                self.store.release()
        self.manifest.close()
        self.manifest = self._begin_rebuild(why)

    @property
    def takes_segments(self) -> bool:
        """Whether new notes may be built apart: not for a server, not where somebody's own
        pipeline writes, and not where there are, or just were, embeddings."""
        if not self._is_plain or read_embedded(self.manifest) is not None:
            return False
        from rag.stores.edge.segments import has_embeddings

        return not has_embeddings(self.directory)

    def import_segments(self, built: BuiltSegments) -> None:
        """Take in what was built of new notes: intent, points, then the fact."""
        from rag.stores.edge.segments import SegmentHome

        if self._home is None:
            store: Any = self.store
            self._home = SegmentHome(store)
        self.manifest.begin_write(built.rows)
        self._home.import_segments(built.folder)
        self.remember_words(built.words)
        self.manifest.confirm_write(built.rows)
        give_back()

    def write(self, chunks: Sequence[NoteChunk]) -> None:
        """Write chunks, with an embedding those whose text was embedded before.

        :raises RAGError: what a part of ours raised, or an `IndexingError` for anything else.
        """
        from rag.indexing.pipeline import run_pipeline
        from rag.support.pipeline_errors import own_errors

        with own_errors(IndexingError, "the indexing pipeline failed"):
            wrote = run_pipeline(self.pipeline, chunks, self._known_vectors())
        self._without += len(chunks) - wrote.embedded
        self.remember_words(wrote.words)

    def remember_words(self, words: Iterable[str]) -> None:
        """Add the words of chunks to the vocabulary."""
        fresh = set(words) - self.words
        self.manifest.add_words(fresh)
        self.words |= fresh

    # -- embeddings --------------------------------------------------------------------

    @property
    def vectors(self) -> VectorCache:
        """The vectors of texts that were embedded before."""
        if self._vectors is None:
            self._vectors = VectorCache(self.directory.path / VECTORS)
        return self._vectors

    def _known_vectors(self) -> Lookup | None:
        """Return what gives the vectors of texts that were embedded before, if any were."""
        embedded = read_embedded(self.manifest)
        if embedded is None:
            return None
        key = embedded.space.key
        return lambda texts: self.vectors.get(key, texts)  # Haystack copies all but functions

    def begin_space(self, space: Space) -> Embedded:
        """Make room for embeddings of a space; those of any other go."""
        self._without = 0
        embedded = read_embedded(self.manifest)
        if embedded is None or embedded.space != space:
            # In this order: a run killed in between begins again, and never mixes two spaces.
            self.manifest.set(**{UNEMBEDDED: "yes"})
            record_embedded(self.manifest, None)
            self.store.drop_embeddings()
            embedded = Embedded(space)
            record_embedded(self.manifest, embedded)
        return embedded

    def _count_embedded(self) -> None:
        """Bring what the manifest says of the embeddings in step with the store."""
        embedded = read_embedded(self.manifest)
        if embedded is not None:
            chunks, done = self.store.count_documents(), self.store.count_embedded()
            # What was written now and has none is not known to be unreadable.
            unreadable = min(embedded.unreadable, max(0, chunks - done - self._without))
            now = replace(embedded, chunks=chunks, embedded=done, unreadable=unreadable)
            record_embedded(self.manifest, now)
            if chunks == done:  # notes were only deleted, or their texts known: nothing to ask
                self.manifest.set(**{UNEMBEDDED: ""})

    # -- what readers see --------------------------------------------------------------

    @property
    def is_rebuilding(self) -> bool:
        """Whether nothing of it was published yet."""
        return bool(self.manifest.get("anew"))

    @property
    def is_published(self) -> bool:
        """Whether readers see it as it is, and undamaged."""
        if not self._is_on_server:
            is_announced = self.directory.announced() == self.directory.current()
            return is_announced and not self.directory.has_work
        name = f"gen-{self.manifest.revision}"
        if self.is_rebuilding or self._is_suspect or self.directory.announced() != name:
            return False
        return self._prepared and self.store.is_shared

    def publish(self) -> None:
        """Make it the snapshot that readers see."""
        number = self.manifest.raise_revision(at_least=self.directory.newest())
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        self._check_imported()
        self.manifest.set(indexed_at=now, anew="")
        self.manifest.keep_totals()
        self._count_embedded()
        self.manifest.close()  # its file is copied
        try:
            self.store.publish(number)
            self._is_suspect = False
        finally:
            self.manifest = self._open_work()

    def _check_imported(self) -> None:
        """Publish no segment that the engine did not take for what it is."""
        expected = self.manifest.expected_points()
        wrong = self.store.missing_points(expected) if self._home and expected is not None else ""
        if wrong:
            raise IndexingError(wrong, hint="Run `rag index` again: the index is rebuilt.")

    def vaults(self) -> dict[str, Path]:
        """Return the folder of every vault in the index, of those yet to be restored too."""
        found = self.manifest.vaults()
        if self.is_rebuilding:
            published: dict[str, str] = self._published(Manifest.vaults, {})
            found = published | found
        return {name: Path(root) for name, root in found.items()}

    def readable_embeddings(self) -> Embedded | None:
        """Return what readers know of the embeddings."""
        return self._published(read_embedded, None)

    def readable_notes(self) -> list[tuple[str, str]]:
        """Return vault and path of every note that readers can find now."""
        return self._published(
            lambda manifest: [(vault, path) for vault, path, *_ in manifest.names()], []
        )
