"""A chat model of a server: its answers piece by piece, and what becomes of one that breaks off."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any

from rag.clients.connections import connect, ollama_settings
from rag.clients.errors import FAILURES, LONGEST_WAIT, Blame
from rag.clients.http_client import Delta, End
from rag.clients.protocols import ModelInfo, Response
from rag.clients.servers import OLLAMA, Endpoint, endpoints
from rag.config import ModelsConfig, OllamaConfig, RAGConfig
from rag.exceptions import TooLongError, UnfinishedError

Messages = str | Sequence[Mapping[str, Any]]
_OPEN, _CLOSE = "<think>", "</think>"
_BEGUN_CLOSE = re.compile("<(?:/(?:t(?:h(?:i(?:n(?:k)?)?)?)?)?)?$")


class ThinkSplitter:
    """Split a stream of text into answer and reasoning.

    Servers separate the reasoning of the models they know; others begin their answer with
    `<think>`. Only at the very beginning is it taken for a mark, so that an answer may write
    about it. Reasoning that never ends is all reasoning.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state = "start"

    def feed(self, text: str, is_end: bool = False) -> tuple[str, str]:
        """Return what is now certain to be answer, and what is certain to be reasoning."""
        held, self._held, thought = self._held + text, "", ""
        if self._state == "start":
            begun = held.lstrip()
            if begun.startswith(_OPEN):
                self._state, held = "thinking", begun[len(_OPEN) :]
            elif is_end or not _OPEN.startswith(begun):
                self._state = "answer"
            else:
                self._held = held
                return "", ""
        if self._state == "thinking":
            thought, mark, held = held.partition(_CLOSE)
            if not mark:
                part = None if is_end else _BEGUN_CLOSE.search(thought)
                cut = part.start() if part else len(thought)
                self._held = thought[cut:]
                return "", thought[:cut]
            self._state = "gap"
        if self._state == "gap":  # the blank lines between reasoning and answer are left out
            held = held.lstrip()
            self._state = "answer" if held else "gap"
        return held, thought


class ChatModel:
    """A chat model of one server; keeps its connection from one answer to the next.

    A `ConnectionError` says that the server cannot be asked, or does not have the model.

    :param backoff: seconds before a request that failed is sent again; doubled with each.
    :raises ConfigError: when no server or model is configured, or the key cannot be sent.
    """

    def __init__(self, server: Endpoint, limits: OllamaConfig, backoff: float = 0.5) -> None:
        server.check()
        self.limits, self.backoff = limits, backoff
        self.client = connect(server, limits)

    @cached_property
    def info(self) -> ModelInfo:
        """What the server says of the model; it is asked once."""
        return self.client.find_writer(self.limits.query_timeout)

    @cached_property
    def window(self) -> int:
        """The tokens of prompt and answer together: what the model reads, up to the cap of the
        settings, which holds where the server does not tell."""
        cap = self.limits.max_context
        return min(self.client.context_of(self.info, self.limits.query_timeout) or cap, cap)

    def stream(
        self,
        messages: Messages,
        *,
        format: str | Mapping[str, Any] | None = None,
        think: bool = False,
        options: Mapping[str, Any] | None = None,
        seconds: float | None = None,
    ) -> Answering:
        """Return the answer to `messages`, to iterate over.

        What fails before its first word is sent again, as configured; what fails later is not.

        :param messages: a prompt, or messages of `role` and `content`.
        :param format: `json`, or the JSON schema that the answer must fit.
        :param think: let the model reason first.
        :param options: such as `temperature`; `num_predict` is the longest answer, in tokens.
        :param seconds: longest duration of the whole; without it `ollama.request_timeout`.
        :raises TooLongError: while iterating, when the prompt does not fit.
        :raises UnfinishedError: while iterating, with the text so far.
        :raises ConnectionError: while iterating, and when the server does not have the model.
        """
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        window = self.window if self.client.sends_window else 0
        name = self.info.name
        body = self.client.chat_body(name, messages, format, think, options or {}, window)
        response = Response(num_ctx=window, model=name, server=self.client.url)
        return Answering(self, body, response, seconds or self.limits.request_timeout)

    def respond(
        self, messages: Messages, on_delta: Callable[[Delta], Any] | None = None, **arguments: Any
    ) -> Response:
        """Return the whole answer; the arguments and errors are those of `stream`."""
        answering = self.stream(messages, **arguments)
        for delta in answering:
            if on_delta:
                on_delta(delta)
        return answering.response

    def close(self) -> None:
        """Close the connection."""
        self.client.close()


