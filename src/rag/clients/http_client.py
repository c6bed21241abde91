"""An HTTP client of one server, at one address, and what goes wrong with that: who is to blame, and
what to do. Nothing else is ever contacted.

It follows no redirection, so that no key and no note gets to another host; it reads no environment
but for the proxy of another machine; every request has a deadline as a whole, and of an answer that
has no end only so much is read.
"""

from __future__ import annotations

import builtins
import json
import re
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

import httpx
from pydantic_core import from_json

from rag.clients.protocols import ModelInfo, Response
from rag.clients.servers import OLLAMA, Endpoint, check_answers
from rag.config import OllamaConfig
from rag.config.servers import are_addresses
from rag.exceptions import (
    SHOW_SETTINGS,
    ConfigError,
    ConnectionError,
    ModelError,
    ModelMissingError,
    RAGError,
    TooLongError,
    UnfinishedError,
)
from rag.support.http_transport import (
    DeadlineExceeded,
    DeadlineTransport,
    is_loopback,
    unusable_proxy,
)
from rag.text.messages import brief_reply

# What a server says that refuses a text or a prompt for its length,
_TOO_LONG = re.compile(
    r"context (length|size|window)|too (long|large|big)|exceed_context|longer than the context"
    r"|(input|prompt) length|max(imum)? (context|sequence)"
    r"|context_length_exceeded|less than [\d,]+ tokens|exceeds? .{0,40}\btokens|batch size",
    re.IGNORECASE,
)
# and texts for their number: text-embeddings-inference, OpenAI.
_TOO_MANY = re.compile(
    r"(?<!physical )batch size|too many inputs|inputs? (array|list) .*(long|large)",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model.{0,200}(not found|not exist|not loaded|unknown|is unavailable)|no models? (is )?loaded"
    r"|(unknown|invalid|no such) model|model_not_found",
    re.IGNORECASE | re.DOTALL,
)
_NO_SUCH_PATH = re.compile(r"unexpected endpoint|unknown (route|endpoint|path)", re.IGNORECASE)
_CANNOT = re.compile(r"(does|do) not support|not supported", re.IGNORECASE)
_BUSY = (408, 425, 429, 503)
LONGEST_WAIT = 60.0  # seconds: a server that asks for more is not waited for
_MOST_READ = 2000  # characters of an error that are looked at


class Blame(Enum):
    """Who is at fault, and so what may help."""

    INPUT = "input"  # what was sent: send something else
    LENGTH = "length"  # what was sent is too long: send less
    NUMBER = "number"  # too many texts were sent at once: send fewer
    BUSY = "busy"  # the server has too much to do: wait
    UNCLEAR = "unclear"  # try again, here or elsewhere
    SLOW = "slow"  # as unclear, but trying again takes as long again
    SERVER = "server"  # it will not do: another server may


OF_THE_INPUT = (Blame.INPUT, Blame.LENGTH, Blame.NUMBER)


class Trouble(NamedTuple):
    """One failure: our error, who is to blame, and how many seconds the server asks to wait."""

    error: RAGError
    blame: Blame
    wait: float = 0.0


class BadVectors(ValueError):
    """The vectors of an answer are too few, of another length, or no numbers."""


class NothingWritten(Exception):
    """An answer came to its end without a word.

    LM Studio answers a prompt so that is longer than the context its model is loaded with
    (lmstudio-bug-tracker, issue 2339).
    """


class Refusal(Exception):
    """A server answered with an error.

    :param status: of HTTP; 0 where the error came with an answer that was begun.
    :param text: what the server says to people, without the key; `codes` to programs.
    :param wait: how many seconds it asks to wait; `location`: where it sends to instead.
    """

    def __init__(
        self, status: int, text: str, codes: str = "", wait: float = 0.0, location: str = ""
    ) -> None:
        super().__init__(f"{status}: {brief_reply(text)}")
        self.status, self.text, self.words = status, text, f"{text} {codes}"
        self.wait, self.location = wait, location

    @property
    def is_for_length(self) -> bool:
        """Whether what was sent is too long, or too much at once."""
        if self.status in _BUSY:  # so many tokens a minute, and not at once
            return False
        return self.status == 413 or self.is_for_number or bool(_TOO_LONG.search(self.words))

    @property
    def is_for_number(self) -> bool:
        """Whether too many texts were sent at once."""
        return bool(_TOO_MANY.search(self.words))

    @property
    def is_for_model(self) -> bool:
        """Whether there is no such model."""
        return self.status in (0, 400, 404, 422) and bool(_NO_MODEL.search(self.words))


