"""What goes wrong between us and a Qdrant server, in words of ours."""

from __future__ import annotations

import json
import re
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from rag.config import StoreConfig
from rag.exceptions import INDEX_MISSING, REBUILD_INDEX, RAGError, StoreConnectionError
from rag.stores.edge.shard import StoreError
from rag.stores.server.rest import address_in_use
from rag.support.disk_space import is_of_full_disk
from rag.support.http_transport import DeadlineExceeded, brief, is_caused_by

_BUSY = (408, 425, 429, 503)
_MOST_SAID = 4000  # bytes of an answer that is not Qdrant's that are looked at
_NO_POINT = re.compile(r"no point with id", re.IGNORECASE)
_NO_COLLECTION = re.compile(r"collection .*(doesn't exist|not found)", re.IGNORECASE | re.DOTALL)


@contextmanager
def answering(settings: StoreConfig, key: str = "") -> Iterator[None]:
    """Turn every failure of a server, or of the way to it, into an error of ours; what goes wrong
    with files here stays as it is.

    :param key: the API key; it is never repeated, whatever the server says.
    :raises StoreConnectionError: when the server did not do what it was asked.
    :raises StoreError: when it does not have the collection, or the point.
    """
    try:
        yield
    except (RAGError, sqlite3.Error):
        raise
    except Exception as error:
        if isinstance(error, OSError) and (error.filename or is_of_full_disk(error)):
            raise  # a file here
        found = _explain(error, settings)
        if key:
            found.details = found.details.replace(key, "…")
        raise found from error


def is_missing_collection(answer: httpx.Response) -> bool:
    """Tell whether a server says that it does not have the collection."""
    return answer.status_code == 404 and bool(_NO_COLLECTION.search(said_in(answer.content)))


def _explain(failure: Exception, settings: StoreConfig) -> RAGError:
    url = address_in_use(settings)
    # The client's errors are known by what they have: to import it takes most of a second.
    error: Any = getattr(failure, "source", failure)
    if isinstance(error, httpx.HTTPStatusError):
        return _refusal(error.response.status_code, error.response.content, settings)
    if hasattr(error, "status_code"):
        return _refusal(error.status_code or 0, error.content, settings)
    if isinstance(error, (httpx.HTTPError, httpx.StreamError, OSError)):
        return _silence(error, settings)
    return StoreConnectionError(
        f"{url} answered with something that is not Qdrant's",
        url,
        details=brief(f"{type(error).__name__}: {error}"),
        hint="Check store.url: is another program, or a proxy, at this address?",
    )


def _refusal(status: int, content: bytes, settings: StoreConfig) -> RAGError:
    said, url = said_in(content), address_in_use(settings)
    if status == 404 and _NO_COLLECTION.search(said):
        return StoreError(
            f"{url} has no collection {settings.collection!r}",
            said,
            hint=REBUILD_INDEX,
        )
    if status == 404 and _NO_POINT.search(said):
        return StoreError(
            f"the collection {settings.collection!r} at {url} lacks a chunk",
            said,
            hint=INDEX_MISSING,
        )
    message = f"{url} answered with error {status}"
    if status in (401, 403):
        message = f"{url} does not accept the API key"
        hint = f"Check the key in the environment variable {settings.api_key_env}."
        if not settings.api_key_env:
            hint = "None was sent: `rag config` says of store.api_key_env why."
    elif status in (404, 405, 407) or status < 400:
        hint = "Check store.url: it must be the address of Qdrant (1.18 or later) itself."
    elif status in _BUSY:
        message, hint = f"{url} is busy", "Try again later."
    elif status == 413:
        hint = "Raise service.max_request_size_mb of the server."
    else:
        hint = "See the server's log; its disk or memory may be full."
    return StoreConnectionError(message, url, details=said, hint=hint)


def _silence(error: Exception, settings: StoreConfig) -> RAGError:
    url, all_addresses = address_in_use(settings), ", ".join(settings.addresses)
    check = "Check store.url, and that the server runs."
    if isinstance(error, DeadlineExceeded):
        message, check = f"{url} took too long to answer", "Raise store.timeout."
    elif isinstance(error, (httpx.ConnectTimeout, httpx.PoolTimeout)):
        url = all_addresses
        message = f"{url} does not answer"
    elif isinstance(error, (httpx.TimeoutException, TimeoutError)):
        message, check = f"{url} said nothing for too long", "Raise store.timeout."
    elif is_caused_by(error, socket.gaierror) and url == all_addresses:
        message = f"no host of the name {httpx.URL(url).host} was found"
    elif isinstance(error, (httpx.ConnectError, httpx.ProxyError)):
        url = all_addresses
        message = f"no Qdrant server answers at {url}"
    else:
        message, check = f"{url} broke the connection", "See the server's log."
    return StoreConnectionError(message, url, details=brief(str(error)), hint=check)


def said_in(content: bytes) -> str:
    """Return the message in an answer of Qdrant's, or what `brief` leaves of another's."""
    try:
        return brief(str(json.loads(content)["status"]["error"]))
    except (ValueError, LookupError, TypeError, RecursionError):
        return brief(content[:_MOST_SAID].decode("utf-8", "replace"))
