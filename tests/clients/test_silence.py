"""Servers that take a connection and say nothing: looked at once, and remembered."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from embedding_calls import embeddings_of
from ollama_server import OllamaServer
from rag.clients import check_connection, servers
from rag.clients.ollama_api import OllamaClient
from rag.clients.servers import Endpoint, check_listening
from rag.config import OllamaConfig
from rag.exceptions import ConnectionError
from rag.support import runtime_folder as runtime


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
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hanging]:
    monkeypatch.setattr(servers, "_SECONDS", 0.2)
    monkeypatch.setattr(servers, "_SECONDS_MORE", 0.1)
    server = Hanging()
    yield server
    server.close()


def server_at(url: str) -> Endpoint:
    return Endpoint("ollama", "embedding", url, "bge-m3")


def fetch(url: str) -> object:
    with closing(OllamaClient(server_at(url), OllamaConfig())) as client, client.our_errors():
        return client.fetch("/api/tags")


def forgotten_here() -> None:
    """Be as another process, which knows nothing but what the runtime folder says."""
    servers._silent.clear()


def test_it_is_an_error_that_says_when_it_is_asked_again(hanging: Hanging) -> None:
    with pytest.raises(ConnectionError, match="says nothing") as caught:
        fetch(hanging.url)
    assert caught.value.server == hanging.url
    assert "in 60 s" in caught.value.hint and "rag doctor" in caught.value.hint


def test_it_is_asked_once_and_not_again_by_this_process_or_others(hanging: Hanging) -> None:
    for _ in range(3):
        with pytest.raises(ConnectionError):
            fetch(hanging.url)
    forgotten_here()
    with pytest.raises(ConnectionError):
        fetch(hanging.url)
    with pytest.raises(ConnectionError):
        check_listening([server_at(hanging.url)])
    assert len(hanging.taken) == 1


@pytest.mark.parametrize("moved", [-61, 3600])
def test_after_a_minute_or_by_a_clock_set_back_it_is_asked(hanging: Hanging, moved: int) -> None:
    with pytest.raises(ConnectionError):
        fetch(hanging.url)
    forgotten_here()
    [mark] = Path(runtime.folder()).glob("*.silent")
    when = time.time() + moved
    os.utime(mark, (when, when))
    with pytest.raises(ConnectionError):
        fetch(hanging.url)
    assert len(hanging.taken) == 2


def test_who_asks_how_it_is_asks_it(hanging: Hanging) -> None:
    for _ in range(2):
        assert not check_connection(hanging.url).reachable
    assert len(hanging.taken) == 2


def test_each_of_several_is_looked_at_once(hanging: Hanging) -> None:
    others = [Hanging() for _ in range(3)]
    urls = [server.url for server in (hanging, *others)]
    with pytest.raises(ConnectionError):
        embeddings_of(OllamaConfig(urls=urls)).identity()
    assert all(servers.silent_for(url) is not None for url in urls)
    assert [len(server.taken) for server in (hanging, *others)] == [1] * 4
    for server in others:
        server.close()


def test_one_that_answers_stands_in_for_one_that_hangs(hanging: Hanging) -> None:
    with OllamaServer(["bge-m3"]) as well:
        config = OllamaConfig(urls=[hanging.url, well.url])
        assert embeddings_of(config).identity().digest


def test_a_server_that_takes_long_for_its_work_is_waited_for(hanging: Hanging) -> None:
    with OllamaServer(["bge-m3"]) as slow:
        slow.fail("/api/tags", "slow", seconds=1.0)  # five times as long as the look
        assert fetch(slow.url)["models"]
        assert [request.path for request in slow.requests()] == ["/api/version", "/api/tags"]