# All that a request raises. ValueError holds JSONDecodeError and UnicodeError; the last is that of
# a server that says nothing.
FAILURES: tuple[type[Exception], ...] = (
    *(Refusal, NothingWritten, httpx.HTTPError, httpx.StreamError, OSError),
    *(ValueError, TypeError, KeyError, AttributeError, RecursionError, ConnectionError),
)


def refusal_of(answer: Any, text: str, key: str, response: httpx.Response | None = None) -> Refusal:
    """Return the refusal that an answer with an error is; the key is never repeated.

    :param answer: its JSON, if it is any; `text`: the answer itself.
    :param response: its head; `None` where its status is that of success.
    """
    error = answer.get("error", answer) if isinstance(answer, Mapping) else answer
    message, codes = error if isinstance(error, str) else text, ""
    if isinstance(error, Mapping):
        words = [str(error[name]) for name in ("message", "detail") if error.get(name)]
        message = " ".join(words) or text
        codes = " ".join(str(error[name]) for name in ("code", "param", "type") if error.get(name))
    if key:
        message, codes = message.replace(key, "…"), codes.replace(key, "…")
    message, codes = message[:_MOST_READ], codes[:_MOST_READ]
    if response is None:
        return Refusal(0, message, codes)
    try:
        wait = max(0.0, min(float(response.headers.get("retry-after", "0")), 1e6))
    except ValueError:  # a date
        wait = 0.0
    location = response.headers.get("location", "") if response.is_redirect else ""
    return Refusal(response.status_code, message, codes, wait, brief_reply(location))


def explain(error: Exception, server: Endpoint, model: str = "") -> Trouble:
    """Explain one of `FAILURES`; it becomes the cause of the error returned.

    :param model: the name of the model that was asked, where it is not the configured one.
    """
    if isinstance(error, ConnectionError):
        return Trouble(error, Blame.SERVER)
    model = model or server.model
    if isinstance(error, Refusal):
        trouble = _explain_refusal(error, server, model)
    elif isinstance(error, (httpx.TransportError, httpx.StreamError, OSError)):
        trouble = _explain_silence(error, server)
    else:
        trouble = _explain_answer(error, server, model)
    trouble.error.__cause__ = error
    return trouble


def _explain_answer(error: Exception, server: Endpoint, model: str) -> Trouble:
    url = server.url
    details, blame = "", Blame.UNCLEAR
    if isinstance(error, NothingWritten):
        message, blame = f"{model} at {url} wrote nothing", Blame.INPUT
        hint = "The prompt may be longer than the context that the model is loaded with: lower "
        hint += "ask.top_k, or load it with a longer one (LM Studio: Context Length)."
    elif isinstance(error, BadVectors):
        message = f"{model} at {url} {error}"
        hint = f"Check that {model} is an embedding model, or set another {server.model_setting}."
    else:
        api = "Ollama's" if server.api == OLLAMA else "of OpenAI's API"
        message = f"{url} answered with something that is not {api}"
        hint = f"Check {server.url_setting}: is another program, or a proxy, at this address?"
        details = brief_reply(f"{type(error).__name__}: {error}")
    return Trouble(ModelError(message, url, details=details, hint=hint), blame)


