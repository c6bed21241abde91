"""`copy_to_server`: an embedded index goes up as it is."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qdrant_server import QdrantServer
from rag.config import RAGConfig, StoreConfig
from rag.exceptions import IndexUnavailableError, UsageError
from rag.index.embedding_space import Embedded, Space, record_embedded
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST
from rag.indexing.server import copy_to_server
from rag.pipelines import create_search_pipeline, search
from rag.stores import get_document_store
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.points import Page

WRITE = "PUT /collections/obsidian_knowledge/points"
NOTES = {f"note {n}.md": f"# Note {n}\n\nText of the note number {n}.\n" for n in range(12)}


@pytest.fixture
def server(own_qdrant) -> QdrantServer:
    return own_qdrant


@pytest.fixture
def remote(config, server) -> RAGConfig:
    return replace(config, store=StoreConfig(url=server.url, timeout=2))


@pytest.fixture
def folder(write_notes, refresh, age) -> Path:
    """Twelve notes, indexed in the embedded store."""
    folder = write_notes("work", NOTES)
    age(folder)
    refresh(work=folder)
    return folder


@pytest.fixture
def small_pages(monkeypatch) -> None:
    monkeypatch.setattr("rag.indexing.server._PAGE", 3)


def embed(config: RAGConfig, size: int) -> None:
    """Publish the index once more with vectors of that size."""
    with get_document_store(config) as store:
        store.begin_writing()
        store.drop_embeddings()
        store.write_embeddings({d.id: [[1.0] + [0.0] * (size - 1)] for d in store.all_documents()})
        with Manifest.open_work(store.directory.begin_work() / MANIFEST) as manifest:
            manifest.set(revision=str(store.directory.newest() + 1))
            record_embedded(manifest, Embedded(Space("m", "", size, ""), len(NOTES), len(NOTES)))
        store.publish()


def kept_in(store: BaseDocumentStore) -> list[Any]:
    """Return all that a store keeps of its points: numbers in the 32 bits that it keeps of them."""
    return [
        (
            point.payload,
            np.float32(point.embeddings).tolist(),
            point.sparse.indices if point.sparse else None,
            np.float32(point.sparse.values if point.sparse else []).tolist(),
        )
        for points in store.point_pages(Page(100, vectors=True))
        for point in points
    ]


def test_the_server_holds_the_same_points_with_their_vectors(config, remote, folder):
    embed(config, 4)
    report = copy_to_server(remote)
    assert (report.notes, report.chunks, report.embedded) == (12, 12, 12)
    with get_document_store(config) as one, get_document_store(remote) as other:
        assert kept_in(other) == kept_in(one)


def test_the_server_weighs_words_as_the_embedded_index_does(config, remote, folder, server):
    copy_to_server(remote)
    with get_document_store(config) as one, get_document_store(remote) as other:
        counts = [
            [*store.frequencies()._db.execute("SELECT * FROM counts")] for store in (one, other)
        ]
        assert counts[0] == counts[1]
    # They came with the copy: not a point was read to count them.
    assert not [
        path
        for path in server.paths()
        if path.endswith(("/points/scroll", "/points"))
        and path.startswith("POST /collections/obsidian_knowledge/")
    ]


def test_the_next_run_finds_nothing_to_do(remote, folder, refresh, server):
    copy_to_server(remote)
    writes = server.paths().count(WRITE)
    report = refresh(config=remote, work=folder)
    assert not report.touched and not report.published and not report.notices
    assert server.paths().count(WRITE) == writes


def test_an_index_that_was_on_the_server_is_replaced(remote, folder, refresh, write_notes):
    refresh(config=remote, other=write_notes("other", {"old.md": "# Old\n\nAn old note.\n"}))
    copy_to_server(remote)
    with get_document_store(remote) as store:
        pipeline = create_search_pipeline(store)
        assert store.count_documents() == 12
        assert search(pipeline, "note number 7").results[0].title == "Note 7"
        assert search(pipeline, "title:old").results == []


def test_vectors_of_another_size_take_the_place_of_the_old(config, remote, folder):
    embed(config, 4)
    copy_to_server(remote)
    embed(config, 6)
    copy_to_server(remote)
    with get_document_store(remote) as store:
        assert (store.embedding_dim, store.count_embedded()) == (6, 12)


def stop(done: int, total: int) -> None:
    """Press Ctrl-C when half the points are copied."""
    if done == 6:
        raise KeyboardInterrupt


@pytest.mark.usefixtures("small_pages")
def test_after_a_copy_broken_off_rag_index_writes_all_that_it_overwrote(
    remote, folder, refresh, points, age
):
    for file in folder.glob("*.md"):
        file.write_text(file.read_text("utf-8").replace("Text", "New text"), "utf-8")
    age(folder)
    refresh(config=remote, work=folder)
    before = points(remote)
    with pytest.raises(KeyboardInterrupt):
        copy_to_server(remote, stop)
    assert points(remote) != before
    assert refresh(config=remote, work=folder).published
    assert points(remote) == before
    assert copy_to_server(remote).chunks == 12


def test_without_a_server_it_says_how_to_name_one(config):
    with pytest.raises(UsageError, match="no server is configured") as caught:
        copy_to_server(config)
    assert "RAG_STORE__URL" in caught.value.hint


def test_an_index_of_another_version_is_not_copied(remote, folder, monkeypatch):
    monkeypatch.setattr("rag.index.manifest.SCHEMA_VERSION", 99)
    with pytest.raises(IndexUnavailableError, match="no embedded index of this version"):
        copy_to_server(remote)
