"""Embedding: what is sent, what comes back, and that one bad text loses nothing else."""

import math
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from embedding_calls import batches_of, embed, embeddings_of
from ollama_server import Model, OllamaServer, refused
from rag.clients import get_embedding
from rag.clients.batch_embedder import halves
from rag.config import OllamaConfig
from rag.exceptions import ConfigError, ConnectionError, QueryError

Settings = Callable[..., OllamaConfig]
WORDS = [f"word{n} holds expire" for n in range(20)]


def cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


# -- what is sent ----------------------------------------------------------------------


def test_a_query_and_a_document_have_the_prefixes_of_the_model(server, settings):
    get_embedding("holds", settings())
    embed(["holds"], settings())
    assert server.inputs() == ["search_query: holds", "search_document: holds"]


def test_line_breaks_stay_and_nothing_may_be_truncated(server, settings):
    embed(["one\n\ntwo"], settings(keep_alive="3m"))
    [request] = server.requests("/api/embed")
    assert request.inputs == ["search_document: one\n\ntwo"]
    assert (request.json["truncate"], request.json["keep_alive"]) == (False, "3m")


def test_half_a_surrogate_pair_is_sent_as_a_question_mark(server, settings):
    assert len(embed(["bro\ud83dken"], settings()).vectors) == 1
    assert server.inputs() == ["search_document: bro?ken"]


def test_no_more_requests_than_configured_are_in_flight(server, settings):
    server.fail("/api/embed", "slow", seconds=0.2, times=None)
    embed(WORDS[:6], settings(batch_tokens=1, max_in_flight=3))
    assert server.most_in_flight("/api/embed") == 3


# -- what comes back -------------------------------------------------------------------


def test_each_text_gets_its_own_vector(server, settings):
    found = embed(WORDS, settings(batch_tokens=30))
    assert [position for position, _ in found.vectors] == list(range(20))
    model = server.models["nomic-embed-text"]
    for position, vector in found.vectors:
        assert vector == pytest.approx(model.vector(WORDS[position]))


def test_batches_come_while_later_texts_are_not_made_yet(settings):
    taken = 0

    def texts() -> Iterator[str]:
        nonlocal taken
        for taken in range(1, 1001):
            yield f"text {taken}"

    stream = batches_of(texts(), settings(batch_tokens=20, max_in_flight=1))
    next(stream)
    assert taken < 100
    stream.close()


def test_a_blank_text_fails_alone(settings):
    found = embed(["one", " \n", "three"], settings())
    assert [position for position, _ in found.vectors] == [0, 2]
    assert found.failures == [(1, "there is no text to embed")]
    with pytest.raises(QueryError, match="no text"):
        get_embedding("", settings())


def test_a_query_and_its_variants_go_in_one_request(server, settings):
    vectors = embeddings_of(settings())
    found = vectors.embed_query(["one", " ", "three"])
    assert found == [get_embedding("one", settings()), None, get_embedding("three", settings())]
    assert [len(request.inputs) for request in server.requests("/api/embed")] == [2, 1, 1]
    vectors.close()


@pytest.mark.parametrize("status", [400, 500])
def test_a_variant_that_fails_leaves_the_query_its_vector(server, settings, status):
    server.poison("poison", status)
    vectors = embeddings_of(settings())
    first, second = vectors.embed_query(["one", "poison"])
    assert first == get_embedding("one", settings()) and second is None
    with pytest.raises(ConnectionError):
        vectors.embed_query(["poison", "one"])
    vectors.close()


# -- what goes wrong with some ---------------------------------------------------------


@pytest.mark.parametrize("status", [400, 500])
def test_one_poisonous_text_loses_no_other(server, settings, status):
    server.poison("word7 ", status)
    found = embed(WORDS, settings())
    assert [position for position, _ in found.vectors] == [n for n in range(20) if n != 7]
    [(position, reason)] = found.failures
    assert position == 7 and f"error {status}" in reason


@pytest.mark.parametrize("kind", ["drop", "reset", "cut", "garbage", "fewer", "none"])
def test_a_text_that_breaks_the_answer_loses_no_other(server, settings, kind):
    server.fail("/api/embed", kind, times=None, when=lambda r: any("word7 " in i for i in r.inputs))
    found = embed(WORDS, settings(retries=0))
    assert (len(found.vectors), [position for position, _ in found.failures]) == (19, [7])


def test_a_text_on_which_the_model_hangs_loses_no_other(server, settings):
    def hangs(request: Any) -> bool:
        return any("word3 " in text for text in request.inputs)

    server.fail("/api/embed", "slow", seconds=30, times=None, when=hangs)
    found = embed(WORDS[:4], settings(read_timeout=1.0))
    assert (len(found.vectors), [position for position, _ in found.failures]) == (3, [3])


@pytest.mark.parametrize("kind", ["nan", "inf", "null"])
def test_what_is_no_vector_is_asked_for_once_more_and_alone(server, settings, kind):
    server.fail("/api/embed", kind, times=1)  # the last vector of the batch
    assert len(embed(WORDS[:3], settings()).vectors) == 3
    assert [len(request.inputs) for request in server.requests("/api/embed")] == [3, 1]


