"""`QdrantEdgeDocumentStore` beyond what Haystack's conformance suite asks."""

import os
import shutil
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy

from rag.exceptions import IndexUnavailableError
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST, SHARD
from rag.stores import COLLECTION_NAME, QdrantEdgeDocumentStore, get_collection_stats
from rag.support.disk_space import copy_tree

Store = QdrantEdgeDocumentStore


def doc(name: str, content: str = "text", **more: Any) -> Document:
    return Document(id=name, content=content, **more)


def sparse(**weights: float) -> SparseEmbedding:
    """`sparse(d1=0.5)`: a weight of .5 in dimension 1."""
    return SparseEmbedding([int(name[1:]) for name in weights], list(weights.values()))


def ids(documents: list[Document]) -> list[str]:
    return [document.id for document in documents]


def contents(store: Store) -> dict[str, str | None]:
    return {document.id: document.content for document in store.filter_documents()}


# -- writing ---------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [DuplicatePolicy.NONE, DuplicatePolicy.FAIL])
def test_an_id_that_is_there_fails_and_nothing_of_the_call_is_written(store, policy):
    store.write_documents([doc("a", "old")])
    with pytest.raises(DuplicateDocumentError, match="'a'"):
        store.write_documents([doc("b"), doc("a", "new")], policy)
    assert contents(store) == {"a": "old"}


def test_more_documents_than_one_batch_holds_are_all_written_and_read(store):
    names = {f"note {n}" for n in range(2500)}
    assert store.write_documents([doc(name) for name in names]) == 2500
    assert store.count_documents() == 2500
    assert set(contents(store)) == names


# -- what comes back --------------------------------------------------------------


def test_any_json_in_meta_comes_back(store):
    meta = {
        "text": "日本語 \x00 🎌",
        "float": 0.1,
        "integer": 2**53 + 1,
        "none": None,
        "flags": [True, False],
        "nested": {"a": [1, [2, {"b": []}]], "": {}},
        "date created": "2025",
        "a.b": 1,
    }
    store.write_documents([doc("a", meta=meta)])
    assert repr(store.filter_documents()[0].meta["flags"]) == "[True, False]"
    assert store.filter_documents()[0].meta == meta


# -- embeddings ------------------------------------------------------------------------


@pytest.mark.parametrize("first", [[doc("first", embedding=[1.0, 2.0])], []])
def test_an_embedding_of_another_dimension_is_refused_with_all_of_its_call(store, first):
    store.write_documents(first)
    with pytest.raises(ValueError, match="dimensions"):
        store.write_documents(
            [doc("a"), doc("b", embedding=[1.0, 2.0]), doc("c", embedding=[1.0, 2.0, 3.0])]
        )
    assert ids(store.filter_documents()) == ids(first)


# -- searching -------------------------------------------------------------------------


def test_a_dense_query_ranks_by_similarity(store):
    store.write_documents(
        [
            doc("opposite", embedding=[-1.0, 0.0]),
            doc("same", embedding=[10.0, 0.0]),
            doc("near", embedding=[2.0, 1.0]),
        ]
    )
    [found] = store.find_lists([([1.0, 0.0], 10)])
    assert [c.id for c in found] == ["same", "near", "opposite"]
    assert [c.score for c in found] == pytest.approx([1.0, 2 / 5**0.5, -1.0], abs=1e-6)


@pytest.mark.parametrize("query", [[], [float("nan"), 1.0], [float("inf"), 1.0], [1e300, 1.0]])
def test_a_dense_query_that_cannot_be_compared_is_refused(store, query):
    store.write_documents([doc("a", embedding=[1.0, 2.0])])
    with pytest.raises(ValueError, match="finite"):
        store.find_lists([(query, 10)])


# -- poison ----------------------------------------------------------------------------


