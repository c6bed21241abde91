"""Qdrant's HTTP API: requests, their deadline and their failures, in words of ours.

Qdrant's own client takes most of a second to import, which is longer than a search.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson

from rag.config import StoreConfig
from rag.config.servers import read_key
from rag.exceptions import INDEX_MISSING, REBUILD_INDEX, RAGError, StoreConnectionError
from rag.stores.base.points import StoreError
from rag.support.disk_space import is_of_full_disk
from rag.support.http_transport import FailoverTransport, asked_last, unusable_proxy
from rag.text.messages import brief_reply

_CONNECT_SECONDS = 5.0
_PORT = 6333
_REPEATABLE = re.compile(r"/collections/[^/]+/(points(/|$)|index$)")
_BUSY = (408, 425, 429, 503)
_LONGEST_REASON = 4000  # bytes of an answer that is not Qdrant's that are looked at
_NO_POINT = re.compile(r"no point with id", re.IGNORECASE)
_NO_COLLECTION = re.compile(r"collection .*(doesn't exist|not found)", re.IGNORECASE | re.DOTALL)


class RestClient:
    """Asks a server; nothing is contacted before the first request, with which the key is read.

    :param settings: the addresses and the deadline.
    """

    def __init__(self, settings: StoreConfig) -> None:
        self.settings = settings
        self._client: httpx.Client | None = None

    @property
    def _key(self) -> str:
        """The API key, "" when there is none; a ConfigError where it would travel in the clear."""
        return read_key(self.settings.api_key_env, self.settings.addresses, "store.url")

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        allowed: int = 0,
        params: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> Any:
        """Return the `result` of an answer, `None` for a refusal whose status is `allowed`.

        :param path: below the server's address, such as "/collections/notes/points".
        :param body: what is sent in JSON, or JSON itself.
        :raises httpx.HTTPError: when the server refuses (`HTTPStatusError`), or does not answer.
        :raises ValueError: when the answer is not Qdrant's.
        """
        sent = body if body is None or isinstance(body, bytes) else to_json(body)
        extensions = {} if seconds is None else {"seconds": seconds}
        answer = self._opened().request(
            method, path, content=sent, params=params, extensions=extensions
        )
        if answer.status_code == allowed:
            return None
        answer.raise_for_status()
        content = orjson.loads(answer.content)
        if not isinstance(content, dict) or "result" not in content:
            raise ValueError("no result")
        return content["result"]

    def _opened(self) -> httpx.Client:
        if self._client is None:
            settings, key = self.settings, self._key
            addresses = _base_urls(settings)
            # It sends a compressed answer in two parts, the second of which waits 40 ms for the
            # first to be acknowledged.
            headers = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
            headers |= {"api-key": key} if key else {}
            # A server accepts a connection long before it has an answer.
            connect = min(settings.timeout, _CONNECT_SECONDS)
            try:
                transport = FailoverTransport(addresses, settings.timeout, _may_repeat)
            except (ImportError, ValueError, OSError) as error:
                raise unusable_proxy(settings.url, error) from error
            self._client = httpx.Client(
                base_url=addresses[0],
                headers=headers,
                timeout=httpx.Timeout(settings.timeout, connect=connect),
                transport=transport,
                trust_env=False,
            )
        return self._client

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Turn every failure of the server, or of the way to it, into an error of ours, which never
        repeats the API key; what goes wrong with files here stays as it is.

        :raises StoreConnectionError: when the server did not do what it was asked.
        :raises StoreError: when it does not have the collection, or the point.
        """
        key = self._key
        try:
            yield
        except (RAGError, sqlite3.Error):
            raise
        except Exception as error:
            if isinstance(error, OSError) and (error.filename or is_of_full_disk(error)):
                raise  # a file here
            explained = _explain(error, self.settings)
            explained.details = explained.details.replace(key or "\0", "…")
            raise explained from error

    def close(self) -> None:
        """Close all connections; the next request opens others."""
        if self._client is not None:
            self._client.close()
            self._client = None


def to_json(body: Any) -> bytes:
    """Return what is sent of a body: arrays as lists, 32-bit numbers in as few digits as tell them;
    a TypeError says what is no JSON."""
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def _base_urls(settings: StoreConfig) -> list[httpx.URL]:
    """Return the addresses with their ports, Qdrant's own where none is named."""
    urls = [(address, httpx.URL(address.rstrip("/"))) for address in settings.addresses]
    # httpx takes a scheme's usual port, such as https://…:443, for none.
    return [url if urlsplit(text).port else url.copy_with(port=_PORT) for text, url in urls]


def _may_repeat(request: httpx.Request) -> bool:
    """Tell whether a request does no harm when it is done twice: reads, writes of points, which say
    by their ids what is to be there, and indexes of fields; not the making of a collection."""
    return request.method == "GET" or bool(_REPEATABLE.search(request.url.path))


def _explain(error: Exception, settings: StoreConfig) -> RAGError:
    url = settings.addresses[asked_last(_base_urls(settings))]
    details = brief_reply(f"{type(error).__name__}: {error}")
    match error:
        case httpx.HTTPStatusError():
            return _refusal(error.response.status_code, error.response.content, url, settings)
        case httpx.ConnectError() | httpx.ProxyError() | httpx.ConnectTimeout():
            url = ", ".join(settings.addresses)
            message = f"no Qdrant server answers at {url}"
            hint = "Check store.url, and that the server runs."
        case httpx.TimeoutException() | TimeoutError():
            message, hint = f"{url} took too long to answer", "Raise store.timeout."
        case httpx.HTTPError() | httpx.StreamError() | OSError():
            message, hint = f"{url} broke the connection", "See the server's log."
        case _:
            message = f"{url} answered with something that is not Qdrant's"
            hint = "Check store.url: is another program, or a proxy, at this address?"
    return StoreConnectionError(message, url, details=details, hint=hint)


def _refusal(status: int, content: bytes, url: str, settings: StoreConfig) -> RAGError:
    try:
        details = brief_reply(str(orjson.loads(content)["status"]["error"]))
    except (ValueError, LookupError, TypeError):  # it is not Qdrant's
        details = brief_reply(content[:_LONGEST_REASON].decode("utf-8", "replace"))
    collection = repr(settings.collection)
    if status == 404 and _NO_COLLECTION.search(details):
        return StoreError(f"{url} has no collection {collection}", details, hint=REBUILD_INDEX)
    if status == 404 and _NO_POINT.search(details):
        message = f"the collection {collection} at {url} lacks a chunk"
        return StoreError(message, details, hint=INDEX_MISSING)
    said, hint = f"answered with error {status}", "See the server's log; it may be full."
    if status in (401, 403):
        said = "does not accept the API key"
        hint = "None was sent: `rag config` says of store.api_key_env why."
        if settings.api_key_env:
            hint = f"Check the key in the environment variable {settings.api_key_env}."
    elif status in (404, 405, 407) or status < 400:
        hint = "Check store.url: it must be the address of Qdrant (1.18 or later) itself."
    elif status in _BUSY:
        said, hint = "is busy", "Try again later."
    elif status == 413:
        hint = "Raise service.max_request_size_mb of the server."
    return StoreConnectionError(f"{url} {said}", url, details=details, hint=hint)
