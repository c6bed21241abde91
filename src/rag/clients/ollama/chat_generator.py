"""The chat model as a Haystack component: ollama-haystack's, over our own transport.

Left to itself that one also forgets that an answer reached its limit, and sends no `num_ctx`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from haystack import component
from haystack.dataclasses import ChatMessage, StreamingCallbackT
from haystack.tools import ToolsType
from haystack_integrations.components.generators.ollama import OllamaChatGenerator

from rag.clients.chat.answering import Answering, Call, Delta, End, Failing, Pieces, sent_again
from rag.clients.chat.generator import CALL, AnswerGeneratorBase, ChatGenerator
from rag.clients.ollama.http_client import BELOW, OllamaClient, chat_response, diagnose
from rag.clients.ollama.model_info import ModelInfo, find_chat_model, ollama_settings
from rag.clients.protocols import Response
from rag.config import AUTO, OllamaConfig, RAGConfig
from rag.exceptions import ConfigError, RAGError, TooLongError

Messages = str | Sequence[Mapping[str, Any]]
Format = str | Mapping[str, Any] | None


def _pieces(lines: Iterable[Mapping[str, Any]]) -> Pieces:
    """Yield the lines of /api/chat as pieces of an answer."""
    for line in lines:
        message = line.get("message") or {}
        yield Delta(
            message.get("content") or "",
            message.get("thinking") or "",
            tuple(message.get("tool_calls") or ()),
        )
        if line.get("done"):
            yield End(
                str(line.get("done_reason") or "stop"),
                line.get("prompt_eval_count"),
                line.get("eval_count"),
                (line.get("load_duration") or 0) / 1e9,
            )
            return


_SETTING = "ollama.generation_url"


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
        self.backoff, self.query_timeout = backoff, self.config.query_timeout
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
    def name(self) -> str:
        """The name of the model that is asked, as `info` has it."""
        return self.info.name

    @property
    def window(self) -> int:
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
            "options": {**(options or {}), "num_ctx": self.window},
        }
        body |= {key: value for key, value in (("format", format), ("tools", tools)) if value}
        limit = seconds or self.config.request_timeout
        response = Response(num_ctx=self.window, model=self.model, server=self.client.url)
        failing = self._failing()

        def pieces() -> Pieces:
            lines = sent_again(
                lambda left: self.client.stream("/api/chat", body, left),
                *(failing, limit, self.config.retries, self.backoff),
            )
            with closing(lines):
                yield from _pieces(lines)

        return Answering(pieces, response, failing)

    def respond(
        self, messages: Messages, on_delta: Callable[[Delta], Any] | None = None, **arguments: Any
    ) -> Response:
        """Return the whole answer; the arguments and errors are those of `stream`."""
        answering = self.stream(messages, **arguments)
        for delta in answering:
            if on_delta:
                on_delta(delta)
        return answering.response

    def _failing(self) -> Failing:
        return Failing(
            BELOW,
            lambda error: diagnose(error, self.client.url, self.model, _SETTING),
            self._too_long,
            "Ask again; see the log of `ollama serve` if it happens again.",
        )

    def _too_long(self, error: RAGError) -> TooLongError:
        return TooLongError(
            f"the prompt is longer than the {self.window} tokens of {self.model}",
            self.client.url,
            details=error.details,
            hint="Lower ask.top_k, or raise ollama.max_context.",
        )

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


# After ours, which imports the client without the environment's proxies.


@component
class OllamaGenerator(ChatGenerator, OllamaChatGenerator):  # type: ignore[misc]
    """Let the chat model answer messages.

    :param config: the `[ollama]` settings; without them those in force.
    :param model: another model than the configured one.
    :param think: let the model reason first.
    :param response_format: `json`, or the JSON schema that answers must fit.
    :param generation_kwargs: Ollama's options, such as `temperature`.
    :param timeout: seconds for a whole answer; without it `ollama.request_timeout`.
    :param tools: what the model may call.
    :raises ValueError: for a timeout that is not positive.
    """

    timeout: float | None  # type: ignore[assignment]
    generation_kwargs: dict[str, Any]

    # Not `super()`: Haystack makes a class of its own of each component.
    def __init__(
        self,
        config: OllamaConfig | None = None,
        model: str = "",
        think: bool = False,
        response_format: str | dict[str, Any] | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        timeout: float | None = None,
        tools: ToolsType | None = None,
    ) -> None:
        if timeout is not None and not timeout > 0:
            raise ValueError(f"timeout must be positive, not {timeout}")
        OllamaChatGenerator.__init__(
            self,
            model,
            generation_kwargs=generation_kwargs,
            tools=tools,
            response_format=response_format,  # type: ignore[arg-type]
            think=think,
        )
        self.config, self.timeout = config, timeout
        self._chat_model: ChatModel | None = None

    @property
    def chat(self) -> ChatModel:
        """The connection to the model, opened on first use.

        :raises ConfigError: when no chat model is configured.
        :raises ConnectionError: when a model is to be picked and the server does not answer.
        """
        if self._chat_model is None:
            self._chat_model = ChatModel(self.config, self.model)
        return self._chat_model

    def _generate(
        self,
        messages: list[ChatMessage] | str,
        streaming_callback: StreamingCallbackT | None,
        options: dict[str, Any],
        tools: ToolsType | None,
    ) -> dict[str, Any]:
        self._client = self.chat.client
        return OllamaChatGenerator.run(
            self, messages, options, tools, streaming_callback=streaming_callback
        )

    def _chat(  # type: ignore[override]
        self,
        *,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None,
        is_stream: bool,
        generation_kwargs: dict[str, Any],
    ) -> Iterator[Any]:
        call: Call = generation_kwargs[CALL]
        options = {key: value for key, value in generation_kwargs.items() if key != CALL}
        answering = self.chat.stream(
            messages,
            format=call.format,
            think=bool(self.think if call.think is None else call.think),
            options=options,
            seconds=self.timeout,
            tools=tools,
        )
        return map(partial(_chunk, answering.response.model), call.deltas(answering))


def _chunk(model: str, delta: Delta) -> Any:
    """Return a piece of an answer as Ollama's own client does."""
    return chat_response(model, *delta)


@component
class AnswerGenerator(AnswerGeneratorBase, OllamaGenerator):  # type: ignore[misc]
    """Let the chat model answer, with what goes wrong as a value; see `AnswerGeneratorBase`."""

    def _reasons(self) -> bool:
        """Return whether the model is to reason first: it is asked for, and the model can."""
        return bool(self.think) and "thinking" in (self.chat.info.capabilities or ("thinking",))

    def _model_asked(self) -> str:
        return self._chat_model.model if self._chat_model else ""
