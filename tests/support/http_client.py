"""A server of notes in this process on a real socket, and a program that asks it."""

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

from rag.config import RAGConfig
from rag.web.gate import Limits
from rag.web.serve import Address, Server

IN_THIS_PROCESS = Limits(readers=0)  # what reads: others take a second to start


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes
    text: str = field(init=False)

    def __post_init__(self) -> None:
        self.text = self.body.decode("utf-8", "replace")

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[tuple[str, Any]]:
        """Server-sent events: their names and what they hold."""
        blocks = [block.split("\n") for block in self.text.split("\n\n") if block]
        return [(name[7:], json.loads(data[6:])) for name, data in blocks]


class Client:
    """Asks one server; its token is in every request that does not say otherwise."""

    def __init__(self, server: Server, token: str) -> None:
        self.server, self.token = server, token
        self.port = server.address.port

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        """Ask, with these headers too; `None` leaves one out."""
        given: dict[str, str | None] = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json" if body is not None else None,
            "Content-Length": str(len(body)) if body is not None else None,
        }
        given |= headers or {}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value.encode())
            connection.endheaders(body)
            reply: HTTPResponse = connection.getresponse()
            return Answer(reply.status, dict(reply.getheaders()), reply.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str | None) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("GET", path, headers=named)

    def post(self, path: str, content: Any, **headers: str | None) -> Answer:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", path, body, named)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)


@contextmanager
def serving(config: RAGConfig, limits: Limits = IN_THIS_PROCESS) -> Iterator[Client]:
    """Serve the notes of a configuration on a free port."""
    server = Server(config, Address(port=0), limits)
    is_up = threading.Event()
    thread = threading.Thread(target=server.run, args=(is_up.set,), daemon=True)
    thread.start()
    assert is_up.wait(60)
    try:
        yield Client(server, server.access.token)
    finally:
        server.stop()
        thread.join(30)
        assert not thread.is_alive()


def token_file(config: RAGConfig) -> Path:
    return config.data_dir / "http-token"