def nested(kind: Callable[[Any], Any], levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = kind(value)
    return value


def lopsided(indices: list[int], values: list[float]) -> SparseEmbedding:
    """A sparse embedding whose lists were changed after Haystack had compared their lengths."""
    made = SparseEmbedding([], [])
    made.indices.extend(indices)
    made.values.extend(values)
    return made


POISON: dict[str, dict[str, Any]] = {
    "fewer values than indices": {"sparse_embedding": lopsided([1, 2], [1.0])},
    "fewer indices than values": {"sparse_embedding": lopsided([1], [1.0, 2.0])},
    "an index twice": {"sparse_embedding": SparseEmbedding([1, 1], [1.0, 2.0])},
    "a negative index": {"sparse_embedding": SparseEmbedding([-1], [1.0])},
    "an index of 40 bits": {"sparse_embedding": SparseEmbedding([2**40], [1.0])},
    "NaN in a sparse vector": {"sparse_embedding": SparseEmbedding([1], [float("nan")])},
    "infinity in 32 bits": {"sparse_embedding": SparseEmbedding([1], [1e300])},
    "text in a sparse vector": {"sparse_embedding": SparseEmbedding([1], ["a"])},  # type: ignore[list-item]
    "NaN in an embedding": {"embedding": [float("nan"), 1.0]},
    "infinity in an embedding": {"embedding": [float("inf"), 1.0]},
    "an embedding beyond 32 bits": {"embedding": [1e300, 1.0]},
    "an empty embedding": {"embedding": []},
    "text in an embedding": {"embedding": ["a", "b"]},
    "half a character": {"content": "\ud800"},
    "half a character in meta": {"meta": {"a": ["\ud800"]}},
    "half a character in a key": {"meta": {"\ud800": 1}},
    "a datetime": {"meta": {"created": datetime(2025, 3, 14)}},
    "a set": {"meta": {"tags": {"a"}}},
    "bytes": {"meta": {"data": b"a"}},
    "NaN in meta": {"meta": {"n": float("nan")}},
    "infinity in meta": {"meta": {"n": [float("-inf")]}},
    "a key that is no text": {"meta": {"a": {1: 2}}},
    "lists nested 200 deep": {"meta": {"a": nested(lambda value: [value], 200)}},
    "tuples nested 200 deep": {"meta": {"a": nested(lambda value: (value,), 200)}},
    "objects nested 200 deep": {"meta": {"a": nested(lambda value: {"b": value}, 200)}},
}


def test_after_all_poison_the_index_still_takes_documents_and_loads(path):
    with Store(path) as store:
        store.write_documents([doc("good", embedding=[3.0, 4.0])])
        for poison in POISON.values():
            with pytest.raises(ValueError, match="bad"):
                store.write_documents([Document(**{"id": "bad", **poison})])
        store.write_documents([doc("later")])
        assert set(contents(store)) == {"good", "later"}
        store.publish()
    with Store(path) as reader:
        assert reader.count_documents() == 2


# -- reading and publishing ------------------------------------------------------------


def test_an_open_reader_stays_whole_and_follows_to_the_next_generation(store, path):
    with Store(path) as reader:
        store.write_documents([doc("a", "old")])
        store.publish()
        assert contents(reader) == {"a": "old"}
        store.write_documents([doc("a", "new"), doc("b")], DuplicatePolicy.OVERWRITE)
        assert contents(reader) == {"a": "old"}
        store.publish()
        assert contents(reader) == {"a": "new", "b": "text"}


# -- damage ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def twenty_documents(tmp_path_factory) -> Path:
    """A published index; `published` gives each test a copy of it."""
    folder = tmp_path_factory.mktemp("published") / "index"
    with Store(str(folder)) as store:
        store.write_documents(
            [
                doc(str(n), embedding=[1.0, n], sparse_embedding=sparse(d1=1.0 + n))
                for n in range(20)
            ]
        )
        store.publish()
    return folder


@pytest.fixture
def published(path, twenty_documents) -> Path:
    """The folder of a snapshot of twenty documents."""
    copy_tree(twenty_documents, Path(path))
    return Path(path) / "gen-1"


def no_segments(snapshot: Path) -> None:
    shutil.rmtree(snapshot / SHARD / "segments")


def no_snapshot(snapshot: Path) -> None:
    shutil.rmtree(snapshot)


def point_count_is_text(snapshot: Path) -> None:
    with Manifest.open_work(snapshot / MANIFEST) as manifest:
        manifest.set(points="many")


def pointer_is_rubbish(snapshot: Path) -> None:
    (snapshot.parent / "CURRENT").write_bytes(b"\xff\x00/..")


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def each(pattern: str, harm: Callable[[Path], None]) -> Callable[[Path], None]:
    """Return the damage of harming each such file of the segments."""

    def damage(snapshot: Path) -> None:
        files = list(snapshot.glob(f"{SHARD}/segments/*/{pattern}"))
        assert files
        for file in files:
            harm(file)

    return damage


DAMAGE: dict[str, Callable[[Path], None]] = {
    "no segments": no_segments,
    "no snapshot": no_snapshot,
    "a point count that is text": point_count_is_text,
    "a pointer that is rubbish": pointer_is_rubbish,
    "no version.info": each("version.info", Path.unlink),
    "segment.json cut short": each("segment.json", cut),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_generation_is_an_index_error_that_names_the_mend(published, path, damage):
    damage(published)
    with Store(path) as reader, pytest.raises(IndexUnavailableError) as caught:
        reader.filter_documents()
    assert "`rag index" in caught.value.hint


def test_a_wrong_number_of_points_is_found_and_said(published, path):
    with Manifest.open_work(published / MANIFEST) as manifest:
        manifest.set(points="21")
    with Store(path) as reader:
        for read in (reader.count_documents, reader.filter_documents):
            with pytest.raises(IndexUnavailableError, match="20 of 21 points"):
                read()


# -- threads and the event loop --------------------------------------------------------


def test_a_store_may_be_used_from_any_thread(store):
    store.write_documents([doc("0")])
    failures: list[BaseException] = []

    query = sparse(**{f"d{number}": 1.0 for number in range(1, 60)})

    def work(number: int) -> None:
        try:
            for n in range(10):
                store.write_documents([doc(f"{number}-{n}", sparse_embedding=sparse(d1=1.0))])
                store.find_candidates(query)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert store.count_documents() == 41


# -- its address -----------------------------------------------------------------------


def test_it_is_written_down_as_an_address_and_made_again(path):
    store = Store(path, is_quantized=True)
    data = store.to_dict()
    assert data == {
        "type": "rag.stores.edge.document_store.QdrantEdgeDocumentStore",
        "init_parameters": {"path": path, "is_quantized": True},
    }
    assert Store.from_dict(data).to_dict() == data


def test_collection_stats_tell_of_documents_and_embeddings(store):
    store.write_documents([doc("b")])
    assert get_collection_stats(store)["embedding_dim"] is None
    store.write_documents([doc("a", embedding=[1.0, 2.0])])
    assert get_collection_stats(store) == {
        "collection_name": COLLECTION_NAME,
        "document_count": 2,
        "embedding_dim": 2,
        "similarity": "cosine",
    }
