"""Several addresses of one server: which of them is asked, and what is said when none answers."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from qdrant_server import QdrantServer
from rag.exceptions import StoreConnectionError
from rag.stores import QdrantServerDocumentStore

Store = QdrantServerDocumentStore
WORDS = SparseEmbedding([1], [1.0])
READS: dict[str, Callable[[Store], Any]] = {
    "search": lambda store: [c.id for c in store.find_candidates(WORDS)],
    "read": lambda store: [d.id for d in store.get_documents(["a"])],
    "scroll": lambda store: [d.id for d in store.all_documents()],
    "count": lambda store: ["a"] * store.count_documents(),
}


@pytest.fixture
def nodes() -> Iterator[list[QdrantServer]]:
    """Two nodes of one cluster: they hold the same."""
    with QdrantServer() as one, QdrantServer() as two:
        for name in ("engine", "shards", "indexes", "created", "mutex"):
            setattr(two, name, getattr(one, name))
        yield [one, two]


@pytest.fixture
def open_store(nodes, open_server) -> Callable[..., Store]:
    """Open the store of a cluster: `open_store(timeout=1)`."""
    return partial(open_server, url=", ".join(node.url for node in nodes))


@pytest.fixture
def store(open_store) -> Store:
    """A store of both, with one document; the first was asked so far."""
    store = open_store()
    store.write_documents([Document(id="a", content="a", sparse_embedding=WORDS)])
    return store


# -- the next is asked -----------------------------------------------------------------


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_the_next_address_answers_for_one_that_is_gone(nodes, store, open_store, read):
    store.publish()
    nodes[0].close()
    assert read(open_store()) == ["a"]


@pytest.mark.parametrize("kind", ["hangup", "cut"])
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_read_whose_connection_broke_is_asked_of_the_next(nodes, store, kind, read):
    nodes[0].fail(kind)
    assert read(store) == ["a"]


@pytest.mark.parametrize("kind", ["hangup", "cut"])
def test_a_write_of_points_whose_connection_broke_is_made_again(nodes, store, kind):
    for write, left in (
        (lambda: store.write_documents([Document(id="b", content="b")]), ["a", "b"]),
        (lambda: store.delete_documents(["a"]), ["b"]),
    ):
        nodes[0].fail(kind)
        write()
        assert sorted(d.id for d in store.all_documents()) == left


def test_the_making_of_a_collection_is_not_repeated(nodes, open_store):
    nodes[0].fail("cut", after=6)  # those of the catalog come before
    with pytest.raises(StoreConnectionError, match="broke the connection"):
        open_store().begin_writing()
    assert nodes[0].paths()[-1] == "PUT /collections/obsidian_knowledge"
    assert nodes[1].requests == []


# -- it is not -------------------------------------------------------------------------


def test_who_takes_too_long_is_named_and_nobody_else_is_asked(nodes, open_store):
    nodes[0].fail("hang")
    with pytest.raises(StoreConnectionError, match="took too long") as caught:
        open_store(timeout=0.5).begin_writing()
    assert (caught.value.server, nodes[1].requests) == (nodes[0].url, [])


# -- all fail --------------------------------------------------------------------------


def test_all_addresses_are_named_when_none_answers(nodes, open_store):
    for node in nodes:
        node.close()
    with pytest.raises(StoreConnectionError) as caught:
        open_store().begin_writing()
    both = f"{nodes[0].url}, {nodes[1].url}"
    assert caught.value.message == f"no Qdrant server answers at {both}"
    assert caught.value.server == both


def test_a_node_that_is_not_ready_says_so_where_the_other_is_gone(nodes, open_store):
    nodes[0].close()
    nodes[1].fail("status", 503)
    with pytest.raises(StoreConnectionError) as caught:
        open_store().begin_writing()
    assert caught.value.message == f"{nodes[1].url} is busy"
