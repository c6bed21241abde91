"""What every request passes before it is routed, and how long it may take.

In this order: the `Host` must be ours (against DNS rebinding), the `Origin` the same as the host,
and a browser must not say that another site asks; then the token or the cookie; then the kind and
the size of the body, which is read whole before anything else is done. A request is given up when
its client is gone, when it takes too long, and when the answer is not read.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from asyncio import FIRST_COMPLETED
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from socket import gethostname

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.exceptions import RAGError
from rag.web.access import Access
from rag.web.answers import RequestError, error_response
from rag.web.readers import MOST

LARGEST_BODY = 4 << 20
_OPEN_TO_ALL = ("/health", "/open")  # a link of `/open` is checked by itself
_SENT_BY_US = ("same-origin", "none")  # what a browser says of a request that is the page's own
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
}


@dataclass(frozen=True)
class Limits:
    """How much at once, and for how many seconds."""

    at_once: int = 64  # requests; more are told to come again
    readers: int = MOST  # processes
    body: float = 10.0  # from the headers to the end of the body
    answer: float = 60.0
    long_answer: float = 900.0  # of what streams, and of a run of the indexer
    send: float = 20.0  # until a client has read what it was sent


LIMITS = Limits()
_LONG = ("/v1/ask", "/v1/chat", "/v1/index", "/mcp")


class Gate:
    """An application in front of another.

    :param host: the name that the server was told to listen on; empty for a Unix socket.
    :param cookie: the name of the cookie.
    """

    def __init__(
        self, app: ASGIApp, access: Access, host: str, cookie: str, limits: Limits = LIMITS
    ) -> None:
        self._app, self._access, self._cookie = app, access, cookie
        self._limits = limits
        self._names = {"localhost", "127.0.0.1", "::1", host.lower()} - {"", "0.0.0.0", "::"}
        self._has_addresses = bool(host) and not is_loopback(host)
        if self._has_addresses:
            self._names.add(gethostname().lower())
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = _Answer(send, self._limits.send)
        if self._running >= self._limits.at_once:
            busy = RequestError(503, "busy", "the server is busy", "Try again in a second.")
            await error_response(busy)(scope, receive, answer)
            return
        self._running += 1
        try:
            await self._answer(scope, receive, answer)
        except RAGError as error:
            if answer.has_begun:
                raise  # it is broken off
            with suppress(TimeoutError):
                await error_response(error, Request(scope))(scope, receive, answer)
        except Exception:
            traceback.print_exc(limit=-8, file=sys.stderr)
            if not answer.is_complete:
                raise  # the server closes the connection
        finally:
            self._running -= 1

    async def _answer(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        headers = Headers(scope=scope)
        self._check_source(headers)
        if scope["path"] not in _OPEN_TO_ALL:
            self._check_access(headers)
        _check_head(scope, headers)
        body = await self._body(headers, receive)
        if body is None:
            return
        is_long = scope["path"] in _LONG
        seconds = self._limits.long_answer if is_long else self._limits.answer
        gone = asyncio.ensure_future(_wait_until_gone(receive))
        work = asyncio.ensure_future(self._app(scope, _given(body, gone), answer))
        try:
            done, _ = await asyncio.wait({work, gone}, timeout=seconds, return_when=FIRST_COMPLETED)
            if work in done:
                work.result()
            elif not done:
                hint = "Ask for less: a shorter query, or fewer results."
                raise RequestError(504, "timeout", "the answer took too long", hint)
        finally:
            for task in (work, gone):
                task.cancel()
            await asyncio.wait({work, gone}, timeout=1)

    def _check_source(self, headers: Headers) -> None:
        """Refuse what was not meant for this server, or comes from another site's page."""
        hosts, host = headers.getlist("host"), headers.get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        name = name.strip("[]").lower()
        is_address = self._has_addresses and _is_address(name)
        if len(hosts) != 1 or not (name in self._names or is_address):
            hint = "Ask for localhost, or name the host with `rag serve --http --host`."
            raise RequestError(421, "refused", "this Host is not served here", hint)
        origins, site = headers.getlist("origin"), headers.get("sec-fetch-site", "none")
        is_foreign = any(one.partition("://")[2].lower() != host.lower() for one in origins)
        if is_foreign or (site not in _SENT_BY_US and headers.get("sec-fetch-mode") != "navigate"):
            hint = "Open the page with `rag serve --http --open`; programs send no Origin."
            raise RequestError(403, "refused", "requests of other sites are not answered", hint)

    def _check_access(self, headers: Headers) -> None:
        """Refuse what brings neither the token nor the cookie."""
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._access.is_token(token.strip()):
            return
        brought = cookie_parser(headers.get("cookie", "")).get(self._cookie, "")
        if not kind and self._access.is_cookie(brought):
            return
        message = "this needs the token" if not kind else "this is not the token"
        hint = (
            "`rag serve --http --open` opens the page; programs send `Authorization: Bearer`"
            " and the token, whose file it names."
        )
        raise RequestError(401, "unauthorized", message, hint)

    async def _body(self, headers: Headers, receive: Receive) -> bytes | None:
        """Return the body of a request; `None` where the client went away. One that is too large,
        or comes too slowly, is refused."""
        hint = "Send several smaller requests, such as fewer notes in each."
        too_large = RequestError(413, "usage", "the body is larger than 4 MiB", hint)
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > LARGEST_BODY:
            raise too_large
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._limits.body):
                while (message := await receive())["type"] != "http.disconnect":
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > LARGEST_BODY:
                        raise too_large
                    if not message.get("more_body"):
                        return b"".join(parts)
                return None
        except TimeoutError:
            hint = "Send the request again, its body at once."
            raise RequestError(408, "timeout", "the body came too slowly", hint) from None


class _Answer:
    """Sends an answer with the headers that all have; an answer that is not read is given up."""

    def __init__(self, send: Send, seconds: float) -> None:
        self._send, self._seconds = send, seconds
        self.has_begun = self.is_complete = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        async with asyncio.timeout(self._seconds):
            await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self.is_complete = True


def _check_head(scope: Scope, headers: Headers) -> None:
    """Refuse a POST of another kind than JSON, since a form of another site can send none, and a
    path that is no text."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if scope["method"] == "POST" and kind != "application/json":
        hint = "Send JSON, with the header `Content-Type: application/json`."
        raise RequestError(415, "usage", "the Content-Type must be application/json", hint)
    if "\0" in scope["path"] or "\ufffd" in scope["path"]:
        hint = "Write names in an address as UTF-8, percent-encoded."
        raise RequestError(400, "usage", "the path is no text", hint)


async def _wait_until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _given(body: bytes, gone: asyncio.Future[None]) -> Receive:
    """Return what gives a body that was read, and then waits until the client is gone."""
    left = [body]

    async def receive() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        await asyncio.wait({gone})
        return {"type": "http.disconnect"}

    return receive


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Return whether an address to listen on is of this machine alone."""
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)
