"""A chat model of a server: its answers piece by piece, and what becomes of one that breaks off."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any

from rag.clients.dialects import connect
from rag.clients.http_client import FAILURES, LONGEST_WAIT, Blame, ChatRequest, Delta, explain
from rag.clients.protocols import ModelInfo, Response
from rag.clients.servers import OLLAMA, Endpoint, endpoints, ollama_settings
from rag.config import ModelsConfig, OllamaConfig, RAGConfig
from rag.exceptions import TooLongError, UnfinishedError

Messages = str | Sequence[Mapping[str, Any]]
_OPEN, _CLOSE = "<think>", "</think>"


class ThinkSplitter:
    """Split a stream of text into answer and reasoning.

    Servers separate the reasoning of the models they know; others begin their answer with
    `<think>`. Only at the very beginning is it taken for a mark, so that an answer may write
    about it. Reasoning that never ends is all reasoning.
    """

    def __init__(self) -> None:
        self._held, self._given, self._is_answer = "", 0, False

    def feed(self, text: str, is_end: bool = False) -> tuple[str, str]:
        """Return what is now certain to be answer, and what is certain to be reasoning."""
        if self._is_answer:
            return text, ""
        self._held += text
        begun = self._held.lstrip()
        if not begun.startswith(_OPEN):
            self._is_answer = is_end or not _OPEN.startswith(begun)
            return self._held if self._is_answer else "", ""
        thought, mark, answer = begun[len(_OPEN) :].partition(_CLOSE)
        if not (mark or is_end):  # a mark may have begun
            begun_mark = max(n for n in range(len(_CLOSE)) if thought.endswith(_CLOSE[:n]))
            thought = thought[: len(thought) - begun_mark]
        new, self._given = thought[self._given :], len(thought)
        answer = answer.lstrip()  # blank lines between reasoning and answer are left out
        self._is_answer = bool(answer)
        return answer, new


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
        response: Response,
        *,
        format: str | Mapping[str, Any] | None = None,
        think: bool = False,
        options: Mapping[str, Any] | None = None,
        seconds: float | None = None,
    ) -> Generator[Delta, None, None]:
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
        client, window = self.client, self.window if self.client.sends_window else 0
        name = self.info.name
        asked = ChatRequest(name, messages, format, think, options or {}, window)
        body = client.chat_body(asked)
        response.num_ctx, response.model, response.server = window, name, client.url
        started = time.monotonic()
        until = started + (seconds or self.limits.request_timeout)
        try:
            with closing(self._deltas(body, until, response)) as deltas:
                for delta in deltas:
                    response.text += delta.text
                    response.thinking += delta.thinking
                    if any(delta):
                        yield delta
        except FAILURES as error:
            trouble = explain(error, client.endpoint, name)
            if trouble.blame is Blame.LENGTH:
                longest = f"the {window} tokens of " if window else ""
                raise TooLongError(
                    f"the prompt is longer than {longest}{name} at {client.url}",
                    client.url,
                    details=trouble.error.details,
                    hint=f"Lower ask.top_k, or {client.longer}.",
                ) from error
            if not (response.text or response.thinking):
                raise trouble.error  # noqa: B904 - it has its cause
            raise _unfinished(response, str(trouble.error), trouble.error.hint) from error
        finally:
            response.seconds = time.monotonic() - started
        if not response.finish_reason:
            hint = f"Ask again. {client.endpoint.log} if it happens again."
            raise _unfinished(response, "ended without saying that it is complete", hint)

    def _deltas(
        self, body: Mapping[str, Any], until: float, response: Response
    ) -> Generator[Delta, None, None]:
        """Yield the pieces of the answer; what the server says at its end goes into `response`."""
        splitter = ThinkSplitter()
        with (
            closing(self._events(body, until)) as events,
            closing(self.client.deltas(events, response)) as deltas,
        ):
            for delta in deltas:
                text, thinking = splitter.feed(delta.text)
                yield Delta(text, delta.thinking + thinking)
            yield Delta(*splitter.feed("", is_end=True))

    def _events(
        self, body: Mapping[str, Any], until: float
    ) -> Generator[dict[str, Any], None, None]:
        """Yield what the server streams; a request that fails before that is sent again."""
        client, retries = self.client, self.limits.retries
        for attempt in range(retries + 1):
            is_begun = False
            try:
                for event in client.stream(client.chat_path, body, until - time.monotonic()):
                    is_begun = True
                    yield event
                return
            except FAILURES as error:
                trouble = explain(error, client.endpoint)
                pause = max(self.backoff * 2**attempt, trouble.wait)
                is_late = pause > min(LONGEST_WAIT, until - time.monotonic())
                may_pass = trouble.blame in (Blame.BUSY, Blame.UNCLEAR)
                if is_begun or is_late or attempt == retries or not may_pass:
                    raise
            time.sleep(pause)

    def respond(
        self, messages: Messages, on_delta: Callable[[Delta], Any] | None = None, **arguments: Any
    ) -> Response:
        """Return the whole answer; the arguments and errors are those of `stream`."""
        response = Response()
        for delta in self.stream(messages, response, **arguments):
            if on_delta:
                on_delta(delta)
        return response

    def close(self) -> None:
        """Close the connection."""
        self.client.close()


def _unfinished(response: Response, why: str, hint: str) -> UnfinishedError:
    what = f"the answer of {response.model} broke off"
    return UnfinishedError(what, response.server, details=why, hint=hint, partial=response.text)


def generate_response(
    prompt: Messages,
    config: OllamaConfig | RAGConfig | None = None,
    *,
    model: str = "",
    on_delta: Callable[[Delta], Any] | None = None,
    **arguments: Any,
) -> str:
    """Return the answer of Ollama's configured chat model to a prompt, without its reasoning.

    :param on_delta: called with each piece as it arrives.
    :param arguments: `format`, `think`, `options` and `seconds` of `ChatModel.stream`.
    :raises ConfigError: when no chat model is configured; else as `ChatModel.stream`.
    """
    ollama = ollama_settings(config)
    [server] = endpoints(OLLAMA, "chat", ModelsConfig(ollama=ollama), model)
    with closing(ChatModel(server, ollama)) as chat:
        return chat.respond(prompt, on_delta, **arguments).text
