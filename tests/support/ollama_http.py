"""The wire of the test server: HTTP/1.1 with keep-alive, chunked streams, and broken ends."""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ollama_faults import Fault
from ollama_shapes import Answer

if TYPE_CHECKING:
    from ollama_server import OllamaServer

TICK = 0.02


@dataclass(eq=False)
class Request:
    """One request as it came in.

    :param body: the JSON of its body; `None` without one, a `ValueError` when it is no JSON.
    :param time: `time.monotonic()` at its arrival.
    :param in_flight: how many requests, this one too, were unanswered then.
    :param status: the answer's status; 499 when the client left, 0 when the fault was to send
        none, `None` until there is one.
    """

    number: int
    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    time: float
    body: Any = None
    in_flight: int = 0
    status: int | None = None
    fault: Fault | None = None
    finished: bool = field(default=False, repr=False)

    @property
    def json(self) -> dict[str, Any]:
        """The body where it is an object, else an empty one."""
        return self.body if isinstance(self.body, dict) else {}

    @property
    def inputs(self) -> list[str]:
        """The texts that an embed request asks vectors for."""
        given = self.json.get("input") or []
        return [given] if isinstance(given, str) else list(given)

    @property
    def options(self) -> dict[str, Any]:
        """The model options it sends: `num_ctx`, `temperature`, …"""
        return self.json.get("options") or {}


class _Gone(Exception):
    """The client went away, or the server closes."""


class HttpServer(ThreadingHTTPServer):
    """A thread a connection; all of them can be ended at once."""

    daemon_threads = True
    request_queue_size = 128
    ollama: OllamaServer

    def __init__(self, *args: Any) -> None:
        self._open: dict[threading.Thread, socket.socket] = {}
        super().__init__(*args)

    def finish_request(self, request: Any, client_address: Any) -> None:
        with self.ollama.lock:
            if self.ollama.closing.is_set():
                return
            self.ollama.connections += 1
            self._open[threading.current_thread()] = request
        try:
            super().finish_request(request, client_address)
        finally:
            with self.ollama.lock:
                del self._open[threading.current_thread()]

    def end_connections(self) -> None:
        """Break what is open and wait, not for long, for its threads."""
        with self.ollama.lock:
            threads = dict(self._open)
        for connection in threads.values():
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(2)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if error and not isinstance(error, OSError):
            self.ollama.errors.append(error)


class Handler(BaseHTTPRequestHandler):
    """One connection: reads requests, notes them, has them answered, and sends the answers."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: HttpServer

    def _serve(self) -> None:
        ollama = self.server.ollama
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = urlsplit(self.path).path
        request = Request(0, self.command, path, headers, raw, time.monotonic())
        try:
            request.body = json.loads(raw) if raw else None
        except ValueError as error:
            request.body = error
        ollama.arrived(request)
        try:
            self._send(self._answer(request), request)
        except (_Gone, OSError):
            ollama.finished(request, 499)
            self.close_connection = True

    do_GET = do_POST = do_HEAD = do_DELETE = do_PUT = _serve

    def _answer(self, request: Request) -> Answer:
        ollama = self.server.ollama
        try:
            fault = request.fault = ollama.faults.take(request)
            consume = fault is None or not fault.spoils
            answer = ollama.answer_to(request, consume)
            if fault:
                fault.apply(answer, request)
        except Exception as error:  # of a test's own script
            ollama.errors.append(error)
            return Answer({"error": f"{type(error).__name__}: {error}"}, 500)
        return answer

    def _send(self, answer: Answer, request: Request) -> None:
        self._pause(answer.delay)
        if answer.cut and answer.cut_after is None:
            return self._break(answer.cut, request)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.lines is not None:
            return self._stream(answer, request)
        data = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
        body = data.encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if request.method == "HEAD":
            body = b""
        if answer.cut:
            self.wfile.write(body[: len(body) // 2])
            return self._break(answer.cut, request)
        self.server.ollama.finished(request, answer.status)
        self.wfile.write(body)
        return None

    def _stream(self, answer: Answer, request: Request) -> None:
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        lines = iter(answer.lines or ())
        sent, line = 0, next(lines, None)
        while line is not None:
            following = next(lines, None)
            if answer.cut and (sent == answer.cut_after or following is None):
                return self._break(answer.cut, request)
            if sent:
                self._pause(answer.gap)
            if following is None:
                self.server.ollama.finished(request, answer.status)
            text = line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)
            data = text.encode() + b"\n"
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            sent, line = sent + 1, following
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _break(self, how: str, request: Request) -> None:
        """End the connection in the middle: with a reset, or as if all had been sent."""
        time.sleep(TICK)  # what was sent before a reset is read by then
        self.server.ollama.finished(request, 0)
        self.close_connection = True
        if how == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.rfile.close()
            self.connection.close()

    def _pause(self, seconds: float) -> None:
        """Wait; not for a client that has left, nor when the server closes."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self.server.ollama.closing.wait(min(left, TICK)):
                raise _Gone
            with suppress(BlockingIOError):
                if not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                    raise _Gone

    def log_message(self, *_: Any) -> None:
        """Keep quiet; `requests` has it all."""
