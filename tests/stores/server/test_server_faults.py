"""Whatever goes wrong with a server: one clear error, soon, with the exit code of the contract."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from qdrant_server import KINDS, QdrantServer
from rag.config import StoreConfig
from rag.exceptions import StoreConnectionError
from rag.stores import QdrantServerDocumentStore
from rag.stores.base.points import StoreError

Store = QdrantServerDocumentStore
WORDS = SparseEmbedding([1], [1.0])
CALLS: dict[str, Callable[[Store], Any]] = {
    "count": lambda store: store.count_documents(),
    "search": lambda store: store.find_candidates(WORDS),
    "both": lambda store: store.find_lists([(WORDS, 9), ([0.6, 0.8], 9)]),
    "read": lambda store: store.get_documents(["a"]),
    "list": lambda store: store.newest(),
    "scroll": lambda store: store.all_documents(),
    "write": lambda store: store.write_documents([Document(id="b", content="b")]),
    "delete": lambda store: store.delete_documents(["a"]),
    "size": lambda store: store.embedding_dim,
    "embed": lambda store: store.write_embeddings({"a": [[0.6, 0.8]]}),
    "drop": lambda store: store.drop_embeddings(),
    "publish": lambda store: store.publish(),
}


@contextmanager
def written(server: QdrantServer, tmp_path: Path, seconds: float) -> Iterator[Store]:
    """A store with one document, whose server fails from now on if it is told to."""
    with Store(str(tmp_path / "index"), StoreConfig(url=server.url, timeout=seconds)) as store:
        store.write_documents([Document(id="a", content="a", sparse_embedding=WORDS)])
        yield store


@pytest.fixture
def store(server, tmp_path) -> Iterator[Store]:
    with written(server, tmp_path, 10) as store:  # a busy machine may take its time
        yield store


@pytest.fixture
def hasty(server, tmp_path) -> Iterator[Store]:
    with written(server, tmp_path, 1) as store:
        yield store


def failure(store: Store, call: Callable[[Store], Any] = CALLS["search"]) -> StoreConnectionError:
    with pytest.raises(StoreConnectionError) as caught:
        call(store)
    assert caught.value.exit_code == 4
    assert caught.value.server == store.settings.url
    assert caught.value.hint
    assert "\n" not in str(caught.value)
    return caught.value


QUICK = [kind for kind in KINDS if kind not in ("hang", "drip")]


@pytest.mark.sampled
@pytest.mark.parametrize("kind", QUICK)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_every_call_fails_in_the_same_way(server, store, kind, call):
    server.fail(kind)
    failure(store, call)


@pytest.mark.parametrize(
    ("status", "message", "hint"),
    [
        (401, "does not accept the API key", "QDRANT_API_KEY"),
        (403, "does not accept the API key", "QDRANT_API_KEY"),
        (404, "error 404", "store.url"),
        (301, "error 301", "store.url"),
        (407, "error 407", "store.url"),
        (413, "error 413", "max_request_size_mb"),
        (429, "is busy", "later"),
        (503, "is busy", "later"),
        (500, "error 500", "log"),
        (400, "error 400", "log"),
    ],
)
def test_a_refusal_says_what_to_do(server, store, status, message, hint):
    server.fail("status", status)
    error = failure(store)
    assert message in error.message
    assert hint in error.hint


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("garbage", "not Qdrant's"),
        ("deep", "not Qdrant's"),
        ("deep_error", "error 500"),
        ("html", "not Qdrant's"),
        ("null", "not Qdrant's"),
        ("hangup", "broke the connection"),
        ("cut", "broke the connection"),
    ],
)
def test_what_was_wrong_is_told_apart(server, store, kind, message):
    server.fail(kind)
    assert message in failure(store).message


@pytest.mark.parametrize("kind", ["drip", "hang"])
def test_what_takes_too_long_is_given_up(server, hasty, kind):
    server.fail(kind)
    assert "took too long" in failure(hasty).message


@pytest.mark.parametrize(
    "said", ["Not found: Collection `x` doesn't exist!", "Not found: No point with id 7 found"]
)
def test_what_the_server_lost_is_a_fault_of_the_index(server, store, said):
    server.fail("status", 404, json.dumps({"status": {"error": said}}))
    with pytest.raises(StoreError) as caught:
        store.count_documents()
    assert (caught.value.exit_code, "rag index" in caught.value.hint) == (3, True)


def test_a_key_that_the_server_repeats_is_not(server, tmp_path, monkeypatch):
    monkeypatch.setenv("QDRANT_API_KEY", "s3cret")
    server.fail("status", 401, '{"status": {"error": "key s3cret is wrong"}}')
    with Store(str(tmp_path / "index"), StoreConfig(url=server.url)) as store:
        assert failure(store, Store.begin_writing).details == "key … is wrong"
