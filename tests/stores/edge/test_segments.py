"""Segments made apart: built in a folder of their own, then moved into the staging index."""

import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from haystack import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from haystack.document_stores.types import DuplicatePolicy

from rag.index.manifest import dimension_counts
from rag.stores import QdrantEdgeDocumentStore
from rag.stores.base.points import chunk_point, to_point
from rag.stores.edge import document_store as segment_builder
from rag.stores.edge.document_store import build_segments
from rag.text.bm25 import SparseVector

Store = QdrantEdgeDocumentStore
WORD = SparseEmbedding([7], [1.0])


def key(number: int) -> str:
    return str(uuid.UUID(int=number + 1))


def doc(number: int, content: str = "as built") -> Document:
    return Document(id=key(number), content=content, sparse_embedding=SparseEmbedding([7], [1.0]))


def build(folder: Path, numbers: range, size: int = 5) -> tuple[Path, Counter[int]]:
    points = [
        chunk_point(key(n), "as built", {"vault": "v", "tags": ["a"]}, SparseVector([7], [1.0]))
        for n in numbers
    ]
    batches = (points[at : at + size] for at in range(0, len(points), size))
    build_segments(folder, batches)
    return folder, dimension_counts(point.sparse for point in points)


@pytest.fixture
def store(path) -> Iterator[Store]:
    with Store(path) as store:
        yield store


def test_what_was_built_is_found_beside_what_was_written(store, tmp_path):
    store.write_documents([doc(100, "written")])
    store.import_segments(*build(tmp_path / "one", range(10)))
    store.import_segments(*build(tmp_path / "two", range(10, 20)))
    assert store.count_documents() == 21
    assert len(store.find_candidates(WORD, top_k=99)) == 21
    vault = {"field": "meta.vault", "operator": "==", "value": "v"}
    assert len(store.find_candidates(WORD, vault, top_k=99)) == 20


@pytest.mark.parametrize("operations", [1, 5, 90])
def test_an_adopted_point_can_be_changed_and_deleted(store, tmp_path, operations):
    """The engine passes over operations older than the point."""
    store.import_segments(*build(tmp_path / "one", range(operations), size=1))
    store.write_documents([doc(0, "changed")], DuplicatePolicy.OVERWRITE)
    store.delete_documents([key(operations - 1)] if operations > 1 else [])
    store.publish()
    texts = {d.id: d.content for d in store.filter_documents()}
    assert texts[key(0)] == "changed"
    assert len(texts) == max(1, operations - 1)


def test_a_later_change_outlives_a_working_copy_that_was_not_closed(path, tmp_path):
    with Store(path) as store:
        store.import_segments(*build(tmp_path / "one", range(30), size=1))
    with Store(path) as again:  # it counts on, in another process too
        again.write_documents([doc(4, "changed")], DuplicatePolicy.OVERWRITE)
        assert {d.content for d in again.filter_documents() if d.id == key(4)} == {"changed"}


def test_a_chunk_s_point_is_the_one_of_its_document():
    meta = {"title": "true", "tags": ["a", "b"], "position": 3}
    point = chunk_point(key(1), "false", meta, SparseVector([3, 5], [0.5, 2.0]))
    document = Document(
        id=key(1), content="false", meta=meta, sparse_embedding=SparseEmbedding([3, 5], [0.5, 2.0])
    )
    other = to_point(document)
    assert point == other


def test_many_points_are_written_out_in_between(store, tmp_path, monkeypatch):
    monkeypatch.setattr(segment_builder, "_MOST_POINTS", 300)
    large = SparseVector([*range(400)], [1.0] * 400)
    points = [chunk_point(key(n), "x", {}, large) for n in range(700)]
    batches = [points[at : at + 150] for at in range(0, 700, 150)]
    build_segments(tmp_path / "p", batches)
    store.import_segments(tmp_path / "p", dimension_counts(point.sparse for point in points))
    store.publish()
    assert store.count_documents() == 700
    assert {d.id for d in store.filter_documents()} == {key(n) for n in range(700)}
