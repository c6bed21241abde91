"""Servers that take a connection and say nothing: looked at once, and remembered."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from embedding_calls import embeddings_of
from ollama_server import OllamaServer, refused
from rag.clients import check_connection, servers
from rag.clients.dialects import OllamaClient
from rag.clients.servers import Endpoint, check_listening
from rag.config import OllamaConfig
from rag.exceptions import ConnectionError
from tables import rows


class Hanging:
    """A server that takes connections, counts them, and says nothing."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.taken: list[socket.socket] = []
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        while True:
            try:
                self.taken.append(self._listener.accept()[0])
            except OSError:
                return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for end in (self._listener, *self.taken):
            end.close()


@pytest.fixture
def hanging(monkeypatch) -> Iterator[Hanging]:
    monkeypatch.setattr(servers, "_SECONDS", 0.2)
    server = Hanging()
    yield server
    server.close()


def server_at(url: str) -> Endpoint:
    return Endpoint("ollama", "embedding", url, "bge-m3")


def fetch(url: str) -> object:
    with closing(OllamaClient(server_at(url), OllamaConfig())) as client, client.our_errors():
        return client.fetch("/api/tags")


def test_it_is_an_error_that_says_when_it_is_asked_again(hanging):
    with pytest.raises(ConnectionError, match="says nothing") as caught:
        fetch(hanging.url)
    assert caught.value.server == hanging.url
    assert "in 60 s" in caught.value.hint and "rag doctor" in caught.value.hint


def test_it_is_asked_once_in_a_minute(hanging):
    for _ in range(3):
        with pytest.raises(ConnectionError):
            fetch(hanging.url)
    with pytest.raises(ConnectionError):
        check_listening([server_at(hanging.url)])
    assert len(hanging.taken) == 1
    servers._silent[hanging.url] -= 61
    with pytest.raises(ConnectionError):
        fetch(hanging.url)
    assert len(hanging.taken) == 2


def test_who_asks_how_it_is_asks_it(hanging):
    for _ in range(2):
        assert not check_connection(hanging.url).ok
    assert len(hanging.taken) == 2


def test_each_of_several_is_looked_at_once(hanging):
    others = [Hanging() for _ in range(3)]
    urls = [server.url for server in (hanging, *others)]
    with pytest.raises(ConnectionError):
        embeddings_of(OllamaConfig(urls=urls)).identity()
    assert [len(server.taken) for server in (hanging, *others)] == [1] * 4
    for server in others:
        server.close()


def test_one_that_answers_stands_in_for_one_that_hangs(hanging):
    with OllamaServer(["bge-m3"]) as well:
        config = OllamaConfig(urls=[hanging.url, well.url])
        assert embeddings_of(config).identity().digest


def test_a_server_that_takes_long_for_its_work_is_waited_for(hanging):
    with OllamaServer(["bge-m3"]) as slow:
        slow.fail("/api/tags", "slow", seconds=1.0)  # five times as long as the look
        assert fetch(slow.url)["models"]
        assert [request.path for request in slow.requests()] == ["/api/version", "/api/tags"]


# -- whether anybody listens, before half a second of imports ------------------------------


def listening(*urls: str) -> None:
    check_listening([Endpoint("ollama", "chat", url) for url in urls])


def test_one_of_several_is_enough(server):
    with refused() as gone:
        listening(gone, server.url)


def test_nobody_there_is_an_error_that_says_how_to_start_one():
    with refused() as gone, pytest.raises(ConnectionError, match="does not answer") as caught:
        listening(gone)
    assert (caught.value.server, caught.value.exit_code) == (gone, 4)
    assert "ollama serve" in caught.value.hint


@rows("url", "http://localhost:{}", "http://127.0.0.1:{}/", "http://[::1]:{}")
def test_this_machine_has_several_names(url):
    with refused() as gone, pytest.raises(ConnectionError):
        listening(url.format(gone.rpartition(":")[2]))


def test_another_machine_is_not_asked_here():
    listening("http://ollama.example:11434")  # a test that reached out would fail