@pytest.mark.parametrize(
    "fault",
    [{"status": 500}, {"status": 503}, {"kind": "drop"}, {"kind": "garbage"}, {"kind": "none"}],
)
def test_a_batch_that_failed_once_is_sent_again(server, settings, fault):
    server.fail("/api/embed", times=1, **fault)
    assert len(embed(WORDS, settings()).vectors) == 20
    assert [len(request.inputs) for request in server.requests("/api/embed")] == [20, 20]


def test_what_was_made_before_the_server_went_is_handed_over(server, settings):
    server.fail("/api/embed", "drop", after=3, times=None)
    made = []
    with pytest.raises(ConnectionError, match="broke the connection"):
        for batch in batches_of(WORDS, settings(batch_tokens=1, max_in_flight=1, retries=0)):
            made += batch.vectors
    assert [position for position, _ in made] == [0, 1, 2]


# -- texts that are too long -----------------------------------------------------------


@pytest.fixture
def tiny() -> Iterator[OllamaServer]:
    with OllamaServer([Model("tiny", dimension=16, context=12)]) as running:
        yield running


LONG = "alpha beta gamma. delta epsilon zeta. eta theta iota. kappa lambda mu."


@pytest.mark.parametrize("limit", [0, 12])
def test_a_long_text_has_the_mean_of_its_parts(tiny, settings, limit):
    config = settings(url=tiny.url, embedding_model="tiny")
    found = embed(["alpha", LONG, "mu"], config, limit=limit)
    assert [position for position, _ in found.vectors] == [0, 1, 2]
    vector = found.vectors[1][1]
    assert math.hypot(*vector) == pytest.approx(1)
    assert cosine(vector, tiny.models["tiny"].vector(LONG)) > 0.8


def test_a_prefix_that_leaves_no_room_is_an_error_and_no_loop(tiny, settings):
    config = settings(url=tiny.url, embedding_model="tiny", document_prefix="too long " * 20)
    with pytest.raises(ConnectionError, match="longer than tiny reads"):
        embed([LONG], config)
    assert len(tiny.requests()) < 20


# -- several servers -------------------------------------------------------------------


def test_several_servers_share_the_work(server, settings):
    with OllamaServer(["nomic-embed-text"]) as other:
        for each in (server, other):
            each.fail("/api/embed", "slow", seconds=0.03, times=None)
        config = settings(urls=[server.url, other.url], batch_tokens=1)
        assert len(embed(WORDS, config).vectors) == 20
        assert server.inputs() and other.inputs()


def test_a_server_that_fails_is_left_alone_and_the_others_do_its_work(server, settings):
    with refused() as nobody:
        config = settings(urls=[nobody, server.url], batch_tokens=1)
        assert len(embed(WORDS, config).vectors) == 20


@pytest.mark.parametrize("fault", [{"kind": "missing"}, {"status": 500}, {"kind": "dimension"}])
def test_a_server_without_the_model_or_in_trouble_is_asked_seldom(server, settings, fault):
    with OllamaServer(["nomic-embed-text"]) as other:
        other.fail("/api/embed", times=None, **fault)
        config = settings(urls=[other.url, server.url], batch_tokens=1)
        assert len(embed(WORDS, config, dimension=768).vectors) == 20
        assert len(other.requests()) <= 7  # a look, and two requests: again, and with a letter


def test_a_query_waits_no_longer_than_its_own_timeout(server, settings):
    server.fail("/api/embed", "slow", seconds=30, times=None)
    with pytest.raises(ConnectionError):
        get_embedding("holds", settings(query_timeout=0.2, read_timeout=60.0))


# -- what ends a run -------------------------------------------------------------------


def test_without_an_embedding_model_there_is_nothing_to_ask(settings):
    with pytest.raises(ConfigError, match="no embedding model"):
        get_embedding("one", settings(embedding_model=""))


def test_ctrl_c_waits_for_no_server(server):
    server.fail("/api/embed", "slow", seconds=60, times=None)
    code = f"""
from rag.clients.providers import OllamaEmbeddings
from rag.config import ModelsConfig, OllamaConfig
try:
    list(OllamaEmbeddings(ModelsConfig(ollama=OllamaConfig(url={server.url!r}))).embed_documents(["one"]))
except KeyboardInterrupt:
    print("interrupted")
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    deadline = time.monotonic() + 20
    while not server.requests("/api/embed") and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=5)
    assert (said, process.returncode) == ("interrupted\n", 0)


def test_an_answer_without_end_is_not_read_to_it(settings, monkeypatch):
    monkeypatch.setattr("rag.clients.http_client._LARGEST", 500)
    with pytest.raises(ConnectionError, match="the answer has no end"):
        get_embedding("holds", settings(retries=0))


def test_a_server_that_drips_its_answer_meets_the_deadline(settings):
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n")
                for _ in range(200):
                    connection.sendall(b" ")
                    time.sleep(0.02)

        thread = threading.Thread(target=drip)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(ConnectionError, match="took too long"):
            get_embedding("holds", settings(url=url, query_timeout=0.3, retries=0))
        thread.join(5)


# -- sizes and cuts --------------------------------------------------------------------


def test_a_text_is_cut_between_words_near_its_middle():
    assert halves("証明書の更新。手順は次。") == ["証明書の更新。", "手順は次。"]
    assert halves("alpha beta gamma delta epsilon") == ["alpha beta gamma ", "delta epsilon"]