def _explain_refusal(refusal: Refusal, server: Endpoint, model: str) -> Trouble:
    """Explain an error that the server answered with, by its status, and by its words where the
    status does not tell."""
    url, status, model = server.url, refusal.status, model or "the model"
    details, blame, kind = brief_reply(refusal.text), Blame.SERVER, ModelError
    message = f"{url} answered with error {status}"
    hint = f"Check {server.url_setting}: it must be the address of the model server itself."
    if status in (401, 403) and server.api != OLLAMA:
        wants = "refuses the API key" if server.key else "wants an API key, and none was sent"
        message, setting = f"{url} {wants}", f"{server.section}.api_key"
        hint = f"Name the environment variable that holds the key in {setting}."
        if variable := server.variable:
            hint = f"Set {variable} in the environment to the key: {setting} names it."
    elif refusal.is_for_model:
        return Trouble(missing(server, model, details=details), blame)
    elif refusal.is_for_length and status < 502:
        message, kind = f"the text is longer than {model} reads", TooLongError
        hint = "Lower index.chunk_size, or load the model with a longer context."
        blame = Blame.NUMBER if refusal.is_for_number else Blame.LENGTH
    elif 300 <= status < 400:
        to, details = f" to {refusal.location}" if refusal.location else "", ""
        message = f"{url} redirects{to}, which is not followed"
        hint = f"Set {server.url_setting} to the address that answers itself."
    elif status in (401, 403, 404, 405, 407) or _NO_SUCH_PATH.search(refusal.text):
        what = "embeddings" if server.section == "embedding" else "chat"
        message = f"{server.base} has no {what}: {message}"
    elif status == 501 or (400 <= status < 500 and _CANNOT.search(refusal.text)):
        message = f"{model} at {url} cannot do what was asked of it"
        hint = f"Set another {server.model_setting}, or start the server with what it names."
    elif status in _BUSY:
        wait, blame = refusal.wait, Blame.BUSY
        message = f"{url} asks to be asked again in {wait:,.0f} s" if wait else f"{url} is busy"
        hint = "Try again later, or lower ollama.max_in_flight."
    elif 400 <= status < 500:
        hint, blame = f"{server.log}.", Blame.INPUT
    else:
        hint, blame = f"{server.log}; the machine may be short of memory.", Blame.UNCLEAR
        message = message if status else f"{url} broke off with an error"
    return Trouble(kind(message, url, details=details, hint=hint), blame, refusal.wait)


def _explain_silence(error: Exception, server: Endpoint) -> Trouble:
    url, blame = server.url, Blame.UNCLEAR
    host = httpx.URL(url).host
    hint = server.start(is_loopback(host))
    if isinstance(error, DeadlineExceeded):
        message, blame = f"{url} took too long to answer", Blame.SLOW
        hint = "Raise ollama.request_timeout or ollama.query_timeout, or take a smaller model."
    elif isinstance(error, (httpx.ConnectTimeout, httpx.PoolTimeout)):
        message = f"{url} does not answer"
    elif isinstance(error, (httpx.TimeoutException, TimeoutError)):
        message, blame = f"{url} said nothing for too long", Blame.SLOW
        hint = "A model that takes long to load needs a longer ollama.read_timeout."
    elif _is_caused_by(error, socket.gaierror):
        message = f"no host of the name {host} was found"
    elif isinstance(error, (httpx.ConnectError, httpx.ProxyError, builtins.ConnectionError)):
        message = f"{server.kind} does not answer at {url}"
    else:
        message = f"{url} broke the connection"
        hint = f"{server.log}; the model may not fit into memory."
    # That a connection was refused is in the message.
    details = "" if _is_caused_by(error, ConnectionRefusedError) else brief_reply(str(error))
    return Trouble(ConnectionError(message, url, details=details, hint=hint), blame)


def missing(
    server: Endpoint, model: str, served: tuple[str, ...] = (), details: str = ""
) -> ModelMissingError:
    """Return the error of a model that a server does not have.

    :param served: the models that it has, as far as it tells.
    """
    message, setting = f"{server.url} has no model {model}", server.model_setting
    if server.api == OLLAMA:
        is_here = is_loopback(httpx.URL(server.url).host)
        command = "ollama" if is_here else f"OLLAMA_HOST={server.url} ollama"
        return ModelMissingError(message, server.url, hint=f"`{command} pull {model}`")
    hint = f"Load it there (LM Studio: Developer, Load model), or set {setting}."
    if served:
        names = ", ".join(served[:8]) + (f" and {len(served) - 8} more" if served[8:] else "")
        hint = f"Load it there, or set {setting} to one it has: {names}."
    return ModelMissingError(message, server.url, details=details, hint=hint)


# -- the client ----------------------------------------------------------------------------

DONE = {"[DONE]": True}  # the event that ends a stream of OpenAI's API
_LARGEST = 64 << 20  # bytes of an answer
_LONGEST_LINE = 16 << 20  # bytes of a piece of one
_MOST_OF_AN_ERROR = 64 << 10  # bytes that are read of an answer with an error
_OPEN, _CLOSE = "<think>", "</think>"
ChatMessages = Sequence[Mapping[str, Any]]
Messages = str | ChatMessages
Format = str | Mapping[str, Any] | None
Events = Iterable[Mapping[str, Any]]


