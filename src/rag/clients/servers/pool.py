"""Several servers that do the same work: who is free, who is resting, who is of no use."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from rag.clients.servers.trouble import OF_THE_INPUT, Blame, Trouble

_FIRST_REST, _LONGEST_REST = 0.5, 30.0  # seconds out of rotation; doubled with each failure
LONGEST_WAIT = 60.0  # seconds: a server that asks for more is not waited for


class EmbeddingClient(Protocol):
    """A connection to one server, with a model of it.

    `failures` are the exceptions that its work raises and that `explain` knows.
    """

    url: str
    failures: tuple[type[Exception], ...]

    def vectors(self, texts: list[str], seconds: float | None) -> list[Any]:
        """Return what the server gives for texts, in their order: vectors, if all is well.

        :param seconds: longest duration of the whole; without it the configured one.
        """

    def explain(self, error: Exception) -> Trouble:
        """Explain one of `failures`; it becomes the cause of the error returned."""

    def close(self) -> None:
        """Close all connections."""


@dataclass(eq=False)
class Server:
    """One server, and how it has fared.

    :param strikes: failures since its last success.
    :param rests_until: on the monotonic clock.
    :param trouble: why it is of no use for the rest of the run.
    """

    client: EmbeddingClient
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

    def __init__(self, clients: Sequence[EmbeddingClient], max_in_flight: int) -> None:
        self.servers = [Server(client) for client in clients]
        self.max_in_flight = max_in_flight
        self._changed = threading.Condition()

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
        if trouble.blame in OF_THE_INPUT:
            return
        with self._changed:
            if trouble.blame is Blame.SERVER:
                server.trouble = trouble
            server.strikes += 1
            rest = min(_FIRST_REST * 2 ** (server.strikes - 1), _LONGEST_REST)
            server.rests_until = time.monotonic() + max(rest, min(trouble.wait, LONGEST_WAIT))

    def close(self) -> None:
        """Close all connections."""
        for server in self.servers:
            server.client.close()
