"""Streamable HTTP on the loopback address, in front of the server on standard streams.

Programs that test servers of the Model Context Protocol speak HTTP alone. Each session has a server
of its own, which is started by `initialize` and ended with the bridge. What a server tells before
it answers goes before the answer, as events.
"""

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import Any

from mcp_client import Server

Message = dict[str, Any]
_HOSTS = ("127.0.0.1", "localhost")


class Session:
    """A server, whose answers are handed to those who asked."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._mutex = threading.Lock()
        self._waiting: dict[Any, SimpleQueue[Message]] = {}
        self._tokens: dict[Any, Any] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def ask(self, message: Message) -> Iterator[Message]:
        """Send a request; yield what the server tells of it, and last the answer."""
        inbox: SimpleQueue[Message] = SimpleQueue()
        self._waiting[message["id"]] = inbox
        token = message.get("params", {}).get("_meta", {}).get("progressToken")
        self._tokens[token] = message["id"]
        self.tell(message)
        while True:
            said = inbox.get()
            yield said
            if "id" in said:
                del self._waiting[message["id"]]
                return

    def tell(self, message: Message) -> None:
        """Send a notification."""
        with self._mutex:
            self._server.send(message)

    def _read(self) -> None:
        assert self._server.process.stdout
        for line in self._server.process.stdout:
            said = json.loads(line)
            asked = said.get("id", self._tokens.get(said.get("params", {}).get("progressToken")))
            if asked in self._waiting:
                self._waiting[asked].put(said)


@contextmanager
def bridge(start: Callable[[], Server]) -> Iterator[str]:
    """Yield the address at which servers are reached.

    :param start: starts a server; whoever calls ends it.
    """
    sessions: dict[str, Session] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not self._is_local():
                return self._say(403, {"error": "only programs of this machine"})
            message = json.loads(body)
            key = self.headers.get("Mcp-Session-Id") or uuid.uuid4().hex
            if message.get("method") == "initialize":
                sessions[key] = Session(start())
            if key not in sessions:
                return self._say(404, {"error": "no such session"})
            if "id" not in message:
                sessions[key].tell(message)
                return self._say(202, None, key)
            *told, answer = sessions[key].ask(message)
            if told:
                return self._send_events([*told, answer], key)
            return self._say(200, answer, key)

        def do_GET(self) -> None:
            self._say(405, {"error": "nothing is told but in answers"})

        def do_DELETE(self) -> None:
            self._say(200 if sessions.pop(self.headers["Mcp-Session-Id"], None) else 404, None)

        def _is_local(self) -> bool:
            host = self.headers.get("Host", "").rpartition(":")[0]
            origin = self.headers.get("Origin", "http://127.0.0.1").partition("//")[2]
            return host in _HOSTS and origin.partition(":")[0] in _HOSTS

        def _say(self, status: int, content: Message | None, session: str = "") -> None:
            body = b"" if content is None else json.dumps(content).encode()
            self._send(status, "application/json", body, session)

        def _send_events(self, messages: list[Message], session: str) -> None:
            lines = "".join(f"event: message\ndata: {json.dumps(one)}\n\n" for one in messages)
            self._send(200, "text/event-stream", lines.encode(), session)

        def _send(self, status: int, kind: str, body: bytes, session: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if session:
                self.send_header("Mcp-Session-Id", session)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing of each request."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{http.server_port}/mcp"
    finally:
        http.shutdown()
        http.server_close()
