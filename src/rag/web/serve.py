"""The server: its socket, how connections that say nothing are let go, and how it ends."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from errno import ECONNREFUSED
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from rag.app.library import Library
from rag.config import RAGConfig
from rag.exceptions import UsageError
from rag.web.app import make_app
from rag.web.gate import LIMITS, Access, Gate, Limits, is_loopback
from rag.web.readers import Readers

PORT = 7420
_MOST = 256  # connections; of more, the one that has waited longest goes
_SETTINGS: dict[str, Any] = {"ws": "none", "lifespan": "off", "loop": "asyncio"}
_SETTINGS |= {"log_config": None, "log_level": "critical", "access_log": False}
_SETTINGS |= {"server_header": False, "proxy_headers": False, "timeout_keep_alive": 30}
_SETTINGS["timeout_graceful_shutdown"] = 3  # seconds that requests have when the server ends


@dataclass(frozen=True)
class Address:
    """Where a server listens: on a port, or on a Unix socket."""

    host: str = "127.0.0.1"
    port: int = PORT
    socket: Path | None = None

    @property
    def url(self) -> str:
        """What a browser opens; empty for a Unix socket."""
        if self.socket:
            return ""
        name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}"

    @property
    def is_open(self) -> bool:
        """Whether other machines reach it."""
        return not self.socket and not is_loopback(self.host)


class Server:
    """A server of the notes of one configuration.

    :param address: port 0 stands for any that is free; `address` names it then.
    :raises UsageError: when something else listens there.
    """

    def __init__(self, config: RAGConfig, address: Address, limits: Limits = LIMITS) -> None:
        self._socket = _listen(address)
        if address.socket is None:
            address = Address(address.host, self._socket.getsockname()[1])
        self.address = address
        self.access = Access(config.data_dir, address.port)
        self.library = Library(lambda: config)
        self.readers = Readers(self.library, limits.readers)
        app = make_app(self.library, self.readers, self.access)
        gate = Gate(app, self.access, "" if address.socket else address.host, limits)
        self._server = uvicorn.Server(uvicorn.Config(gate, http=_Protocol, **_SETTINGS))
        # Its handlers of signals would end the program before it has tidied up.
        self._server.capture_signals = nullcontext  # type: ignore[method-assign,assignment]

    @property
    def link(self) -> str:
        """A link that opens the page once; empty for a Unix socket."""
        url = self.address.url
        return f"{url}/open?once={self.access.make_link()}" if url else ""

    def run(self, on_start: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop` is called.

        :param on_start: is called when requests are taken.
        """
        self.readers.load()
        on_start()
        try:
            asyncio.run(self._server.serve(sockets=[self._socket]))
        finally:
            self.close()

    def stop(self) -> None:
        """End it; from another thread, or a signal's handler. Who says it twice does not wait for
        answers."""
        self._server.force_exit = self._server.should_exit
        self._server.should_exit = True

    def close(self) -> None:
        """Release the socket and the index."""
        self._socket.close()
        if self.address.socket:
            with suppress(OSError):
                self.address.socket.unlink()
        self.readers.close()
        self.library.close()


def _listen(address: Address) -> socket.socket:
    try:
        if address.socket:
            return _listen_at(address.socket)
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        where = address.host, address.port
        listening = socket.create_server(where, family=family, backlog=_MOST)
        # Connections take it over. asyncio sets it on sockets of its own alone; without, a body
        # waits for the client's word that the head has come: 40 ms.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except OSError as error:
        place = f"{address.host}:{address.port}"
        hint = "Name another with --port or --host, or end what listens there."
        if address.socket:
            place, hint = str(address.socket), "Name another with --socket."
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise UsageError(f"cannot listen on {place}", why, hint=hint) from error


def _listen_at(path: Path) -> socket.socket:
    """Return a Unix socket that only the user can reach; one that nobody listens on is replaced."""
    with suppress(FileNotFoundError), socket.socket(socket.AF_UNIX) as other:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError(f"{path} is no socket")
        if other.connect_ex(str(path)) != ECONNREFUSED:
            raise FileExistsError("another server listens there")
        path.unlink()
    before = os.umask(0o177)
    try:
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(path))
    finally:
        os.umask(before)
    listening.listen(_MOST)
    return listening


class _Protocol(H11Protocol):
    """A connection; of too many, the one that has waited longest for a request is closed."""

    def connection_made(self, transport: Any) -> None:
        """Take a connection."""
        super().connection_made(transport)
        self._since = self.loop.time()
        if len(self.connections) > _MOST:
            others = [one for one in self.connections if isinstance(one, _Protocol)]
            waiting = [one for one in others if one.cycle is None or one.cycle.response_complete]
            min(waiting or [self], key=lambda one: one._since).transport.close()