class Delta(NamedTuple):
    """The next piece of an answer, and of the reasoning before it."""

    text: str
    thinking: str = ""


Deltas = Generator[Delta, None, None]


class ThinkSplitter:
    """Split a stream of text into answer and reasoning.

    Servers separate the reasoning of the models they know; others begin their answer with
    `<think>`. Only at the very beginning is it taken for a mark, so that an answer may write
    about it. Reasoning that never ends is all reasoning.
    """

    def __init__(self) -> None:
        self._held, self._given, self._is_answer = "", 0, False

    def feed(self, text: str, is_end: bool = False) -> Delta:
        """Return what is now certain to be answer, and what is certain to be reasoning."""
        if self._is_answer:
            return Delta(text)
        self._held += text
        begun = self._held.lstrip()
        if not begun.startswith(_OPEN):
            self._is_answer = is_end or not _OPEN.startswith(begun)
            return Delta(self._held if self._is_answer else "")
        thought, mark, answer = begun[len(_OPEN) :].partition(_CLOSE)
        if not (mark or is_end):  # a mark may have begun
            begun_mark = max(n for n in range(len(_CLOSE)) if thought.endswith(_CLOSE[:n]))
            thought = thought[: len(thought) - begun_mark]
        new, self._given = thought[self._given :], len(thought)
        answer = answer.lstrip()  # blank lines between reasoning and answer are left out
        self._is_answer = bool(answer)
        return Delta(answer, new)


