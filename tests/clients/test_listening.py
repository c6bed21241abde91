"""`check_listening`: a look at the address before half a second of imports."""

from __future__ import annotations

import pytest

from ollama_server import refused
from rag.clients.servers import Endpoint
from rag.clients.servers import check_listening as check
from rag.exceptions import ConnectionError
from tables import rows


def check_listening(*urls):
    check([Endpoint("ollama", "chat", url) for url in urls])


def test_a_server_that_listens_is_enough(server):
    check_listening(server.url)


def test_one_of_several_is_enough(server):
    with refused() as gone:
        check_listening(gone, server.url)


def test_nobody_there_is_an_error_that_says_how_to_start_one():
    with refused() as gone, pytest.raises(ConnectionError, match="does not answer") as caught:
        check_listening(gone)
    assert (caught.value.server, caught.value.exit_code) == (gone, 4)
    assert "ollama serve" in caught.value.hint


@rows("url", ["http://localhost:{}", "http://127.0.0.1:{}/", "http://[::1]:{}"])
def test_this_machine_has_several_names(url):
    with refused() as gone, pytest.raises(ConnectionError):
        check_listening(url.format(gone.rpartition(":")[2]))


def test_another_machine_is_not_asked_here():
    check_listening("http://ollama.example:11434")  # a test that reached out would fail
