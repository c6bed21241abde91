"""An HTTP transport for one server with several addresses: the next is asked when one fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from rag.support.http_transport import DeadlineTransport

# For an address that is dead; an address in reach accepts a connection in a fraction of it.
_CONNECT_SECONDS = 1.0
_NOT_READY = 503
# By the addresses of a server: which of them was asked last in this process.
_asked: dict[tuple[str, ...], int] = {}


class FailoverTransport(httpx.BaseTransport):
    """Send each request to the address that was asked last, and while that fails to the others.

    An address fails when no connection to it can be made, and when it answers that it is not ready
    (503). When its connection breaks before the answer is whole, nobody knows what it did: the
    next is asked if the request may be repeated. Who takes too long, or refuses, does not fail:
    the others are the same server and would do the same.

    The deadline is that of a request with all its tries. When all fail, the last error is raised;
    an answer that an address is not ready says more, and is returned.

    :param addresses: at least one; requests are made out to the first.
    :param seconds: the deadline of requests that bring none.
    :param may_repeat: tells whether a request does no harm when it is done twice.
    :raises ImportError, ValueError, OSError: for a proxy or certificates, named by the
        environment, that cannot be used.
    """

    def __init__(
        self,
        addresses: Sequence[httpx.URL],
        seconds: float,
        may_repeat: Callable[[httpx.Request], bool],
    ) -> None:
        self.seconds = seconds
        self._addresses, self._may_repeat = addresses, may_repeat
        self._ways = [DeadlineTransport(address, seconds) for address in addresses]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request.

        :raises httpx.TransportError: that of the last address that was asked.
        """
        until = time.monotonic() + request.extensions.get("seconds", self.seconds)
        path = request.url.raw_path.removeprefix(_prefix(self._addresses[0]))
        given, tries = request.extensions, self._in_order()
        not_ready: tuple[int, httpx.Response] | None = None
        failure: httpx.TransportError | None = None
        for number in tries:
            if failure and time.monotonic() >= until:
                break
            self._address(request, number, path)
            left = len(tries) - tries.index(number)
            request.extensions = _within(given, until - time.monotonic(), left)
            try:
                response = self._ask(number, request)
            except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
                failure = error
            except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
                if not self._may_repeat(request):
                    raise
                failure = error
            else:
                if response.status_code != _NOT_READY:
                    return response
                not_ready = number, response
        if not_ready:
            note_asked(self._addresses, not_ready[0])
            return not_ready[1]
        assert failure is not None
        raise failure

    def _in_order(self) -> list[int]:
        first = asked_last(self._addresses)
        return [first, *(n for n in range(len(self._addresses)) if n != first)]

    def _address(self, request: httpx.Request, number: int, path: bytes) -> None:
        address = self._addresses[number]
        request.url = address.copy_with(raw_path=_prefix(address) + path)
        request.headers["Host"] = request.url.netloc.decode("ascii")

    def _ask(self, number: int, request: httpx.Request) -> httpx.Response:
        """Return the whole answer of one address."""
        note_asked(self._addresses, number)
        response = self._ways[number].handle_request(request)
        try:
            response.read()
        finally:
            response.close()
        return response

    def close(self) -> None:
        """Close all connections."""
        for way in self._ways:
            way.close()


def asked_last(addresses: Sequence[httpx.URL]) -> int:
    """Return the number of the address of a server that was asked last; the first at first."""
    return _asked.get(tuple(map(str, addresses)), 0)


def note_asked(addresses: Sequence[httpx.URL], number: int) -> None:
    """Keep which address is asked first from now on."""
    _asked[tuple(map(str, addresses))] = number


def _prefix(address: httpx.URL) -> bytes:
    return address.raw_path.rstrip(b"/")


def _within(extensions: dict[str, Any], seconds: float, tries: int) -> dict[str, Any]:
    """Return a request's extensions for the next of some tries, with the seconds that are left."""
    timeouts = dict(extensions["timeout"])
    if tries > 1:  # a dead address leaves time for the others
        connect = timeouts.get("connect") or _CONNECT_SECONDS
        timeouts["connect"] = max(min(connect, _CONNECT_SECONDS, seconds / tries), 0.001)
    return {**extensions, "seconds": seconds, "timeout": timeouts}
