"""Answers of a chat model: streamed, within a deadline, and never cut without a word.

Ollama cuts a prompt longer than `num_ctx` silently, and so does its answer's end. Here `num_ctx`
is always sent, and `truncate` and `shift` are off, which recent versions answer with an error;
older ones ignore both, so compare `Response.prompt_tokens` with what you expected.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

from rag.clients.chat.reasoning_splitter import ThinkSplitter
from rag.clients.ollama.connection import ollama_settings
from rag.clients.ollama.errors import BELOW, diagnose
from rag.clients.ollama.http_client import OllamaClient
from rag.clients.ollama.model_info import ModelInfo, find_chat_model
from rag.clients.protocols import Response
from rag.clients.servers.trouble import Blame
from rag.config import AUTO, OllamaConfig, RAGConfig
from rag.exceptions import ConfigError, TooLongError, UnfinishedError

Messages = str | Sequence[Mapping[str, Any]]
Lines = Generator[dict[str, Any], None, None]
Format = str | Mapping[str, Any] | None


class Delta(NamedTuple):
    """The next piece of an answer, and of the reasoning before it, and the tools to call."""

    text: str
    thinking: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()


class Answering:
    """One answer on its way: iterate over its `Delta`s, then read `response`.

    `response` holds what has arrived so far at any time, after an error or Ctrl-C too; without
    a `finish_reason` it is not whole.
    """

    def __init__(self, lines: Callable[[], Lines], response: Response) -> None:
        self.response = response
        self._lines, self._started = lines, time.monotonic()
        self._text: list[str] = []
        self._thinking: list[str] = []

    def __iter__(self) -> Generator[Delta, None, None]:
        splitter = ThinkSplitter()
        try:
            with closing(self._lines()) as lines:
                for line in lines:
                    message = line.get("message") or {}
                    text, thinking = splitter.feed(message.get("content") or "")
                    yield from self._note(text, (message.get("thinking") or "") + thinking)
                    if calls := message.get("tool_calls"):
                        yield Delta("", tool_calls=tuple(calls))
                    if line.get("done"):
                        yield from self._note(*splitter.end())
                        return self._finish(line)
            yield from self._note(*splitter.end())
            raise self._broken("ended without saying that it is complete")
        except BELOW as error:
            trouble = diagnose(error, self.response.server, self.response.model, _SETTING)
            if trouble.blame is Blame.LENGTH:
                raise _prompt_too_long(trouble.error, self.response) from error
            if not self._begun:
                raise trouble.error from error
            raise self._broken(str(trouble.error), trouble.error.hint) from error
        finally:
            self.response = self._so_far()

    @property
    def _begun(self) -> bool:
        return bool(self._text or self._thinking)

    def _note(self, text: str, thinking: str) -> Iterator[Delta]:
        if text or thinking:
            self._text.append(text)
            self._thinking.append(thinking)
            yield Delta(text, thinking)

    def _finish(self, line: Mapping[str, Any]) -> None:
        self.response = replace(
            self.response,
            finish_reason=str(line.get("done_reason") or "stop"),
            prompt_tokens=line.get("prompt_eval_count"),
            tokens=line.get("eval_count"),
            load_seconds=(line.get("load_duration") or 0) / 1e9,
        )

    def _so_far(self) -> Response:
        return replace(
            self.response,
            text="".join(self._text),
            thinking="".join(self._thinking),
            seconds=time.monotonic() - self._started,
        )

    def _broken(self, why: str, hint: str = "") -> UnfinishedError:
        return UnfinishedError(
            f"the answer of {self.response.model} broke off",
            self.response.server,
            details=why,
            hint=hint or "Ask again; see the log of `ollama serve` if it happens again.",
            partial="".join(self._text),
        )


_SETTING = "ollama.generation_url"


def _prompt_too_long(error: Exception, response: Response) -> TooLongError:
    return TooLongError(
        f"the prompt is longer than the {response.num_ctx} tokens of {response.model}",
        response.server,
        details=getattr(error, "details", ""),
        hint="Lower ask.top_k, or raise ollama.max_context.",
    )


class ChatModel:
    """The configured chat model; keeps its connection from one answer to the next.

    :param model: another model of the same server; `auto` is the first that can chat.
    :param backoff: seconds before a request that failed is sent again; doubled with each.
    :raises ConfigError: when no chat model is configured.
    :raises ConnectionError: for `auto`, when the server cannot be asked or has none.
    """

    def __init__(
        self,
        config: OllamaConfig | RAGConfig | None = None,
        model: str = "",
        *,
        backoff: float = 0.5,
    ) -> None:
        self.config = ollama_settings(config)
        self.model = model or self.config.chat_model
        if not self.model:
            raise ConfigError("no chat model is configured", hint="Set ollama.chat_model.")
        self.client = OllamaClient(self.config.local_url, self.config)
        self.backoff = backoff
        self._info: ModelInfo | None = None
        if self.model == AUTO:
            try:
                self._info = find_chat_model(self.client, AUTO, self.config.query_timeout)
            except BaseException:
                self.client.close()
                raise
            self.model = self._info.name

    @property
    def info(self) -> ModelInfo:
        """What the server says of the model; it is asked once.

        :raises ConnectionError: when it cannot be asked.
        """
        if self._info is None:
            self._info = find_chat_model(self.client, self.model, self.config.query_timeout)
        return self._info

    @property
    def num_ctx(self) -> int:
        """The tokens of prompt and answer together: what the model reads, up to the cap.

        :raises ConnectionError: when the server cannot be asked.
        """
        return min(self.info.context or self.config.max_context, self.config.max_context)

    def stream(
        self,
        messages: Messages,
        *,
        format: Format = None,
        think: bool = False,
        options: Mapping[str, Any] | None = None,
        seconds: float | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> Answering:
        """Return the answer to `messages`, to iterate over.

        What fails before its first word is sent again, as configured; what fails later is not.

        :param messages: a prompt, or messages of `role` and `content`.
        :param format: `json`, or the JSON schema that the answer must fit.
        :param think: let the model reason first.
        :param options: Ollama's own, such as `temperature` and `num_predict`.
        :param seconds: longest duration of the whole; without it `ollama.request_timeout`.
        :param tools: what the model may call, as Ollama describes them.
        :raises TooLongError: while iterating, when the prompt does not fit.
        :raises UnfinishedError: while iterating, with the text so far.
        :raises ConnectionError: while iterating, and when the model's context is not known yet.
        """
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        body: dict[str, Any] = {
            "model": self.model,
            "messages": list(messages),
            "stream": True,
            "think": think,
            "truncate": False,
            "shift": False,
            "keep_alive": self.config.keep_alive,
            "options": {**(options or {}), "num_ctx": self.num_ctx},
        }
        body |= {key: value for key, value in (("format", format), ("tools", tools)) if value}
        limit = seconds or self.config.request_timeout
        response = Response(num_ctx=self.num_ctx, model=self.model, server=self.client.url)
        return Answering(lambda: self._lines(body, limit), response)

    def respond(
        self, messages: Messages, on_delta: Callable[[Delta], Any] | None = None, **arguments: Any
    ) -> Response:
        """Return the whole answer; the arguments and errors are those of `stream`."""
        answering = self.stream(messages, **arguments)
        for delta in answering:
            if on_delta:
                on_delta(delta)
        return answering.response

    def _lines(self, body: Mapping[str, Any], seconds: float) -> Lines:
        until = time.monotonic() + seconds
        for attempt in range(self.config.retries + 1):
            begun = False
            try:
                for line in self.client.stream("/api/chat", body, until - time.monotonic()):
                    begun = True
                    yield line
                return
            except BELOW as error:
                blame = diagnose(error, self.client.url, self.model).blame
                again = not begun and blame in (Blame.BUSY, Blame.UNCLEAR)
                pause = self.backoff * 2**attempt
                late = time.monotonic() + pause >= until
                if not again or late or attempt == self.config.retries:
                    raise
            time.sleep(pause)

    def close(self) -> None:
        """Close the connection."""
        self.client.close()


def generate_response(
    prompt: Messages,
    config: OllamaConfig | RAGConfig | None = None,
    *,
    model: str = "",
    on_delta: Callable[[Delta], Any] | None = None,
    **arguments: Any,
) -> str:
    """Return the configured chat model's answer to a prompt, without its reasoning.

    :param model: another model than the configured one.
    :param on_delta: called with each piece as it arrives.
    :param arguments: `format`, `think`, `options` and `seconds` of `ChatModel.stream`.
    :raises ConfigError: when no chat model is configured.
    :raises ConnectionError: and its subclasses, as `ChatModel.stream` says.
    """
    chat = ChatModel(config, model)
    try:
        return chat.respond(prompt, on_delta, **arguments).text
    finally:
        chat.close()
