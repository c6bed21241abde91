"""An HTTP client of one server, at one address: nothing else is ever contacted.

It follows no redirection, so that no key and no note gets to another host; it reads no environment
but for the proxy of another machine; every request has a deadline as a whole, and of an answer that
has no end only so much is read.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx
from pydantic_core import from_json

from rag.clients.errors import FAILURES, Refusal, Trouble, explain, refusal_of
from rag.clients.servers import Endpoint, check_answers
from rag.config import OllamaConfig
from rag.config.servers import is_address
from rag.exceptions import SHOW_SETTINGS, ConfigError
from rag.support.http_transport import DeadlineTransport, unusable_proxy

DONE = {"[DONE]": True}  # the event that ends a stream of OpenAI's API
_LARGEST = 64 << 20  # bytes of an answer
_LONGEST_LINE = 16 << 20  # bytes of a piece of one
_MOST_OF_AN_ERROR = 64 << 10  # bytes that are read of an answer with an error


class Delta(NamedTuple):
    """The next piece of an answer, and of the reasoning before it."""

    text: str
    thinking: str = ""


class End(NamedTuple):
    """What a server says of a whole answer; see `rag.clients.protocols.Response`."""

    finish_reason: str = "stop"
    prompt_tokens: int | None = None
    tokens: int | None = None
    load_seconds: float = 0.0


Pieces = Generator[Delta | End, None, None]


class HttpClient:
    """A client of one server; it may be used by several threads at once.

    Its two subclasses have the same methods, which say what requests and replies look like:

    - `vectors` of texts, in their order, as the server gives them;
    - `chat_body`, what is sent to `chat_path` for an answer, and `pieces`, its events as `Delta`s,
      with an `End` only if it is whole. `sends_window`: the body says how long prompt and answer
      may be; `longer` says what helps where a prompt is too long;
    - `look`: the server's version, where it tells, and the names of its models;
    - `describe_embedder`: the configured embedding model; `find_writer`: the chat model that is to
      answer, for `auto` the first that writes text; `context_of`: the most tokens that a model
      reads, 0 where the server does not tell.

    The first three raise `rag.clients.errors.FAILURES`, the others errors of ours. `seconds` is the
    longest duration of a request, of `find_writer` that of all.

    :param limits: the limits of time.
    :param read_timeout: longest silence, in seconds; without it the configured one.
    :raises ConfigError: when the address is none, the key cannot be sent, or the environment's
        proxy not be used.
    """

    def __init__(
        self, endpoint: Endpoint, limits: OllamaConfig, read_timeout: float | None = None
    ) -> None:
        self.endpoint, self.url, self.limits = endpoint, endpoint.url, limits
        if not is_address(self.url):
            what = f"{self.url!r} is not an address such as http://localhost:11434"
            raise ConfigError(what, hint=SHOW_SETTINGS)
        self._key = endpoint.key
        silence = min(read_timeout or limits.read_timeout, limits.request_timeout)
        # A compressed answer may come in two parts, the second of which waits for the first to be
        # acknowledged.
        headers = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            self._http = httpx.Client(
                headers=headers,
                transport=DeadlineTransport(httpx.URL(endpoint.base), limits.request_timeout),
                timeout=httpx.Timeout(silence, connect=limits.connect_timeout),
                follow_redirects=False,
                trust_env=False,
            )
        except (ImportError, ValueError, OSError) as error:
            raise unusable_proxy(self.url, error) from error

    def explain(self, error: Exception, model: str = "") -> Trouble:
        """Explain one of `rag.clients.errors.FAILURES`."""
        return explain(error, self.endpoint, model)

    @contextmanager
    def our_errors(self, model: str = "") -> Iterator[None]:
        """Raise what goes wrong inside as an error of ours, with its cause.

        :param model: the name of the model that is asked, where it is not the configured one.
        :raises ConnectionError: or one of its subclasses.
        """
        try:
            yield
        except FAILURES as error:
            raise self.explain(error, model).error  # noqa: B904 - it has its cause

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def fetch(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        seconds: float | None = None,
        base: str = "",
    ) -> dict[str, Any]:
        """Return the JSON object that answers a GET, or with a `body` a POST.

        :param seconds: longest duration of the whole; without it the configured one.
        :param base: another address than that of the API.
        """
        with self._sent(f"{base or self.endpoint.base}{path}", body, seconds) as response:
            return self._object(_beginning(response, _LARGEST))

    def stream(
        self, path: str, body: Mapping[str, Any], seconds: float | None = None
    ) -> Generator[dict[str, Any], None, None]:
        """Yield the JSON objects of a streamed answer, and `DONE` where that is said; one that says
        `error` raises."""
        with self._sent(f"{self.endpoint.base}{path}", body, seconds) as response:
            if response.headers.get("content-type", "").startswith("application/json"):
                yield self._object(_beginning(response, _LARGEST))  # it does not stream
                yield DONE
                return
            for line in _lines(response.iter_bytes()):
                data = self.data_of(line)
                if data == b"[DONE]":
                    yield DONE
                    return
                if data:
                    yield self._object(data)

    # -- what one of the APIs has otherwise ------------------------------------------------

    def data_of(self, line: bytes) -> bytes:
        """Return the JSON in a line of a stream; empty for one that is there for other reasons."""
        return line

    def accepted(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a request without the fields that the server has refused."""
        return body

    def learns_from(self, refusal: Refusal, body: Mapping[str, Any]) -> bool:
        """Note the field that a server refuses; return whether it is to be asked without it."""
        return False

    def digest(self, seconds: float) -> str:
        """Return the digest of the configured model; empty when the server does not tell."""
        return ""

    # -- requests --------------------------------------------------------------------------

    @contextmanager
    def _sent(
        self, url: str, body: Mapping[str, Any] | None, seconds: float | None
    ) -> Iterator[httpx.Response]:
        check_answers(self.endpoint, self.limits.query_timeout)
        method, content = "GET", None
        extensions = {} if seconds is None else {"seconds": seconds}
        while True:
            if body is not None:
                # Half a surrogate pair, which a broken note or argument may hold, is no UTF-8.
                text = json.dumps(self.accepted(body), ensure_ascii=False)
                method, content = "POST", text.encode("utf-8", "replace")
            opened = self._http.stream(method, url, content=content, extensions=extensions)
            with opened as response:
                if response.is_success:
                    yield response
                    return
                text = _beginning(response, _MOST_OF_AN_ERROR, cut=True).decode("utf-8", "replace")
                refusal = refusal_of(_json_of(text), text, self._key, response)
            if not self.learns_from(refusal, body or {}):
                raise refusal

    def _object(self, data: bytes) -> dict[str, Any]:
        answer = from_json(data)
        if not isinstance(answer, dict):
            raise ValueError(f"expected a JSON object, not {type(answer).__name__}")
        if answer.get("error"):
            raise refusal_of(answer, str(answer["error"]), self._key)
        return answer


def _beginning(response: httpx.Response, most: int, cut: bool = False) -> bytes:
    """Return the body of an answer; of a longer one the beginning, or a `ValueError`."""
    parts, size = [], 0
    for part in response.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > most:
            if cut:
                break
            raise ValueError("the answer has no end")
    return b"".join(parts)[:most]


def _lines(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines; `iter_lines` takes characters in a text for ends of lines."""
    held = b""
    for part in parts:
        *lines, held = (held + part).split(b"\n")
        if len(held) > _LONGEST_LINE:
            raise ValueError("a line of the answer has no end")
        yield from (line.strip() for line in lines)
    yield held.strip()


def _json_of(text: str) -> Any:
    try:
        return from_json(text)
    except ValueError:
        return None
