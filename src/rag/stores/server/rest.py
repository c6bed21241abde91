"""Qdrant's HTTP API, as far as reading and writing points needs it.

Its client takes most of a second to import, which is longer than a search.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson

from rag.config import StoreConfig
from rag.stores.server.api_key import server_key
from rag.support.failover import FailoverTransport, asked_last
from rag.support.http_transport import DeadlineTransport, unusable_proxy

CONNECT_SECONDS = 5.0
_PORT = 6333
_REPEATABLE = re.compile(r"/collections/[^/]+/(points(/|$)|index$)")


class RestClient:
    """Asks a server; nothing is contacted before the first request.

    :param settings: the addresses and the deadline; the key is read with the first request.
    """

    def __init__(self, settings: StoreConfig) -> None:
        self.settings = settings
        self._client: httpx.Client | None = None

    def request(self, method: str, path: str, body: Any = None, **params: str) -> Any:
        """Return the `result` of an answer.

        :param path: below the server's address, such as "/collections/notes/points".
        :param body: what is sent in JSON, or JSON itself.
        :raises httpx.HTTPStatusError: when the server refuses.
        :raises httpx.HTTPError: when it does not answer.
        :raises ValueError: when the answer is not Qdrant's.
        :raises ConfigError: when the environment's key, proxy or certificates cannot be used.
        """
        sent = body if body is None or isinstance(body, bytes) else encoded(body)
        answer = self._opened().request(method, path, content=sent, params=params or None)
        answer.raise_for_status()
        content = _parsed(answer.content)
        if not isinstance(content, dict) or "result" not in content:
            raise ValueError("no result")
        return content["result"]

    def _opened(self) -> httpx.Client:
        if self._client is None:
            settings = self.settings
            key = server_key(settings)
            # A server accepts a connection long before it has an answer.
            seconds = httpx.Timeout(
                settings.timeout, connect=min(settings.timeout, CONNECT_SECONDS)
            )
            # It sends a compressed answer in two parts, the second of which waits 40 ms for the
            # first to be acknowledged.
            headers = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
            headers |= {"api-key": key} if key else {}
            self._client = httpx.Client(
                base_url=base_url(settings.addresses[0]),
                headers=headers,
                timeout=seconds,
                transport=server_transport(settings),
                trust_env=False,
            )
        return self._client

    def close(self) -> None:
        """Close all connections; the next request opens others."""
        if self._client is not None:
            self._client.close()
            self._client = None


def to_json(body: Any) -> bytes:
    """Return what is sent of a body: arrays as lists, 32-bit numbers in as few digits as tell them.

    :raises TypeError: for what is no JSON, text that is no Unicode, or numbers of over 64 bits.
    """
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def encoded(body: Any) -> bytes:
    """Return `to_json`, also of numbers of over 64 bits, and of halves of characters."""
    try:
        return to_json(body)
    except TypeError:
        return json.dumps(body, default=lambda array: array.tolist()).encode()


def _parsed(content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except ValueError as error:
        raise ValueError("no JSON") from error


def base_url(address: str) -> httpx.URL:
    """Return an address with its port, which is Qdrant's own where none is named."""
    url = httpx.URL(address.rstrip("/"))
    # httpx takes a scheme's usual port, such as https://…:443, for none.
    return url if urlsplit(address).port else url.copy_with(port=_PORT)


def server_transport(settings: StoreConfig) -> DeadlineTransport | FailoverTransport:
    """Return the way to a server, by the next of its addresses where one does not answer.

    :raises ConfigError: when the environment's proxy or certificates cannot be used.
    """
    addresses = [base_url(address) for address in settings.addresses]
    try:
        if len(addresses) == 1:
            return DeadlineTransport(addresses[0], settings.timeout)
        return FailoverTransport(addresses, settings.timeout, _may_repeat)
    except (ImportError, ValueError, OSError) as error:
        raise unusable_proxy(settings.url, error) from error


def address_in_use(settings: StoreConfig) -> str:
    """Return the address of a server that was asked last, as it is written in the settings."""
    addresses = settings.addresses
    if len(addresses) == 1:
        return addresses[0]
    return addresses[asked_last([base_url(address) for address in addresses])]


def _may_repeat(request: httpx.Request) -> bool:
    """Tell whether a request does no harm when it is done twice.

    A read does none. A write of points says by their ids what is to be there, or not: done twice
    it leaves what it left the first time, and it is waited for before the next is sent. An index of
    a field may be made again too; a collection, or a place for embeddings, that is there may not.
    """
    return request.method == "GET" or bool(_REPEATABLE.search(request.url.path))
