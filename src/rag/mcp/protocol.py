"""The messages of the protocol in its two eras, and how results differ between its revisions.

Up to 2025-11-25 a client says `initialize` first, and the connection keeps the revision that was
agreed on. Since 2026-07-28 there is no handshake: each request carries its revision in `_meta`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeGuard
from unicodedata import normalize

from rag import __version__

MODERN = "2026-07-28"
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_WITH_BATCHES = "2025-03-26"  # the one revision that has them

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR, UNSUPPORTED_VERSION = -32602, -32603, -32022
_RESOURCE_NOT_FOUND = -32002  # until 2025-11-25

_META = "io.modelcontextprotocol/"
_VERSION, _CAPABILITIES = f"{_META}protocolVersion", f"{_META}clientCapabilities"
SERVER = {"name": "rag", "title": "Notes", "version": __version__}

TEMPLATE = "rag://note/{vault}/{+path}"  # of the addresses of notes as resources
_ADDRESS = "rag://note/"
_PAUSE = 0.25  # seconds between two notes of progress

Message = dict[str, Any]
Id = int | str


class ArgumentError(Exception):
    """Arguments that are not taken; the message says which are."""


class BrokenTextError(ArgumentError):
    """An address that holds half a character, or bytes that are no UTF-8."""


class CancelledCall(Exception):
    """Nobody wants the answer any more."""


class ProtocolError(Exception):
    """A request that cannot be answered, as the protocol says it: `code`, a message and `data`."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


@dataclass
class Call:
    """A request while it is answered.

    :param tell_progress: is given how far it is, a number that rises, and a line on it; `None`
        where nobody wants to know.
    """

    tell_progress: Callable[[float, str], None] | None = None
    _cancelled: threading.Event = field(default_factory=threading.Event)
    _steps: int = 0
    _told: float = 0.0

    def cancel(self) -> None:
        """Say that nobody wants the answer any more."""
        self._cancelled.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody wants the answer any more."""
        return self._cancelled.is_set()

    def check(self) -> None:
        """Go on only where the answer is wanted.

        :raises CancelledCall: when it is not.
        """
        if self.is_cancelled:
            raise CancelledCall

    def progress(self, message: str, *, at_once: bool = False) -> None:
        """Tell how far the answer is, a few times a second at most.

        :param at_once: tell it however lately something was told.
        """
        now = time.monotonic()
        self._steps += 1
        if self.tell_progress and (at_once or now - self._told >= _PAUSE):
            self._told = now
            self.tell_progress(float(self._steps), message)


@dataclass
class Connection:
    """What is kept of a client between its messages.

    :param version: the revision that `initialize` agreed on; empty before it, and where there is
        no handshake.
    """

    version: str = ""

    @property
    def has_batches(self) -> bool:
        """Whether several messages may come as one list."""
        return self.version == _WITH_BATCHES


@dataclass(frozen=True)
class Request:
    """A request: what it asks for, and the revision it is answered in."""

    id: Id
    method: str
    version: str
    params: Message = field(default_factory=dict)

    @property
    def is_modern(self) -> bool:
        """Whether it carries its revision itself."""
        return self.version == MODERN

    @property
    def progress_token(self) -> Id | None:
        """What progress is told under; `None` where nobody wants to know."""
        meta = self.params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        return token if is_id(token) else None


def is_id(value: object) -> TypeGuard[Id]:
    """Return whether a value may identify a request."""
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def read_request(message: object, connection: Connection) -> Request | None:
    """Return the request that a message is; `None` for notifications and answers.

    :raises ProtocolError: for what is no message, and for an envelope that is not whole.
    """
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, "not a JSON-RPC 2.0 message")
    method, params = message.get("method"), message.get("params")
    if method is None and ("result" in message or "error" in message):
        return None
    if not isinstance(method, str):
        raise ProtocolError(INVALID_REQUEST, "the message has no method")
    if "id" not in message:
        return None
    if not is_id(message["id"]):
        raise ProtocolError(INVALID_REQUEST, "an id is a string or an integer")
    if not isinstance(params, dict | None):
        raise ProtocolError(INVALID_PARAMS, "params must be an object")
    params = params or {}
    return Request(message["id"], method, _version_of(method, params, connection), params)


def _version_of(method: str, params: Message, connection: Connection) -> str:
    """Return the revision of a request.

    :raises ProtocolError: for one that is not supported, and for an envelope that is not whole.
    """
    meta = params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    if method == "initialize" or not (_VERSION in meta or method == "server/discover"):
        return connection.version or HANDSHAKE[-1]
    if missing := [name for name in (_VERSION, _CAPABILITIES) if name not in meta]:
        raise ProtocolError(INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}")
    version = meta[_VERSION]
    if not isinstance(version, str):
        raise ProtocolError(INVALID_PARAMS, f"{_VERSION} must be a string")
    if version != MODERN:
        data = {"supported": [MODERN], "requested": version}
        raise ProtocolError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)
    return version


def resource_not_found(request: Request) -> ProtocolError:
    """Return the error that says that a resource does not exist."""
    code = INVALID_PARAMS if request.is_modern else _RESOURCE_NOT_FOUND
    return ProtocolError(code, "Resource not found", {"uri": request.params["uri"][:1000]})


def result_message(request: Request, result: Message) -> Message:
    """Return the answer to a request, in the form of its era; of older revisions a client passes
    over what it does not know."""
    if request.is_modern:
        meta = {**result.get("_meta", {}), f"{_META}serverInfo": SERVER}
        result = {"resultType": "complete", **result, "_meta": meta}
    else:
        result = {
            name: value for name, value in result.items() if name not in ("ttlMs", "cacheScope")
        }
    return {"jsonrpc": "2.0", "id": request.id, "result": result}


def error_message(id_: object, error: ProtocolError) -> Message:
    """Return the answer that says what is wrong with a request, with its id if it is known."""
    told = {"code": error.code, "message": error.message}
    if error.data is not None:
        told["data"] = error.data
    return {"jsonrpc": "2.0", "id": id_ if is_id(id_) else None, "error": told}


def progress_message(token: Id, progress: float, message: str) -> Message:
    """Return the notification of how far a request is."""
    params = {"progressToken": token, "progress": progress, "message": message}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def read_address(uri: str) -> tuple[str, str]:
    """Return the vault and the path that the address of a note names, in the form of the index.

    :raises BrokenTextError: for one that is no text.
    :raises ArgumentError: for an address that is no note's.
    """
    from urllib.parse import unquote

    try:
        uri.encode()
        parts = uri.removeprefix(_ADDRESS).split("/", 1)
        vault, path, *_ = [normalize("NFC", unquote(p, errors="strict")) for p in (*parts, "")]
    except UnicodeError as error:
        raise BrokenTextError("the address is no text in UTF-8") from error
    if not uri.startswith(_ADDRESS) or not vault or not path:
        raise ArgumentError(f"a note's address is {TEMPLATE}")
    return vault, path


def address_of(vault: str, path: str) -> str:
    """Return the address of a note as a resource."""
    from urllib.parse import quote

    return f"{_ADDRESS}{quote(vault, safe='')}/{quote(path)}"


def note_name(given: str) -> str:
    """Return the name of a note that was named by its address, or by any of its names.

    :raises ArgumentError: for none, and for an address that is no note's.
    """
    name = given.strip()
    if name.startswith("rag://"):
        return "/".join(read_address(name))
    if not name:
        raise ArgumentError("note is empty; give a path, a title or an alias")
    return name