class HttpClient(ABC):
    """A client of one server and one of its models, for several threads at once. Its two subclasses
    say what requests and replies look like; besides what is abstract here they have `vectors`,
    which raises `FAILURES`, and `look` and `describe_embedder`, which raise errors of ours.

    :param read_timeout: longest silence, in seconds; without it the configured one.
    :raises ConfigError: for an address, a key or a proxy that cannot be used.
    """

    chat_path: str
    sends_window: bool  # a request says how long prompt and answer may be
    longer: str  # what helps where a prompt is too long
    backoff = 0.5  # seconds before an answer that failed is asked for again; doubled with each

    def __init__(
        self, endpoint: Endpoint, limits: OllamaConfig, read_timeout: float | None = None
    ) -> None:
        self.endpoint, self.url, self.limits = endpoint, endpoint.url, limits
        if not are_addresses(self.url, 1, 1):
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

    @contextmanager
    def our_errors(self, model: str = "") -> Iterator[None]:
        """Raise what goes wrong inside as an error of ours, with its cause.

        :param model: the name of the model that is asked, where it is not the configured one.
        :raises ConnectionError: or one of its subclasses.
        """
        try:
            yield
        except FAILURES as error:
            raise explain(error, self.endpoint, model).error  # noqa: B904 - it has its cause

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

    # -- answers of a chat model -----------------------------------------------------------

    @cached_property
    def writer(self) -> ModelInfo:
        """What the server says of its chat model; it is asked once."""
        return self.find_writer(self.limits.query_timeout)

    @cached_property
    def window(self) -> int:
        """The tokens of prompt and answer together: what the model reads, up to the cap of the
        settings, which holds where the server does not tell."""
        cap = self.limits.max_context
        return min(self.context_of(self.writer, self.limits.query_timeout) or cap, cap)

    def answer(
        self,
        messages: Messages,
        response: Response,
        *,
        format: Format = None,
        think: bool = False,
        options: Mapping[str, Any] | None = None,
        seconds: float | None = None,
    ) -> Deltas:
        """Yield the pieces of the answer to a prompt, or to messages of `role` and `content`.

        What fails before its first word is sent again, as configured; what fails later is not.

        :param response: holds what has arrived so far at any time, after an error or Ctrl-C too.
            Without a `model` the server was not asked, without a `finish_reason` it is not whole.
        :param format: `json`, or the JSON schema that the answer must fit.
        :param options: such as `temperature`; `num_predict` is the longest answer, in tokens.
        :param seconds: longest duration of the whole; without it `ollama.request_timeout`.
        :raises TooLongError: when the prompt does not fit; `UnfinishedError` when the answer breaks
            off; another `ConnectionError` when the server cannot be asked, or lacks the model.
        """
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        window, name = self.window if self.sends_window else 0, self.writer.name
        body = self.chat_body(messages, format, think, options or {})
        response.num_ctx, response.model, response.server = window, name, self.url
        started, splitter = time.monotonic(), ThinkSplitter()
        until = started + (seconds or self.limits.request_timeout)
        try:
            with (
                closing(self._events(body, until)) as events,
                closing(self.deltas(events, response)) as deltas,
            ):
                for delta in deltas:
                    text, thinking = splitter.feed(delta.text)
                    yield from _kept(Delta(text, delta.thinking + thinking), response)
                yield from _kept(splitter.feed("", is_end=True), response)
        except FAILURES as error:
            trouble = explain(error, self.endpoint, name)
            if isinstance(trouble.error, TooLongError):
                longest = f"the {window} tokens of " if window else ""
                raise TooLongError(
                    f"the prompt is longer than {longest}{name} at {self.url}",
                    self.url,
                    details=trouble.error.details,
                    hint=f"Lower ask.top_k, or {self.longer}.",
                ) from error
            if not (response.text or response.thinking):
                raise trouble.error  # noqa: B904 - it has its cause
            raise _unfinished(response, str(trouble.error), trouble.error.hint) from error
        finally:
            response.seconds = time.monotonic() - started
        if not response.finish_reason:
            hint = f"Ask again. {self.endpoint.log} if it happens again."
            raise _unfinished(response, "ended without saying that it is complete", hint)

    def respond(
        self, messages: Messages, on_delta: Callable[[Delta], Any] | None = None, **arguments: Any
    ) -> Response:
        """Return the whole answer; the arguments and errors are those of `answer`."""
        response = Response()
        for delta in self.answer(messages, response, **arguments):
            if on_delta:
                on_delta(delta)
        return response

    def _events(
        self, body: Mapping[str, Any], until: float
    ) -> Generator[dict[str, Any], None, None]:
        """Yield what the server streams; a request that fails before that is sent again."""
        for attempt in range(self.limits.retries + 1):
            is_begun = False
            try:
                for event in self.stream(self.chat_path, body, until - time.monotonic()):
                    is_begun = True
                    yield event
                return
            except FAILURES as error:
                trouble = explain(error, self.endpoint)
                pause = max(self.backoff * 2**attempt, trouble.wait)
                is_late = pause > min(LONGEST_WAIT, until - time.monotonic())
                may_pass = trouble.blame in (Blame.BUSY, Blame.UNCLEAR)
                if is_begun or is_late or attempt == self.limits.retries or not may_pass:
                    raise
            time.sleep(pause)

    # -- what each API has otherwise -------------------------------------------------------

    @abstractmethod
    def chat_body(
        self, messages: ChatMessages, format: Format, think: bool, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return what is sent to `chat_path`; the parameters are those of `answer`."""

    @abstractmethod
    def deltas(self, events: Events, response: Response) -> Deltas:
        """Yield the pieces of an answer; what is said at its end goes into `response`."""

    @abstractmethod
    def find_writer(self, seconds: float) -> ModelInfo:
        """Return the chat model, for `auto` the first that writes text; in so many seconds in all,
        or an error of ours."""

    @abstractmethod
    def context_of(self, model: ModelInfo, seconds: float) -> int:
        """Return how many tokens a model reads; 0 where the server does not tell."""

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


def _kept(delta: Delta, response: Response) -> Iterator[Delta]:
    """Yield a piece of an answer that holds anything, and add it to what has arrived."""
    response.text += delta.text
    response.thinking += delta.thinking
    if any(delta):
        yield delta


def _unfinished(response: Response, why: str, hint: str) -> UnfinishedError:
    what = f"the answer of {response.model} broke off"
    return UnfinishedError(what, response.server, details=why, hint=hint, partial=response.text)


def _beginning(response: httpx.Response, most: int, cut: bool = False) -> bytes:
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


def _is_caused_by(error: BaseException | None, kind: type[BaseException]) -> bool:
    """Return whether an error, or what it came from, is of a kind."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:  # what comes of each other has no end
        seen.append(error)
        error = error.__cause__ or error.__context__
    return any(isinstance(cause, kind) for cause in seen)
