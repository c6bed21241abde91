"""Machines that share an index on one server: each has a data folder of its own.

desk = Machine(RAGConfig(data_dir=…, store=StoreConfig(url=server.url)))
desk.write("a note", "another")
laptop.notes()                     # {"a note", "another"}: fetched from the server
laptop.write("a third")            # refused: the desk writes
"""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from haystack.document_stores.types import DuplicatePolicy

from rag.config import RAGConfig
from rag.index.manifest import ChunkKey, Manifest, NoteRow
from rag.index.snapshots import MANIFEST, IndexDirectory
from rag.stores import BaseDocumentStore, get_document_store, open_directory
from rag.stores.server.catalog import Catalog, Head, claim
from rag.stores.server.rest import RestClient


@dataclass
class Machine:
    """One machine: its settings, and what its commands do with the store."""

    config: RAGConfig

    @property
    def home(self) -> Path:
        """Its data folder."""
        return self.config.data_dir

    @property
    def id(self) -> str:
        """The id by which a catalog knows it."""
        return claim(IndexDirectory.of(self.config))["machine"]

    @property
    def folder(self) -> Path:
        """The folder of the index in it."""
        return self.config.index_dir

    @property
    def known_head(self) -> Head:
        """The head of the catalog that is the snapshot in that folder."""
        head = Head.read(self.folder)
        assert head is not None
        return head

    def directory(self) -> IndexDirectory:
        """Ask the server whether there is a newer catalog, as every command does first."""
        return open_directory(self.config)

    def store(self) -> BaseDocumentStore:
        """Open the store of an index that is up to date."""
        return get_document_store(self.config, self.directory())

    def write(self, *notes: str) -> None:
        """Index notes: these and no others."""
        with self.store() as store:
            put(store, *notes)
            store.publish()

    def notes(self) -> set[str]:
        """Return the notes that a search finds here."""
        with self.store() as store:
            manifest = store.manifest()
            assert manifest is not None
            found = {row.path for row in manifest.notes()}
            store.frequencies()
            assert found == {document.content for document in store.filter_documents()}
            return found

    def head(self) -> Head:
        """Return the head of the catalog."""
        with closing(RestClient(self.config.store)) as client:
            head = Catalog(client).head()
        assert head is not None
        return head


def change_head(config: RAGConfig, **values: Any) -> None:
    """Change the head of the catalog, as another machine does that takes over."""
    with closing(RestClient(config.store)) as client:
        catalog = Catalog(client)
        head = catalog.head()
        assert head is not None
        catalog.change(head, **values)


def put(store: BaseDocumentStore, *notes: str) -> None:
    """Write notes of one chunk each, and say so in the working manifest."""
    store.begin_writing()
    words = SparseEmbedding([1], [1.0])
    ids = {note: str(uuid5(NAMESPACE_URL, note)) for note in notes}
    documents = [Document(id=ids[n], content=n, sparse_embedding=words) for n in notes]
    store.write_documents(documents, DuplicatePolicy.OVERWRITE)
    with Manifest.open_work(store.directory.begin_work() / MANIFEST) as manifest:
        manifest.set(fingerprint="{}")
        known = manifest.stats("v")
        manifest.forget("v", known.keys() - ids.keys())
        manifest.commit_write(
            NoteRow("v", n, n, 1, 1, False, b"", [ChunkKey(ids[n], bytes(16))], id=ids[n])
            for n in ids.keys() - known.keys()
        )
