"""Who may ask, what every request passes before it is routed, and how long it may take.

In this order: the `Host` must be ours (against DNS rebinding), the `Origin` the same as the host,
and a browser must not say that another site asks; then the token or the cookie; then the kind and
the size of the body, which is read whole before anything else is done. A request is given up when
its client is gone, when it takes too long, and when the answer is not read.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import sys
import time
import traceback
from asyncio import FIRST_COMPLETED
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from socket import gethostname

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.exceptions import RAGError
from rag.support.files import claim_data_folder, open_file, replace_durably
from rag.web.answers import RequestError, error_response
from rag.web.readers import MOST

LARGEST_BODY = 4 << 20
COOKIE_SECONDS = 30 * 24 * 3600
_LINK_SECONDS = 120
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


class Access:
    """The token of a data folder, one-time links for a browser, and its cookie, which is made from
    the token.

    :param port: of the server: a browser sends the cookies of one host to all of its ports.
    :raises UsageError: when the folder is not ours.
    :raises OSError: when the token cannot be written.
    """

    def __init__(self, data_folder: Path, port: int) -> None:
        self.file = data_folder / "http-token"
        claim_data_folder(data_folder)
        self.token = _read_token(self.file)
        self._links: dict[str, float] = {}  # that were not used, and when they expire
        self.cookie_name = f"rag_{port}"
        self.cookie = hmac.new(self.token.encode(), b"cookie", sha256).hexdigest()

    def make_link(self) -> str:
        """Return the secret of a one-time link."""
        secret = secrets.token_urlsafe(32)
        self._links[secret] = time.time() + _LINK_SECONDS
        return secret

    def use_link(self, secret: str) -> bool:
        """Return whether a one-time link is good; from then on it is not."""
        return self._links.pop(secret, 0.0) > time.time()

    def check(self, headers: Headers) -> None:
        """Refuse what brings neither the token nor the cookie."""
        kind, _, given = headers.get("authorization", "").partition(" ")
        given, right = given.strip(), self.token if kind.lower() == "bearer" else ""
        if not kind:
            given = cookie_parser(headers.get("cookie", "")).get(self.cookie_name, "")
            right = self.cookie
        if not right or not hmac.compare_digest(given.encode("utf-8", "replace"), right.encode()):
            message = "this needs the token" if not kind else "this is not the token"
            hint = (
                "`rag serve --http --open` opens the page; programs send `Authorization: Bearer`"
                " and the token, whose file it names."
            )
            raise RequestError(401, "unauthorized", message, hint)


def _read_token(file: Path) -> str:
    """Return the token in a file, which is made where there is none that is the user's alone."""
    with suppress(OSError, UnicodeError), open_file(file) as stream:
        status, token = os.fstat(stream.fileno()), stream.read(200).decode("ascii").strip()
        if status.st_uid == os.geteuid() and not status.st_mode & 0o077 and len(token) >= 32:
            return token
    token = secrets.token_urlsafe(32)
    replace_durably(file, f"{token}\n".encode())
    return token


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
    """

    def __init__(self, app: ASGIApp, access: Access, host: str, limits: Limits = LIMITS) -> None:
        self._app, self._access, self._limits = app, access, limits
        self._names = {"localhost", "127.0.0.1", "::1", host.lower()} - {"", "0.0.0.0", "::"}
        self._has_addresses = bool(host) and not is_loopback(host)
        if self._has_addresses:
            self._names.add(gethostname().lower())
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        has_begun = False

        async def answer(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            async with asyncio.timeout(self._limits.send):
                await send(message)

        self._running += 1
        try:
            await self._answer(Request(scope, receive), answer)
        except ClientDisconnect:
            pass
        except RAGError as error:
            with suppress(TimeoutError):
                if not has_begun:  # else the server closes the connection
                    await error_response(error, Request(scope))(scope, receive, answer)
        except Exception:
            traceback.print_exc(limit=-8, file=sys.stderr)
        finally:
            self._running -= 1

    async def _answer(self, request: Request, send: Send) -> None:
        if self._running > self._limits.at_once:
            raise RequestError(503, "busy", "the server is busy", "Try again in a second.")
        path = request.scope["path"]
        self._check_source(request.headers)
        if path not in _OPEN_TO_ALL:
            self._access.check(request.headers)
        _check_head(request)
        parts = [await self._body(request)]

        async def wait_until_gone() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass

        async def receive() -> Message:
            if parts:
                return {"type": "http.request", "body": parts.pop(), "more_body": False}
            await asyncio.wait({gone})
            return {"type": "http.disconnect"}

        seconds = self._limits.long_answer if path in _LONG else self._limits.answer
        gone = asyncio.ensure_future(wait_until_gone())
        work = asyncio.ensure_future(self._app(request.scope, receive, send))
        try:
            done, _ = await asyncio.wait({work, gone}, timeout=seconds, return_when=FIRST_COMPLETED)
            if not done:
                hint = "Ask for less: a shorter query, or fewer results."
                raise RequestError(504, "timeout", "the answer took too long", hint)
            if work in done:
                work.result()
        finally:
            work.cancel()
            gone.cancel()
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

    async def _body(self, request: Request) -> bytes:
        """Return the body of a request. One that is too large, or comes too slowly, is refused."""
        hint = "Send several smaller requests, such as fewer notes in each."
        too_large = RequestError(413, "usage", "the body is larger than 4 MiB", hint)
        length, body = request.headers.get("content-length", "0"), bytearray()
        if length.isdigit() and int(length) > LARGEST_BODY:
            raise too_large
        try:
            async with asyncio.timeout(self._limits.body):
                async for part in request.stream():
                    body += part
                    if len(body) > LARGEST_BODY:
                        raise too_large
        except TimeoutError:
            hint = "Send the request again, its body at once."
            raise RequestError(408, "timeout", "the body came too slowly", hint) from None
        return bytes(body)


def _check_head(request: Request) -> None:
    """Refuse a POST of another kind than JSON, since a form of another site can send none, and a
    path that is no text."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method == "POST" and kind != "application/json":
        hint = "Send JSON, with the header `Content-Type: application/json`."
        raise RequestError(415, "usage", "the Content-Type must be application/json", hint)
    if {"\0", "\ufffd"} & {*request.scope["path"]}:
        hint = "Write names in an address as UTF-8, percent-encoded."
        raise RequestError(400, "usage", "the path is no text", hint)


def _is_address(name: str) -> bool:
    try:
        return bool(ip_address(name))
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Return whether an address to listen on is of this machine alone."""
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)
