"""Whether a server is there, and that nothing but the configured addresses is contacted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx
import pytest

from embedding_calls import embed
from ollama_server import OllamaServer, refused
from rag.clients import generate_response, get_embedding
from rag.clients.protocols import ServerView
from rag.clients.providers import check_connection, check_servers
from rag.config import OllamaConfig
from rag.exceptions import ConfigError, ConnectionError, ModelMissingError, RAGError
from rag.support.http_transport import is_loopback, proxy_for
from tables import rows

Settings = Callable[..., OllamaConfig]


@contextmanager
def trap(location: str = "") -> Iterator[tuple[str, list[str]]]:
    """A server that nobody should talk to; with `location` it redirects there."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(302 if location else 200)
            self.send_header("Location", location + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_POST = do_CONNECT = do_GET

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = Thread(target=http.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{http.server_address[1]}", seen
        http.shutdown()
        thread.join()


def do_all(config: OllamaConfig) -> None:
    assert check_connection(config).ok
    assert len(get_embedding("one", config)) == 768
    assert len(embed(["one", "two"], config).vectors) == 2
    assert generate_response("one", config)


# -- checking --------------------------------------------------------------------------


def test_a_server_says_its_version_and_its_models(server):
    found = check_connection(server.url)
    assert (found.ok, found.version) == (True, "0.33.0")
    assert "nomic-embed-text:latest" in found.models
    assert 0 < found.milliseconds < 5000


def test_a_server_that_is_away_is_an_answer():
    with refused() as url:
        found = check_connection(url)
        assert (found.ok, found.version, found.models) == (False, "", ())
        assert isinstance(found.error, ConnectionError) and "does not answer" in str(found.error)


def test_missing_models_are_named_with_the_command_that_gets_them(settings):
    found = check_connection(settings(embedding_model="bge-m3"))
    assert not found.ok
    assert isinstance(found.error, ModelMissingError)
    assert "`ollama pull bge-m3`" in found.error.hint


def test_every_server_is_asked_for_the_model_it_is_to_run(server):
    with OllamaServer(["llama3.2"]) as chat, refused() as nobody:
        config = OllamaConfig(
            urls=[server.url, nobody],
            generation_url=chat.url,
            embedding_model="nomic-embed-text",
            chat_model="llama3.2",
        )
        found = {each.server: each for each in check_servers(config)}
        assert {url: each.ok for url, each in found.items()} == {
            server.url: True,
            nobody: False,
            chat.url: True,
        }
        assert check_connection(config).server == nobody


def test_a_server_that_hangs_is_given_up(server, settings):
    server.fail("*", "slow", seconds=30, times=None)
    assert not check_connection(settings(query_timeout=0.2)).ok


@pytest.mark.parametrize(
    "kind", ["garbage", "deep", "deep_error", "html", "drop", "reset", "cut", "status"]
)
def test_a_server_of_another_kind_is_not_reachable(server, kind):
    server.fail("/api/tags", kind, times=None)
    found = check_connection(server.url)
    assert not found.ok and isinstance(found.error, RAGError) and found.error.hint


@rows("url", "", "ftp://x", "127.0.0.1:11434", "http://", "http://a:x")
def test_what_is_no_address_is_a_configuration_error(url):
    found = check_connection(url)
    assert isinstance(found, ServerView) and isinstance(found.error, ConfigError)


# -- nothing else is contacted ---------------------------------------------------------


@rows("name", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
def test_a_proxy_is_not_asked_for_this_machine(settings, monkeypatch, name):
    with trap() as (proxy, seen):
        monkeypatch.setenv(name, proxy)
        do_all(settings())
    assert seen == []


def test_a_proxy_is_asked_for_other_machines_unless_no_proxy_says_no(monkeypatch):
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    assert proxy_for(httpx.URL("http://ollama.example")) == "http://proxy.example:3128"
    monkeypatch.setenv("no_proxy", "ollama.example")
    assert proxy_for(httpx.URL("http://ollama.example")) is None


def test_redirects_are_not_followed(server, settings):
    with trap(server.url) as (url, _):
        assert not check_connection(url).ok
        with pytest.raises(ConnectionError, match="redirects"):
            get_embedding("one", settings(url=url))
    assert server.requests() == []


def test_a_password_of_netrc_is_not_sent(server, settings, empty_home, monkeypatch):
    netrc = empty_home / ".netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    do_all(settings())
    assert all("authorization" not in request.headers for request in server.requests())


@rows(
    "host, loopback",
    *(("localhost", True), ("127.0.0.2", True), ("[::1]", True), ("0.0.0.0", True)),
    *(("ollama.localhost", True), ("10.0.0.1", False), ("localhost.example", False)),
)
def test_which_hosts_are_this_machine(host, loopback):
    assert is_loopback(host) is loopback


def test_switched_off_means_nobody_is_asked(server, settings):
    config = settings(enabled=False)
    assert not check_connection(config).ok
    for act in (get_embedding, generate_response):
        with pytest.raises(ConfigError, match="switched off"):
            act("one", config)
    assert server.requests() == []
