"""HTTP transports on which every request has a deadline as a whole, for a server with one address
or several.

httpx limits the time between two bytes, so a server that sends a byte now and then holds a
client for ever. Here the whole request counts, the body of its answer too.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpx

from rag.exceptions import ConfigError

# To an address that is dead; one in reach accepts a connection in a fraction of it.
_CONNECT_SECONDS = 1.0
_NOT_READY = 503
_UNREACHABLE = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)


class DeadlineExceeded(httpx.ReadTimeout):
    """The request as a whole took longer than it may."""


class DeadlineTransport(httpx.HTTPTransport):
    """Send requests directly, or to another machine through the environment's proxy, within the
    seconds of their extension `seconds`, or within those given here.

    :raises ImportError, ValueError, OSError: for a proxy or certificates that cannot be used.
    """

    def __init__(self, address: httpx.URL, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(
            verify=address.scheme == "https",  # certificates take 30 ms to load
            proxy=proxy_for(address),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request.

        :raises DeadlineExceeded: here, or while the body is read.
        """
        until = time.monotonic() + request.extensions.get("seconds", self.seconds)
        timeouts = request.extensions["timeout"]
        _shorten(timeouts, until)
        try:
            response = super().handle_request(request)
        except httpx.ReadTimeout as error:
            if time.monotonic() >= until:
                raise DeadlineExceeded(str(error)) from error
            raise
        _shorten(timeouts, until)
        response.stream = _Timed(response.stream, until)
        return response


class _Timed(httpx.SyncByteStream):
    def __init__(self, stream: Any, until: float) -> None:
        self._stream, self._until = stream, until

    def __iter__(self) -> Iterator[bytes]:
        for part in self._stream:
            if time.monotonic() >= self._until:
                raise DeadlineExceeded("the answer took too long")
            yield part

    def close(self) -> None:
        self._stream.close()


def _shorten(timeouts: dict[str, Any], until: float) -> None:
    """Let no single step last longer than what is left of the whole, in place."""
    left = max(until - time.monotonic(), 0.001)
    for step, limit in timeouts.items():
        timeouts[step] = left if limit is None else min(limit, left)


# By the addresses of a server: the place of the one that was asked last in this process.
_asked: dict[tuple[httpx.URL, ...], int] = {}


def asked_last(addresses: Sequence[httpx.URL]) -> int:
    """Return the place of the address of a server that was asked last; the first at first."""
    return _asked.get(tuple(addresses), 0)


class FailoverTransport(httpx.BaseTransport):
    """Send each request to the address that was asked last, and while that fails to the others, all
    within one deadline.

    An address fails when no connection to it can be made, when it is not ready (503), and when its
    connection breaks in an answer to a request that `may_repeat`. Who takes too long, or refuses,
    does not fail: the others are the same server. Errors are those of `DeadlineTransport`."""

    def __init__(
        self,
        addresses: Sequence[httpx.URL],
        seconds: float,
        may_repeat: Callable[[httpx.Request], bool],
    ) -> None:
        self.seconds = seconds
        self._addresses, self._may_repeat = tuple(addresses), may_repeat
        self._transports = [DeadlineTransport(address, seconds) for address in addresses]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request.

        :raises httpx.TransportError: that of the last address that was asked.
        """
        given = request.extensions
        until = time.monotonic() + given.get("seconds", self.seconds)
        path = request.url.raw_path.removeprefix(_prefix(self._addresses[0]))
        first = asked_last(self._addresses)
        places = sorted(range(len(self._addresses)), key=lambda place: (place != first, place))
        for place in places:
            seconds, is_last = until - time.monotonic(), place == places[-1]
            address, timeouts = self._addresses[place], dict(given["timeout"])
            if not is_last:  # a dead address leaves time for the others
                timeouts["connect"] = min(timeouts.get("connect") or 60.0, _CONNECT_SECONDS)
            request.url = address.copy_with(raw_path=_prefix(address) + path)
            request.headers["Host"] = request.url.netloc.decode("ascii")
            request.extensions = {**given, "seconds": seconds, "timeout": timeouts}
            _asked[self._addresses] = place
            try:
                with closing(self._transports[place].handle_request(request)) as response:
                    response.read()
            except (httpx.NetworkError, httpx.RemoteProtocolError, *_UNREACHABLE) as error:
                may_go_on = isinstance(error, _UNREACHABLE) or self._may_repeat(request)
                if is_last or not may_go_on or time.monotonic() >= until:
                    raise
            else:
                if is_last or response.status_code != _NOT_READY:
                    break
        return response

    def close(self) -> None:
        """Close all connections."""
        for transport in self._transports:
            transport.close()


def _prefix(address: httpx.URL) -> bytes:
    return address.raw_path.rstrip(b"/")


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def proxy_for(address: httpx.URL) -> str | None:
    """Return the proxy that the environment names for an address; none for this machine."""
    if is_loopback(address.host) or proxy_bypass(address.host):
        return None
    proxies = getproxies()
    return proxies.get(address.scheme) or proxies.get("all")


def unusable_proxy(address: str, error: Exception) -> ConfigError:
    """Return what it means that `DeadlineTransport` cannot be made for an address."""
    hint = "Check HTTP(S)_PROXY, ALL_PROXY and SSL_CERT_FILE, or put the host in NO_PROXY."
    if isinstance(error, ImportError):  # a SOCKS proxy needs the library socksio
        from rag.support.installation import add_extra

        hint = f"{hint} {add_extra('socks')}"
    message = f"the environment's proxy or certificates for {address} cannot be used"
    return ConfigError(message, str(error), hint=hint)
