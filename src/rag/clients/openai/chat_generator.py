"""The chat model as a Haystack component: Haystack's own, over our own transport.

Left to itself that one also leaves out the reasoning, follows redirections with the key, and reads
OPENAI_* of the environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from haystack import component
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.generators.chat.openai import (
    _convert_chat_completion_chunk_to_streaming_chunk,
)
from haystack.components.generators.utils import _convert_streaming_chunks_to_chat_message
from haystack.dataclasses import (
    ChatMessage,
    ComponentInfo,
    ReasoningContent,
    StreamingCallbackT,
    StreamingChunk,
    SyncStreamingCallbackT,
)
from haystack.tools import ToolsType
from haystack.utils import Secret
from openai.types.chat import ChatCompletionChunk

from rag.clients.chat.answering import Delta
from rag.clients.chat.generator import CALL, ChatGenerator
from rag.clients.chat.reply import Call
from rag.clients.openai.chat_model import ChatModel
from rag.config import ModelsConfig, models_config

_NO_KEY = Secret.from_env_var("RAG_NO_KEY", strict=False)  # keys are read where they are sent


@component
class OpenAIGenerator(ChatGenerator, OpenAIChatGenerator):  # type: ignore[misc]
    """Let the chat model answer messages.

    :param config: the sections of providers, of which `[chat]` names server and model.
    :param model: another model than the configured one.
    :param think: let the model reason first.
    :param response_format: `json`, or the JSON schema that answers must fit.
    :param generation_kwargs: options of the API, such as `temperature`; `num_predict` is the
        longest answer, in tokens.
    :param timeout: seconds for a whole answer; without it `ollama.request_timeout`.
    :param tools: what the model may call.
    :raises ValueError: for a timeout that is not positive.
    """

    # Not `super()`: Haystack makes a class of its own of each component.
    def __init__(
        self,
        config: ModelsConfig | None = None,
        model: str = "",
        think: bool = False,
        response_format: str | dict[str, Any] | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        timeout: float | None = None,
        tools: ToolsType | None = None,
    ) -> None:
        if timeout is not None and not timeout > 0:
            raise ValueError(f"timeout must be positive, not {timeout}")
        OpenAIChatGenerator.__init__(
            self, _NO_KEY, model, generation_kwargs=generation_kwargs, timeout=timeout, tools=tools
        )
        self.config = models_config(config)
        self.think, self.response_format = think, response_format
        self._chat_model: ChatModel | None = None

    @property
    def chat(self) -> ChatModel:
        """The connection to the model, opened on first use.

        :raises ConfigError: when no server or model is configured, or the key cannot be sent.
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
        self.warm_up()
        return OpenAIChatGenerator.run(
            self, messages, streaming_callback or _heard_by_nobody, options, tools=tools
        )

    def _create(self, **arguments: Any) -> Iterator[Delta]:
        """Begin an answer: what OpenAI's client does in Haystack's code."""
        call: Call = arguments.pop(CALL)
        options = {
            name: value
            for name, value in arguments.items()
            if name not in ("model", "messages", "n", "stream", "tools")
        }
        answering = self.chat.stream(
            arguments["messages"],
            format=call.format,
            think=self.think if call.think is None else call.think,
            options=options,
            seconds=self.timeout,
            tools=arguments.get("tools"),
        )
        return call.deltas(answering)

    def _handle_stream_response(
        self, chat_completion: Iterator[Delta], callback: SyncStreamingCallbackT
    ) -> list[ChatMessage]:
        """Hand pieces on as they come, the reasoning too."""
        info = ComponentInfo.from_component(self)
        chunks: list[StreamingChunk] = []
        for delta in chat_completion:
            chunks.append(_chunk(self.chat.served.name, delta, chunks, info))
            callback(chunks[-1])
        return [_convert_streaming_chunks_to_chat_message(chunks)]

    def warm_up(self) -> None:
        """Put ourselves in the place of OpenAI's client; no connection is opened."""
        completions = SimpleNamespace(create=self._create)
        self.client = SimpleNamespace(chat=SimpleNamespace(completions=completions))  # type: ignore[assignment]


def _heard_by_nobody(_: StreamingChunk) -> None:
    """Take a piece of an answer: all of them are streamed."""


def _chunk(
    model: str, delta: Delta, before: list[StreamingChunk], info: ComponentInfo
) -> StreamingChunk:
    """Return a piece of an answer as Haystack's."""
    if delta.thinking:
        return StreamingChunk(
            "",
            meta={"model": model},
            component_info=info,
            index=0,
            start=not before,
            reasoning=ReasoningContent(delta.thinking),
        )
    said = {"content": delta.text, "tool_calls": list(delta.tool_calls) or None}
    chunk = ChatCompletionChunk.construct(
        model=model, choices=[{"index": 0, "delta": said, "finish_reason": None}], usage=None
    )
    return _convert_chat_completion_chunk_to_streaming_chunk(chunk, before, info)
