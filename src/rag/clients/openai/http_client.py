"""An HTTP client of one server, at one address: nothing else is ever contacted.

It follows no redirection, so that no key gets to another host; it reads no environment but for the
proxy of another machine; and every request has a deadline as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
from pydantic_core import from_json

from rag.clients.openai.dialect import Dialect
from rag.clients.openai.endpoint import Endpoint
from rag.clients.openai.errors import BELOW, Refusal, diagnose, refused, what_it_says
from rag.clients.servers.probe import make_sure_it_answers
from rag.clients.servers.trouble import Trouble
from rag.config import OllamaConfig
from rag.support.http_transport import DeadlineTransport, unusable_proxy

DONE = {"[DONE]": True}  # the event that ends a stream
_LONGEST_LINE = 16 << 20  # bytes
_MOST_OF_AN_ERROR = 64 << 10  # bytes that are read of an answer with an error


class OpenAIClient:
    """A client of one server; it may be used by several threads at once.

    :param config: the limits of time.
    :param read_timeout: longest silence, in seconds; without it the configured one.
    :raises ConfigError: when the key cannot be sent, or the environment's proxy not be used.
    """

    failures = BELOW

    def __init__(
        self, endpoint: Endpoint, config: OllamaConfig, read_timeout: float | None = None
    ) -> None:
        self.endpoint, self.url, self._limits = endpoint, endpoint.url, config
        self._key, self._dialect = endpoint.key, Dialect()
        silence = min(read_timeout or config.read_timeout, config.request_timeout)
        # A compressed answer may come in two parts, the second of which waits for the first to be
        # acknowledged.
        headers = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            self._client = httpx.Client(
                headers=headers,
                transport=DeadlineTransport(httpx.URL(endpoint.base), config.request_timeout),
                timeout=httpx.Timeout(silence, connect=config.connect_timeout),
                follow_redirects=False,
                trust_env=False,
            )
        except (ImportError, ValueError, OSError) as error:
            raise unusable_proxy(self.url, error) from error

    def explain(self, error: Exception) -> Trouble:
        """Explain one of `failures`."""
        return diagnose(error, self.endpoint)

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def get(self, path: str, seconds: float | None = None) -> dict[str, Any]:
        """Return the JSON object at a path of the API.

        :param seconds: longest duration of the whole; without it the configured one.
        :raises Refusal: when the server answers with an error.
        :raises ValueError: when the answer is no JSON object.
        :raises httpx.TransportError: when there is none.
        """
        with self._sent("GET", f"{self.endpoint.base}{path}", None, seconds) as response:
            return self._object(response)

    def own(
        self, path: str, seconds: float, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the JSON object at a path of the server's own, beside the API; with a `body` that
        which answers a POST. The errors are those of `get`."""
        method = "POST" if body else "GET"
        with self._sent(method, f"{self.endpoint.root}{path}", body, seconds) as response:
            return self._object(response)

    def post(
        self, path: str, body: Mapping[str, Any], seconds: float | None = None
    ) -> dict[str, Any]:
        """Return the JSON object that answers a request; a field that the server does not know is
        left out. The errors are those of `get`."""

        def send(said: dict[str, Any]) -> dict[str, Any]:
            with self._sent("POST", f"{self.endpoint.base}{path}", said, seconds) as response:
                return self._object(response)

        return self._dialect.send(body, send)

    def stream(
        self, path: str, body: Mapping[str, Any], seconds: float | None = None
    ) -> Generator[dict[str, Any], None, None]:
        """Yield the events of a streamed answer, at its proper end `DONE`; an event that says
        `error` raises. The errors are those of `get`."""
        with ExitStack() as stack:

            def send(said: dict[str, Any]) -> httpx.Response:
                opened = self._sent("POST", f"{self.endpoint.base}{path}", said, seconds)
                return stack.enter_context(opened)

            response = self._dialect.send(body, send)
            if "json" in response.headers.get("content-type", ""):  # it does not stream
                yield self._object(response)
                yield DONE
                return
            for line in _lines(response.iter_bytes()):
                event = self._event(line)
                if event is not None:
                    yield event
                if event is DONE:
                    return

    @contextmanager
    def _sent(
        self, method: str, url: str, body: Mapping[str, Any] | None, seconds: float | None
    ) -> Iterator[httpx.Response]:
        make_sure_it_answers(self.endpoint.base, "/models", self._limits.query_timeout)
        # Half a surrogate pair, which a broken note or argument may hold, is no UTF-8.
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace") if body else None
        extensions = {} if seconds is None else {"seconds": seconds}
        opened = self._client.stream(method, url, content=content, extensions=extensions)
        with opened as response:
            if not response.is_success:
                text = _beginning(response)
                raise refused(response, _json_of(text), text, self._key)
            yield response

    def _object(self, response: httpx.Response) -> dict[str, Any]:
        found = from_json(response.read())
        if not isinstance(found, dict):
            raise ValueError(f"a JSON object was due, not {type(found).__name__}")
        self._check(found)
        return found

    def _event(self, line: bytes) -> dict[str, Any] | None:
        """Return what a line of a stream says; `None` for one that is there for other reasons."""
        name, _, value = line.partition(b":")
        value = value.strip()
        if name not in (b"data", b"error") or not value:
            return None
        if value == b"[DONE]":
            return DONE
        found = from_json(value)
        if not isinstance(found, dict):
            raise ValueError(f"a JSON object was due, not {type(found).__name__}")
        self._check(found if name == b"data" else {"error": found})
        return found

    def _check(self, answer: Mapping[str, Any]) -> None:
        """Raise the error that an answer with the status of success holds."""
        if answer.get("error"):
            raise Refusal(0, *what_it_says(answer, str(answer["error"]), self._key))


def _lines(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines; `iter_lines` takes characters in a text for ends of lines."""
    held = b""
    for part in parts:
        *lines, held = (held + part).split(b"\n")
        if len(held) > _LONGEST_LINE:
            raise ValueError("a line of the answer has no end")
        yield from (line.rstrip(b"\r") for line in lines)
    yield held.rstrip(b"\r")


def _beginning(response: httpx.Response) -> str:
    """Return the beginning of an answer."""
    found = b""
    for part in response.iter_bytes():
        found += part
        if len(found) > _MOST_OF_AN_ERROR:
            break
    return found[:_MOST_OF_AN_ERROR].decode("utf-8", "replace")


def _json_of(text: str) -> Any:
    try:
        return from_json(text)
    except ValueError:
        return None
