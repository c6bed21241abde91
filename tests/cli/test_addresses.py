"""Nothing but the configured addresses is ever contacted, by any command."""

import io
import socket
from collections.abc import Callable

import pytest

from ollama_server import Model, OllamaServer
from rag.cli.framework.lazy_group import COMMANDS as ALL
from tables import rows

MODELS = [Model("bge-m3", 32)]

COMMANDS = {
    "index": ["index"],
    "index --embed": ["index", "--embed"],
    "index --rebuild": ["index", "--rebuild"],
    "index --dry-run": ["index", "--dry-run"],
    "search": ["search", "rolling back"],
    "search --mode dense": ["search", "証明書", "--mode", "dense"],
    "search --mode hybrid": ["search", "rolling back", "--mode", "hybrid", "--json"],
    "search --mode lexical": ["search", "rolling back", "--mode", "lexical", "--explain"],
    "search --rerank": ["search", "rolling back", "--rerank"],
    "search --transform": ["search", "rolling back", "--transform", "multi-query"],
    "search --plan": ["search", "notes tagged ops about rolling back", "--plan"],
    "plan": ["plan", "notes tagged ops about rolling back"],
    "transform": ["transform", "rolling back", "--transform", "step-back"],
    "ask": ["ask", "How long does rolling back take?"],
    "audit": ["audit"],
    "chat": ["chat"],
    "get": ["get", "Backups"],
    "related": ["related", "Backups"],
    "mcp": ["mcp", "--print-config", "claude-code"],
    "status": ["status"],
    "tags": ["tags"],
    "eval": ["eval", "questions.jsonl", "--modes", "auto"],
    "config": ["config"],
    "doctor": ["doctor", "--json"],
    "init": ["init", ".", "--force"],
    "service": ["service", "remove"],
    "vault": ["vault", "list"],
    "trust": ["trust", "--list"],
    "--version": ["--version"],
}
OLLAMA_NEEDED = ("index --embed", "search --mode dense", "search --mode hybrid")


@pytest.fixture
def server(server, monkeypatch) -> OllamaServer:
    """Name what else might lead a client astray."""
    monkeypatch.setenv("OLLAMA_HOST", "http://elsewhere.example:11434")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://proxy.example:3128")
        monkeypatch.setenv(name.lower(), "http://proxy.example:3128")
    return server


@pytest.fixture
def contacted(monkeypatch) -> set[object]:
    """Every address that a socket connects or sends to, and every name that is looked up."""
    seen: set[object] = set()
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def noting(method: Callable[..., object]) -> Callable[..., object]:
        def called(self: socket.socket, *arguments: object) -> object:
            if self.family != socket.AF_UNIX:
                seen.add(arguments[-1])
            return method(self, *arguments)

        return called

    def named(host: object, port: object, *rest: object, **options: object) -> object:
        seen.add((host, port))
        return look_up(host, port, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", noting(connect))
    monkeypatch.setattr(socket.socket, "connect_ex", noting(socket.socket.connect_ex))
    monkeypatch.setattr(socket.socket, "sendto", noting(socket.socket.sendto))
    monkeypatch.setattr(socket, "getaddrinfo", named)
    return seen


@pytest.fixture
def prepared(server, notes, rag, empty_home, monkeypatch) -> None:
    """An index with vectors, one more note to index, questions, and a plan."""
    assert rag("index", "-q", notes).code == 0
    assert rag("search", "notes tagged ops", "--plan").code == 0
    (notes / "new.md").write_text("A note of its own.")
    monkeypatch.setenv("PATH", str(empty_home))  # where no scheduler is
    (empty_home / "questions.jsonl").write_text(
        '{"query": "rolling back", "relevant": ["runbooks/Rollback.md"]}\n'
    )


def test_every_command_is_among_them():
    known = {command for command, *_ in COMMANDS.values()}
    assert {*ALL} - known == {"serve", "warm", "watch"}  # which speak to this machine


@rows("name", COMMANDS)
def test_with_ollama_only_its_address(prepared, rag, server, contacted, monkeypatch, name):
    monkeypatch.setattr("sys.stdin", io.StringIO("How long does rolling back take?\n"))
    assert rag(*COMMANDS[name]).code == 0
    assert contacted <= {("127.0.0.1", server.port)}


@rows("name", COMMANDS)
def test_with_ollama_switched_off_none_at_all_and_what_needs_it_says_so(
    prepared, rag, monkeypatch, contacted, name
):
    monkeypatch.setenv("RAG_OLLAMA__ENABLED", "false")
    monkeypatch.setattr("sys.stdin", io.StringIO("How long does rolling back take?\n"))
    assert rag(*COMMANDS[name]).code == (2 if name in OLLAMA_NEEDED else 0)
    assert contacted == set()


def test_the_guard_itself_sees_connections(contacted):
    with OllamaServer() as running, socket.create_connection(("127.0.0.1", running.port)):
        assert ("127.0.0.1", running.port) in contacted
