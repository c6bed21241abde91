"""An HTTP client of one server, at one address: nothing else is ever contacted.

It follows no redirection, so that no key gets to another host; it reads no environment but for the
proxy of another machine; and every request has a deadline as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import httpx
from pydantic_core import from_json

from rag.clients.openai.endpoint import Endpoint
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
from rag.exceptions import ModelError, ModelMissingError, RAGError, TooLongError
from rag.support.http_transport import DeadlineTransport, brief, unusable_proxy

_MOST_SAID = 2000  # characters of what a server says that are looked at
# text-embeddings-inference: "batch size 64 > maximum allowed batch size 32".
_TOO_MANY = re.compile(r"batch size|too many inputs|inputs? (array|list) .*(long|large)", re.I)
_NO_MODEL = re.compile(
    r"model.{0,200}(not found|not exist|not loaded|unknown|is unavailable)|no models? (is )?loaded"
    r"|(unknown|invalid|no such) model|model_not_found",
    re.IGNORECASE | re.DOTALL,
)
_NO_SUCH_PATH = re.compile(r"unexpected endpoint|unknown (route|endpoint|path)", re.IGNORECASE)


class Refusal(Exception):
    """A server answered with an error.

    :param status: of HTTP; 0 where the error came with an answer that was begun.
    :param said: what the server says, without the key.
    :param codes: what else it says, for programs.
    :param wait: how many seconds it asks to wait.
    :param location: where it sends to instead.
    """

    def __init__(
        self, status: int, said: str, codes: str = "", wait: float = 0.0, location: str = ""
    ) -> None:
        super().__init__(f"{status}: {brief(said)}")
        self.status, self.said, self.words = status, said, f"{said} {codes}"
        self.wait, self.location = wait, location

    @property
    def is_for_length(self) -> bool:
        """Whether what was sent is too long, or too much at once."""
        if self.status in BUSY:  # so many tokens a minute, and not at once
            return False
        return self.status == 413 or bool(TOO_LONG.search(self.words) or self.is_for_count)

    @property
    def is_for_count(self) -> bool:
        """Whether too many texts were sent at once."""
        return bool(_TOO_MANY.search(self.words)) and "physical batch size" not in self.words

    @property
    def is_for_model(self) -> bool:
        """Whether there is no such model."""
        return self.status in (0, 400, 404, 422) and bool(_NO_MODEL.search(self.words))


class NothingWritten(Exception):
    """An answer came to its end without a word.

    LM Studio answers a prompt so that is longer than the context its model is loaded with
    (lmstudio-bug-tracker, issue 2339).
    """


# All that the layers below raise.
BELOW: tuple[type[Exception], ...] = (Refusal, NothingWritten, *trouble.BELOW)


def what_it_says(answer: Any, text: str, key: str) -> tuple[str, str]:
    """Return what a server says in an answer with an error: for people, and for programs.

    :param answer: the JSON of it, if it is any.
    :param text: the answer itself.
    :param key: which is never repeated.
    """
    error = answer.get("error", answer) if isinstance(answer, Mapping) else answer
    said, codes = error if isinstance(error, str) else text, ""
    if isinstance(error, Mapping):
        found = [str(error[name]) for name in ("message", "detail") if error.get(name)]
        said = " ".join(found) or text
        codes = " ".join(str(error[name]) for name in ("code", "param", "type") if error.get(name))
    if key:
        said, codes = said.replace(key, "…"), codes.replace(key, "…")
    return said[:_MOST_SAID], codes[:_MOST_SAID]


def refused(response: httpx.Response, answer: Any, text: str, key: str) -> Refusal:
    """Return the refusal that an answer with an error is; the arguments are those of
    `what_it_says`."""
    said, codes = what_it_says(answer, text, key)
    location = response.headers.get("location", "") if response.is_redirect else ""
    wait = _wait(response.headers)
    return Refusal(response.status_code, said, codes, wait, brief(location))


def _wait(headers: httpx.Headers) -> float:
    """Return the seconds of `Retry-After`; of a date, and of nonsense, none."""
    try:
        return max(0.0, min(float(headers.get("retry-after", "0")), 1e6))
    except ValueError:
        return 0.0


def diagnose(error: Exception, endpoint: Endpoint, model: str = "") -> Trouble:
    """Explain an exception of the layers below; it becomes the cause of the error returned."""
    found = _explain(error, endpoint, model or endpoint.model)
    found.error.__cause__ = error
    return found


def _explain(error: Exception, endpoint: Endpoint, model: str) -> Trouble:
    server = endpoint.url
    if isinstance(error, Refusal):
        return _refusal(error, endpoint, model)
    if isinstance(error, NothingWritten):
        hint = "The prompt may be longer than the context that the model is loaded with: lower "
        hint += "ask.top_k, or load it with a longer one (LM Studio: Context Length)."
        message = f"{model} at {server} wrote nothing"
        return Trouble(ModelError(message, server, hint=hint), Blame.INPUT)
    if isinstance(error, BadVectors):
        hint = f"Check that {model} is an embedding model, or set another {endpoint.section}.model."
        return Trouble(ModelError(f"{model} at {server} {error}", server, hint=hint), Blame.UNCLEAR)
    if isinstance(error, (httpx.TransportError, httpx.StreamError, OSError)):
        return explain_silence(error, server, endpoint.advice)
    message = f"{server} answered with something that is not of OpenAI's API"
    hint = f"Check {endpoint.section}.url: is another program, or a proxy, at this address?"
    details = brief(f"{type(error).__name__}: {error}")
    return Trouble(ModelError(message, server, details=details, hint=hint), Blame.UNCLEAR)


def _refusal(refusal: Refusal, endpoint: Endpoint, model: str) -> Trouble:
    """The server answered with an error: told by the status, and by words where it must be."""
    server, status, said = endpoint.url, refusal.status, refusal.said
    error: RAGError
    if status in (401, 403):
        got = "refuses the API key" if endpoint.key else "wants an API key, and none was sent"
        error = _error(f"{server} {got}", endpoint, said, endpoint.explain_no_key())
        return Trouble(error, Blame.SERVER)
    if refusal.is_for_model:
        return Trouble(missing(endpoint, model, said=said), Blame.SERVER)
    if refusal.is_for_length and status < 502:
        blame = Blame.COUNT if refusal.is_for_count else Blame.LENGTH
        text = f"the text is longer than {model} at {server} reads"
        hint = "Lower index.chunk_size, or load the model with a longer context."
        return Trouble(TooLongError(text, server, details=brief(said), hint=hint), blame)
    if 300 <= status < 400:
        to = f" to {refusal.location}" if refusal.location else ""
        hint = f"Set {endpoint.section}.url to the address that answers itself."
        error = _error(f"{server} redirects{to}, which is not followed", endpoint, "", hint)
        return Trouble(error, Blame.SERVER)
    if status in (404, 405, 407) or _NO_SUCH_PATH.search(said):
        what = "embeddings" if endpoint.section == "embedding" else "chat"
        message = f"{endpoint.base} has no {what}: {server} answered with error {status}"
        hint = f"Check {endpoint.section}.url: it must be a server of OpenAI's API with {what}."
        return Trouble(_error(message, endpoint, said, hint), Blame.SERVER)
    return _failure(refusal, endpoint, model)


def _failure(refusal: Refusal, endpoint: Endpoint, model: str) -> Trouble:
    """What is left: the server has no time, does not like what was sent, or has failed."""
    server, status, said = endpoint.url, refusal.status, refusal.said
    message, blame = f"{server} answered with error {status}", Blame.UNCLEAR
    hint = "See the log of the server; the machine may be short of memory."
    if status == 501 or (400 <= status < 500 and CANNOT.search(said)):
        message, blame = f"{model} at {server} cannot do what was asked of it", Blame.SERVER
        hint = f"Set another {endpoint.section}.model, or start the server with what it names."
    elif status in BUSY:
        message, blame = f"{server} is busy", Blame.BUSY
        hint = "Try again later, or lower ollama.max_in_flight."
        if refusal.wait:
            message = f"{server} asks to be asked again in {refusal.wait:,.0f} s"
    elif 400 <= status < 500:
        hint, blame = "See the log of the server.", Blame.INPUT
    elif not status:
        message = f"{server} broke off with an error"
    return Trouble(_error(message, endpoint, said, hint), blame, refusal.wait)


def _error(message: str, endpoint: Endpoint, said: str, hint: str) -> ModelError:
    return ModelError(message, endpoint.url, details=brief(said), hint=hint)


def missing(
    endpoint: Endpoint, model: str, served: tuple[str, ...] = (), said: str = ""
) -> ModelMissingError:
    """Return the error of a model that a server does not have.

    :param served: the models that it has, as far as it tells.
    """
    message, setting = f"{endpoint.url} has no model {model}", f"{endpoint.section}.model"
    if not served:
        load = f"Load it there (LM Studio: Developer, Load model), or set {setting}."
        return ModelMissingError(
            message,
            endpoint.url,
            details=brief(said),
            hint=load if said else "See `rag doctor`.",
        )
    names = ", ".join(served[:8]) + (f" and {len(served) - 8} more" if len(served) > 8 else "")
    return ModelMissingError(
        message, endpoint.url, hint=f"Load it there, or set {setting} to one it has: {names}."
    )


T = TypeVar("T")
Body = dict[str, Any]

_ABSENT: dict[str, Any] = {}
_REFUSALS = (400, 415, 422, 500, 501)
# What stands for a field that was refused, one after the other.
_INSTEAD: dict[str, list[Callable[[Any], Body]]] = {
    "encoding_format": [lambda _: _ABSENT],
    "stream_options": [lambda _: _ABSENT],
    "chat_template_kwargs": [lambda _: _ABSENT],
    "reasoning_effort": [lambda _: _ABSENT],
    "temperature": [lambda _: _ABSENT],
    "max_tokens": [lambda value: {"max_completion_tokens": value}, lambda _: _ABSENT],
    "response_format": [
        lambda _: {"response_format": {"type": "json_object"}},
        lambda _: _ABSENT,
    ],
}
# How servers call a field, where not by its name.
_CALLED = {"reasoning_effort": ("reasoning_effort", "reasoning value", "think value")}
# Those that a server may mean though it names none.
_UNNAMED = ("response_format", "encoding_format")


class Dialect:
    """What one server takes of the fields that not all take."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def send(self, body: Mapping[str, Any], send: Callable[[Body], T]) -> T:
        """Return what `send` makes of a request; where a field is refused, of one without it.

        :raises Refusal: when the server refuses for another reason.
        """
        tried = dict(self._known)
        while True:
            try:
                made = send(_said(body, tried))
            except Refusal as refusal:
                field = _blamed(refusal, body, tried)
                if not field:
                    raise
                tried[field] = tried.get(field, 0) + 1
            else:
                self._known.update(tried)
                return made


def _said(body: Mapping[str, Any], tried: Mapping[str, int]) -> Body:
    said: Body = {}
    for field, value in body.items():
        step = tried.get(field, 0)
        said |= _INSTEAD[field][step - 1](value) if step else {field: value}
    return said


def _blamed(refusal: Refusal, body: Mapping[str, Any], tried: Mapping[str, int]) -> str:
    """Return the field that a server refuses, as far as it can be told; else ""."""
    if refusal.status not in _REFUSALS or refusal.is_for_length or refusal.is_for_model:
        return ""
    left = [f for f, steps in _INSTEAD.items() if f in body and tried.get(f, 0) < len(steps)]
    said = refusal.words.lower()
    for field in left:
        if any(name in said for name in _CALLED.get(field, (field,))):
            return field
    if refusal.status in (400, 415, 422):
        return next((field for field in _UNNAMED if field in left), "")
    return ""


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
