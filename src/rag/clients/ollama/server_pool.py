"""Several servers that do the same work: who is free, who is resting, who is of no use."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rag.clients.ollama.errors import Blame, Trouble
from rag.clients.ollama.http_client import OllamaClient
from rag.config import OllamaConfig

_FIRST_REST, _LONGEST_REST = 0.5, 30.0  # seconds out of rotation; doubled with each failure


@dataclass(eq=False)
class Server:
    """One server, and how it has fared.

    :param strikes: failures since its last success.
    :param rests_until: on the monotonic clock.
    :param trouble: why it is of no use for the rest of the run.
    """

    client: OllamaClient
    busy: int = 0
    answered: int = 0
    strikes: int = 0
    rests_until: float = 0.0
    trouble: Trouble | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return self.client.url


class ServerPool:
    """The servers that embed; the least busy of the healthy ones is next.

    A server that fails rests for a while, the longer the more often it failed, and takes part
    again. When all of them rest, the one that wakes first is asked nevertheless.

    :param max_in_flight: how many requests one server has at once.
    """

    def __init__(self, clients: Sequence[OllamaClient], max_in_flight: int) -> None:
        self.servers = [Server(client) for client in clients]
        self.max_in_flight = max_in_flight
        self._changed = threading.Condition()

    @classmethod
    def of(cls, config: OllamaConfig, read_timeout: float | None = None) -> ServerPool:
        """Return the pool of the configured embedding servers; nothing is contacted yet."""
        urls = config.embedding_urls
        clients = [OllamaClient(url, config, read_timeout=read_timeout) for url in urls]
        return cls(clients, config.max_in_flight)

    @property
    def slots(self) -> int:
        """How many requests all servers together have at once."""
        return len(self.servers) * self.max_in_flight

    @contextmanager
    def lease(self) -> Iterator[Server]:
        """Give a server for one request; waits while all are busy.

        :raises RAGError: the last trouble, when none is of use any more.
        """
        with self._changed:
            while (server := self._next()) is None:
                self._changed.wait(0.5)
            server.busy += 1
        try:
            yield server
        finally:
            with self._changed:
                server.busy -= 1
                self._changed.notify_all()

    def _next(self) -> Server | None:
        usable = [server for server in self.servers if server.trouble is None]
        if not usable:
            raise next(s.trouble.error for s in reversed(self.servers) if s.trouble)
        now = time.monotonic()
        awake = [server for server in usable if server.rests_until <= now]
        awake = awake or [min(usable, key=lambda server: server.rests_until)]
        free = [server for server in awake if server.busy < self.max_in_flight]
        return min(free, key=lambda s: (s.busy, s.strikes, s.answered), default=None)

    @property
    def answered(self) -> int:
        """How many requests succeeded so far."""
        return sum(server.answered for server in self.servers)

    @property
    def all_rest(self) -> bool:
        """Whether no server is known to be well."""
        now = time.monotonic()
        return all(s.trouble or s.rests_until > now for s in self.servers)

    def succeeded(self, server: Server) -> None:
        """Note that a server did its work."""
        with self._changed:
            server.answered += 1
            server.strikes, server.rests_until = 0, 0.0

    def failed(self, server: Server, trouble: Trouble) -> None:
        """Note that a server failed; what was the input's fault does not count."""
        if trouble.blame in (Blame.INPUT, Blame.LENGTH):
            return
        with self._changed:
            if trouble.blame is Blame.SERVER:
                server.trouble = trouble
            server.strikes += 1
            rest = min(_FIRST_REST * 2 ** (server.strikes - 1), _LONGEST_REST)
            server.rests_until = time.monotonic() + rest

    def close(self) -> None:
        """Close all connections."""
        for server in self.servers:
            server.client.close()
