"""The chat model as a Haystack component: ollama-haystack's, over our own transport.

Left to itself that one also forgets that an answer reached its limit, and sends no `num_ctx`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from haystack import component
from haystack.dataclasses import ChatMessage, StreamingCallbackT
from haystack.tools import ToolsType

from rag.clients.chat.answering import Delta
from rag.clients.chat.generator import CALL, ChatGenerator
from rag.clients.chat.reply import Call
from rag.clients.ollama.chat import ChatModel
from rag.clients.ollama.http_client import chat_response
from rag.config import OllamaConfig

# After ours, which imports the client without the environment's proxies.
from haystack_integrations.components.generators.ollama import (  # isort: skip
    OllamaChatGenerator,
)


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
