"""What `rag doctor` asks a Qdrant server: a few plain requests, each with a deadline."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from rag.config import StoreConfig
from rag.stores.server.api_key import server_key
from rag.stores.server.rest import base_url
from rag.support.http_transport import DeadlineTransport, brief

_SECONDS = 3.0  # for each request

# What goes wrong with a request, or with the reading of its answer.
FAILURES = (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, RecursionError)


class QdrantRequests:
    """Requests to the server of the settings; a context manager.

    Whatever fails raises one of `FAILURES`: an answer with an error `httpx.HTTPStatusError`, one
    that is not Qdrant's `ValueError`.

    :raises ConfigError: when the API key could not be sent, or would travel in the clear.
    """

    def __init__(self, store: StoreConfig) -> None:
        self._key = server_key(store)
        self._base = str(base_url(store.url)).rstrip("/")
        self._collection = f"/collections/{quote(store.collection, safe='')}"

    def __enter__(self) -> Self:
        """Make the client; nothing is contacted yet."""
        # A server sends a compressed answer in two parts, the second of which comes late.
        headers = {"Accept-Encoding": "identity"}
        self._client = httpx.Client(
            transport=DeadlineTransport(httpx.URL(self._base), _SECONDS),
            timeout=_SECONDS,
            headers=headers | ({"api-key": self._key} if self._key else {}),
            trust_env=False,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self._client.close()

    def check_ready(self) -> None:
        """Raise what `/readyz` answers when it is an error."""
        self._ask("GET", "/readyz")

    def version(self) -> str:
        """Return the server's version."""
        about = self._ask("GET", "/").json()
        if not isinstance(about, dict) or "version" not in about:
            raise ValueError("no version")
        return str(about["version"])

    def collection(self) -> dict[str, Any]:
        """Return what the server says of the collection: 404 when there is none."""
        return self._result("GET", self._collection)

    def cluster(self) -> dict[str, Any]:
        """Return where the copies of the collection's shards are, and their states."""
        return self._result("GET", f"{self._collection}/cluster")

    def read(self) -> None:
        """Count the points, roughly: a copy of every shard is asked."""
        self._result("POST", f"{self._collection}/points/count", {"exact": False})

    def explain(self, error: BaseException) -> str:
        """Return a failure in one line, with what the server said, without the key."""
        if isinstance(error, httpx.HTTPStatusError):
            from rag.stores.server.errors import said_in  # which loads the server's client

            said = said_in(error.response.content)
            text = f"error {status_of(error)}" + (f": {said}" if said else "")
        else:
            text = brief(str(error)) or type(error).__name__
        return text.replace(self._key, "…") if self._key else text

    def _result(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        answer = self._ask(method, path, body).json()
        result = answer.get("result") if isinstance(answer, dict) else None
        if not isinstance(result, dict):
            raise ValueError("no result")
        return result

    def _ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        return self._client.request(method, self._base + path, json=body).raise_for_status()


def status_of(error: BaseException) -> int:
    """Return the status of an answer with an error, 0 for any other failure."""
    return error.response.status_code if isinstance(error, httpx.HTTPStatusError) else 0
