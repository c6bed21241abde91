"""Ollama's own client, bound to one configured address.

Left to itself it reads `OLLAMA_HOST`, sends `OLLAMA_API_KEY` to whatever it talks to, follows
redirects, lets `HTTP_PROXY` capture 127.0.0.1, and waits without end. Importing it makes a
client from the environment, which fails for a SOCKS proxy that nobody asked to use.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
from pydantic_core import from_json

from rag.clients.ollama.advice import advice
from rag.clients.servers import trouble
from rag.clients.servers.probe import make_sure_it_answers
from rag.clients.servers.trouble import (
    BUSY,
    CANNOT,
    TOO_LONG,
    BadVectors,
    Blame,
    Trouble,
    explain_silence,
)
from rag.config import OllamaConfig
from rag.config.servers import is_address
from rag.exceptions import SHOW_SETTINGS, ConfigError, ModelError, ModelMissingError, TooLongError
from rag.support.http_transport import DeadlineTransport, brief, is_loopback, unusable_proxy

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
            `rag.clients.ollama.http_client`.
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


# All that the layers below raise.
BELOW: tuple[type[Exception], ...] = (ResponseError, *trouble.BELOW)

# What web servers say of a path; Ollama's own 404 names the model.
_NO_SUCH_PAGE = re.compile(r"<|\bpage\b|\bfile\b|\bpath\b|\broute\b|^not found$", re.IGNORECASE)


def diagnose(
    error: Exception, server: str, model: str = "", setting: str = "ollama.url"
) -> Trouble:
    """Explain an exception of the layers below; it becomes the cause of the error returned.

    :param server: the address that was asked.
    :param model: the model that was asked for, or empty.
    :param setting: the setting that names the server.
    """
    trouble = _explain(error, server, model, setting)
    trouble.error.__cause__ = error
    return trouble


def _explain(error: Exception, server: str, model: str, setting: str) -> Trouble:
    if isinstance(error, ResponseError):
        return _refusal(error, server, model)
    if isinstance(error, BadVectors):
        hint = f"Try `ollama run {model} test`, or another ollama.embedding_model."
        return Trouble(ModelError(f"{model} at {server} {error}", server, hint=hint), Blame.UNCLEAR)
    if isinstance(error, (httpx.TransportError, httpx.StreamError, OSError)):
        return explain_silence(error, server, advice(setting))
    message = f"{server} answered with something that is not Ollama's"
    hint = f"Check {setting}: is another program, or a proxy, at this address?"
    details = brief(f"{type(error).__name__}: {error}")
    return Trouble(ModelError(message, server, details=details, hint=hint), Blame.UNCLEAR)


def _refusal(error: ResponseError, server: str, model: str) -> Trouble:
    """The server answered with an error: told by the status, and by words where it must be."""
    status, said = error.status_code, brief(error.error)
    if status == 404 and model and not _NO_SUCH_PAGE.search(error.error):
        missing = ModelMissingError(
            f"{server} has no model {model}", server, hint=f"`{_command(server)} pull {model}`"
        )
        return Trouble(missing, Blame.SERVER)
    if TOO_LONG.search(said) and (400 <= status < 501):
        text = f"the text is longer than {model or 'the model'} reads"
        hint = "Lower index.chunk_size, or raise the model's num_ctx."
        return Trouble(TooLongError(text, server, details=said, hint=hint), Blame.LENGTH)
    message, hint, blame = f"{server} answered with error {status}", "", Blame.UNCLEAR
    if status in (401, 403, 404, 405, 407) or 300 <= status < 400:
        hint = "Check ollama.url: it must be the address of Ollama itself."
        blame = Blame.SERVER
    elif status == 501 or (400 <= status < 500 and CANNOT.search(said)):
        message = f"{model or 'the model'} cannot do what was asked of it"
        hint = f"See `{_command(server)} show {model}`; name another model in rag.toml."
        blame = Blame.SERVER
    elif status in BUSY:
        message, blame = f"{server} is busy", Blame.BUSY
        hint = "Try again later, or lower ollama.max_in_flight."
    elif 400 <= status < 500:
        hint, blame = "See the log of `ollama serve`.", Blame.INPUT
    elif status < 0:
        message = f"{server} broke off with an error"
    hint = hint or "See the log of `ollama serve`; the machine may be short of memory."
    return Trouble(ModelError(message, server, details=said, hint=hint), blame)


def _command(server: str) -> str:
    return "ollama" if is_loopback(httpx.URL(server).host) else f"OLLAMA_HOST={server} ollama"


@contextmanager
def our_errors(server: str, model: str = "", setting: str = "ollama.url") -> Iterator[None]:
    """Raise what goes wrong inside as an error of ours, with its cause.

    :raises ConnectionError: or one of its subclasses.
    """
    try:
        yield
    except BELOW as error:
        raise diagnose(error, server, model, setting).error from error
