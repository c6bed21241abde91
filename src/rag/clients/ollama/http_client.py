"""Ollama's own client, bound to one configured address.

Left to itself it reads `OLLAMA_HOST`, sends `OLLAMA_API_KEY` to whatever it talks to, follows
redirects, lets `HTTP_PROXY` capture 127.0.0.1, and waits without end. Importing it makes a
client from the environment, which fails for a SOCKS proxy that nobody asked to use.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
from pydantic_core import from_json

from rag.clients.servers.probe import make_sure_it_answers
from rag.config import OllamaConfig
from rag.config.servers import is_address
from rag.exceptions import SHOW_SETTINGS, ConfigError
from rag.support.http_transport import DeadlineTransport, unusable_proxy

_ENVIRONMENT = ("OLLAMA_HOST", "OLLAMA_API_KEY", "SSL_CERT_FILE", "SSL_CERT_DIR")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@contextmanager
def _without_environment() -> Iterator[None]:
    names = {*_ENVIRONMENT, *_PROXIES, *map(str.lower, _PROXIES)}
    kept = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)


with _without_environment():
    import ollama
    from ollama import ChatResponse, Message, ResponseError

__all__ = ["OllamaClient", "ResponseError", "chat_response"]


class OllamaClient(ollama.Client):
    """A client of one server; its answers are plain dictionaries.

    Plain, since a pydantic model per vector or per word of an answer costs time, and since
    `truncate` and `shift` of /api/chat are not among the arguments of `ollama.Client.chat`.
    It may be used by several threads at once.

    :param url: the server's address; nothing else is ever contacted.
    :param read_timeout: longest silence, in seconds; without it the configured one.
    :raises ConfigError: when Ollama is switched off, or when the address, or the environment's
        proxy for it, cannot be used.
    """

    def __init__(
        self, url: str, config: OllamaConfig | None = None, *, read_timeout: float | None = None
    ) -> None:
        config = config or OllamaConfig()
        if not config.enabled:
            raise ConfigError("Ollama is switched off", hint="Set ollama.enabled = true.")
        if not is_address(url):
            raise ConfigError(f"{url!r} is not an address such as {config.url}", hint=SHOW_SETTINGS)
        self.url, self._settings = url.rstrip("/"), config
        silence = min(read_timeout or config.read_timeout, config.request_timeout)
        try:
            super().__init__(
                self.url,
                transport=DeadlineTransport(httpx.URL(self.url), config.request_timeout),
                timeout=httpx.Timeout(silence, connect=config.connect_timeout),
                follow_redirects=False,
                trust_env=False,
            )
        except (ImportError, ValueError, OSError) as error:
            raise unusable_proxy(url, error) from error
        self._client.headers.pop("authorization", None)

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _make_sure_it_answers(self) -> None:
        # Embedding servers are all used in turn.
        shared = [url.rstrip("/") for url in self._settings.embedding_urls]
        make_sure_it_answers(self.url, "/api/version", self._settings.query_timeout, shared)

    def fetch(
        self, path: str, body: Mapping[str, Any] | None = None, seconds: float | None = None
    ) -> dict[str, Any]:
        """Return the JSON object that answers a GET, or with a `body` a POST.

        :param seconds: longest duration of the whole; without it the configured one.
        :raises ValueError: when the answer is no JSON object.
        :raises ollama.ResponseError, httpx.TransportError, builtins.ConnectionError: see
            `rag.clients.ollama.errors`.
        """
        self._make_sure_it_answers()
        method = "GET" if body is None else "POST"
        request: Callable[..., httpx.Response] = self._request_raw
        found = from_json(request(method, path, **_sent(body, seconds)).content)
        if not isinstance(found, dict):
            raise ValueError(f"a JSON object was due, not {type(found).__name__}")
        return found

    def stream(
        self, path: str, body: Mapping[str, Any], seconds: float | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield the JSON objects of a streamed answer; a line that says `error` raises."""
        self._make_sure_it_answers()
        lines: Iterator[dict[str, Any]] = self._request(
            dict, "POST", path, stream=True, **_sent(body, seconds)
        )
        return lines


def chat_response(
    model: str, text: str, thinking: str = "", tool_calls: Sequence[Mapping[str, Any]] = ()
) -> ChatResponse:
    """Return a piece of an answer in the form of Ollama's own client."""
    # Not validated: half a surrogate pair, which a model may write, is no text to pydantic.
    calls = [Message.ToolCall.model_validate(call) for call in tool_calls] or None
    message = Message.model_construct(
        role="assistant", content=text, thinking=thinking or None, tool_calls=calls
    )
    # ollama-haystack adds up the counts.
    return ChatResponse.model_construct(
        model=model, message=message, prompt_eval_count=0, eval_count=0
    )


def _sent(body: Mapping[str, Any] | None, seconds: float | None) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if body is not None:
        # Half a surrogate pair, which a broken note or argument may hold, is no UTF-8.
        arguments["content"] = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    if seconds is not None:
        arguments["extensions"] = {"seconds": seconds}
    return arguments