class Answering:
    """One answer on its way: iterate over its `Delta`s, then read `response`.

    `response` holds what has arrived so far at any time, after an error or Ctrl-C too; without
    a `finish_reason` it is not whole.
    """

    def __init__(
        self, chat: ChatModel, body: Mapping[str, Any], response: Response, seconds: float
    ) -> None:
        self.response = response
        self._chat, self._client, self._body = chat, chat.client, body
        self._until = time.monotonic() + seconds

    def __iter__(self) -> Generator[Delta, None, None]:
        response, started = self.response, time.monotonic()
        try:
            with closing(self._deltas()) as deltas:
                for delta in deltas:
                    response.text += delta.text
                    response.thinking += delta.thinking
                    if any(delta):
                        yield delta
        except FAILURES as error:
            trouble = self._client.explain(error, response.model)
            if trouble.blame is Blame.LENGTH:
                window = f"the {response.num_ctx} tokens of " if response.num_ctx else ""
                raise TooLongError(
                    f"the prompt is longer than {window}{response.model} at {response.server}",
                    response.server,
                    details=trouble.error.details,
                    hint=f"Lower ask.top_k, or {self._client.longer}.",
                ) from error
            if not (response.text or response.thinking):
                raise trouble.error  # noqa: B904 - it has its cause
            raise self._broken(str(trouble.error), trouble.error.hint) from error
        finally:
            response.seconds = time.monotonic() - started
        if not response.finish_reason:
            log = self._client.endpoint.log
            hint = f"Ask again. {log} if it happens again."
            raise self._broken("ended without saying that it is complete", hint)

    def _deltas(self) -> Generator[Delta, None, None]:
        """Yield the pieces of the answer; what the server says at its end goes into `response`."""
        splitter = ThinkSplitter()
        with closing(self._events()) as events, closing(self._client.pieces(events)) as pieces:
            for piece in pieces:
                if isinstance(piece, End):
                    vars(self.response).update(piece._asdict())
                    break
                text, thinking = splitter.feed(piece.text)
                yield Delta(text, piece.thinking + thinking)
            yield Delta(*splitter.feed("", is_end=True))

    def _events(self) -> Generator[dict[str, Any], None, None]:
        """Yield what the server streams; a request that fails before that is sent again."""
        client, retries = self._client, self._chat.limits.retries
        for attempt in range(retries + 1):
            is_begun = False
            try:
                left = self._until - time.monotonic()
                for event in client.stream(client.chat_path, self._body, left):
                    is_begun = True
                    yield event
                return
            except FAILURES as error:
                trouble = client.explain(error)
                pause = max(self._chat.backoff * 2**attempt, trouble.wait)
                is_late = pause > min(LONGEST_WAIT, self._until - time.monotonic())
                may_pass = trouble.blame in (Blame.BUSY, Blame.UNCLEAR)
                if is_begun or is_late or attempt == retries or not may_pass:
                    raise
            time.sleep(pause)

    def _broken(self, why: str, hint: str) -> UnfinishedError:
        return UnfinishedError(
            f"the answer of {self.response.model} broke off",
            self.response.server,
            details=why,
            hint=hint,
            partial=self.response.text,
        )


def generate_response(
    prompt: Messages,
    config: OllamaConfig | RAGConfig | None = None,
    *,
    model: str = "",
    on_delta: Callable[[Delta], Any] | None = None,
    **arguments: Any,
) -> str:
    """Return the answer of Ollama's configured chat model to a prompt, without its reasoning.

    :param model: another model than the configured one.
    :param on_delta: called with each piece as it arrives.
    :param arguments: `format`, `think`, `options` and `seconds` of `ChatModel.stream`.
    :raises ConfigError: when no chat model is configured.
    :raises ConnectionError: and its subclasses, as `ChatModel.stream` says.
    """
    ollama = ollama_settings(config)
    [server] = endpoints(OLLAMA, "chat", ModelsConfig(ollama=ollama), model)
    with closing(ChatModel(server, ollama)) as chat:
        return chat.respond(prompt, on_delta, **arguments).text
