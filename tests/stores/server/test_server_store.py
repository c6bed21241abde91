"""`QdrantServerDocumentStore`: the collection it makes, whose it is, and what is published."""

from typing import Any

import pytest
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from qdrant_client import models

from rag.config import StoreConfig
from rag.exceptions import (
    ConfigError,
    IndexingError,
    IndexUnavailableError,
    StoreConnectionError,
    UsageError,
)
from rag.index.manifest import ChunkKey, Manifest, NoteRow
from rag.index.snapshots import MANIFEST
from rag.stores import QdrantServerDocumentStore

Store = QdrantServerDocumentStore
IDS = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(10)]


def doc(name: str, embedding: list[float] | None = None, **meta: Any) -> Document:
    words = SparseEmbedding([1, 4294967295], [1.0, 0.5])
    return Document(
        id=name, content=f"text of {name}", meta=meta, sparse_embedding=words, embedding=embedding
    )


def record(store: Store, *ids: str) -> None:
    """Say in the working manifest that these are the chunks of the one note."""
    with Manifest.open_work(store.directory.begin_work() / MANIFEST) as manifest:
        row = NoteRow("v", "a.md", "a.md", 1, 1, False, b"", [ChunkKey(i, bytes(16)) for i in ids])
        manifest.set(fingerprint="{}")
        manifest.commit_write([row])


# -- the collection --------------------------------------------------------------------


def test_the_collection_has_words_without_idf_and_indexes_of_what_is_filtered_by(
    server, open_server
):
    open_server().begin_writing()
    info = server.engine.get_collection("obsidian_knowledge")
    assert info.config.params.vectors == {}
    assert list(info.config.params.sparse_vectors) == ["lexical"]
    assert info.config.params.sparse_vectors["lexical"].modifier is None
    kinds = {name: i.data_type.value for name, i in server.indexes["obsidian_knowledge"].items()}
    assert kinds == {
        "meta.vault": "keyword",
        "meta.tags": "keyword",
        "meta.file_id": "uuid",
        "meta.created": "datetime",
    }


def test_the_layout_is_the_configuration_s(server, open_server):
    store = open_server(
        collection="notes",
        shard_number=6,
        replication_factor=3,
        write_consistency_factor=2,
        on_disk=True,
        quantization="scalar",
        hnsw_m=32,
    )
    store.write_documents([doc("a", [0.6, 0.8])])
    made = server.created["notes"]
    assert (made["shard_number"], made["replication_factor"]) == (6, 3)
    assert made["write_consistency_factor"] == 2
    assert made["hnsw_config"]["m"] == 32
    assert made["quantization_config"]["scalar"]["type"] == "int8"
    assert made["quantization_config"]["scalar"]["always_ram"] is True
    assert made["on_disk_payload"] is True
    assert made["sparse_vectors"]["lexical"]["index"]["on_disk"] is True
    space = made["dense"]["sentences"]
    assert (space["size"], space["datatype"]) == (2, "float16")
    assert made["updated"]["vectors"]["sentences"]["on_disk"] is True
    assert made["dense"]["sentences"]["multivector_config"] == {"comparator": "max_sim"}


def test_binary_quantization_is_scored_again_by_the_vectors(server, open_server, monkeypatch):
    asked: list[Any] = []
    query = server.engine.query_batch_points
    monkeypatch.setattr(
        server.engine, "query_batch_points", lambda n, r: asked.extend(r) or query(n, r)
    )
    store = open_server(quantization="binary")
    store.write_documents([doc("a", [0.6, 0.8])])
    store.find_lists([([0.6, 0.8], 9), (SparseEmbedding([1], [1.0]), 9)])
    dense, sparse = asked
    assert dense.params.quantization.rescore and dense.params.quantization.oversampling > 1
    assert sparse.params is None
    assert "binary" in server.created["obsidian_knowledge"]["quantization_config"]


def test_many_or_large_documents_go_in_requests_that_a_server_takes(server, open_server):
    store = open_server()
    store.write_documents([doc(str(n)) for n in range(250)])
    large = [Document(id=f"large {n}", content="x" * 3_000_000) for n in range(4)]
    store.write_documents(large)
    writes = [
        path for path in server.paths() if path == "PUT /collections/obsidian_knowledge/points"
    ]
    assert len(writes) == 3 + 2
    assert store.count_documents() == 254


# -- whose it is -----------------------------------------------------------------------


def test_a_collection_with_points_of_others_is_refused(server, open_server):
    with open_server() as store:
        store.begin_writing()
    server.engine.upsert("obsidian_knowledge", [models.PointStruct(id=1, vector={})])
    server.engine.delete_collection("obsidian_knowledge.catalog")
    other = open_server("other")
    with pytest.raises(UsageError, match="no catalog says whose") as caught:
        other.begin_writing()
    assert "store.collection" in caught.value.hint
    with open_server("other") as again:  # and the lock is let go of
        assert again.count_documents() == 0


# -- publishing ------------------------------------------------------------------------


def test_what_the_server_lost_is_not_published(server, open_server):
    store = open_server()
    store.write_documents([doc(name) for name in IDS[:2]])
    record(store, *IDS[:3])
    with pytest.raises(IndexingError, match="2 of 3"):
        store.publish()
    assert store.directory.current() is None


def test_a_collection_that_vanished_is_named_with_the_command_that_mends_it(server, open_server):
    store = open_server(collection="notes")
    store.write_documents([doc("a")])
    server.engine.delete_collection("notes")
    with pytest.raises(IndexUnavailableError, match="no collection 'notes'") as caught:
        store.find_candidates(SparseEmbedding([1], [1.0]))
    assert "rag index" in caught.value.hint


# -- what it contacts, and the key -----------------------------------------------------


def test_a_server_that_is_silent_is_not_taken_for_one_without_an_index(tmp_path):
    settings = StoreConfig(url="http://127.0.0.1:1")
    with Store(str(tmp_path / "index"), settings) as store, pytest.raises(StoreConnectionError):
        _ = store.is_readable


def test_the_key_of_the_environment_is_sent_and_kept_nowhere(open_server, server, monkeypatch):
    server.key = "s3cret"
    monkeypatch.setenv("MY_KEY", "s3cret\n")
    store = open_server(api_key_env="MY_KEY")
    store.write_documents([doc("a")])
    assert {headers["api-key"] for _, _, headers in server.requests} == {"s3cret"}
    assert "s3cret" not in repr(store.to_dict())


def test_a_key_is_not_sent_to_another_machine_in_the_clear(tmp_path, monkeypatch):
    monkeypatch.setenv("QDRANT_API_KEY", "s3cret")
    store = Store(str(tmp_path / "index"), StoreConfig(url="http://qdrant.example:6333"))
    with pytest.raises(ConfigError, match="unencrypted") as caught:
        store.begin_writing()
    assert "s3cret" not in str(caught.value) + caught.value.hint
