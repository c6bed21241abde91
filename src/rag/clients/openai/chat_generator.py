"""The chat model as a Haystack component: Haystack's own, over our own transport.

Left to itself that one takes a stream that just ends for an answer, leaves out the reasoning, waits
without a deadline, follows redirections with the key, and reads OPENAI_* of the environment.
Messages, tools and chunks are its work; requests, retries, deadlines and cancelled streams are that
of `ChatModel`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

from haystack import component, default_from_dict, default_to_dict
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
from haystack.tools import (
    ToolsType,
    deserialize_tools_or_toolset_inplace,
    serialize_tools_or_toolset,
)
from haystack.utils import Secret
from openai.types.chat import ChatCompletionChunk

from rag.clients.chat.answering import Delta
from rag.clients.chat.reply import Call, message_of
from rag.clients.openai.chat_model import ChatModel
from rag.clients.serialization import with_config
from rag.config import ModelsConfig, models_config

_CALL = "rag"  # the option under which a call goes through Haystack's code
_NO_KEY = Secret.from_env_var("RAG_NO_KEY", strict=False)  # keys are read where they are sent


@component
class OpenAIGenerator(OpenAIChatGenerator):
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

    @component.output_types(replies=list[ChatMessage])
    def run(  # type: ignore[override]
        self,
        messages: list[ChatMessage] | str,
        streaming_callback: StreamingCallbackT | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        response_format: str | dict[str, Any] | None = None,
        tools: ToolsType | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """Return one message as `replies`; its meta holds `finish_reason` and `usage`.

        :param streaming_callback: called with each piece of the answer as it arrives.
        :param response_format: in the place of the component's own, for this answer.
        :raises ConfigError: when no server or model is configured, or the key cannot be sent.
        :raises ConnectionError: and its subclasses, as `ChatModel.stream` says.
        """
        call = Call(response_format or self.response_format)
        return {
            "replies": [self.answer(call, messages, streaming_callback, generation_kwargs, tools)]
        }

    @component.output_types(replies=list[ChatMessage])
    async def run_async(  # type: ignore[override]
        self,
        messages: list[ChatMessage] | str,
        streaming_callback: StreamingCallbackT | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        response_format: str | dict[str, Any] | None = None,
        tools: ToolsType | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """`run`, off the event loop; Haystack's would use its own client."""
        return await asyncio.to_thread(
            self.run, messages, streaming_callback, generation_kwargs, response_format, tools
        )

    def brief_reply(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], tokens: int
    ) -> str:
        """Return a short reply, without reasoning and within `ollama.query_timeout`."""
        response = self.chat.respond(
            messages,
            format=schema,
            options={"temperature": 0, "num_predict": tokens},
            seconds=self.config.ollama.query_timeout,
        )
        return response.text

    def answer(
        self,
        call: Call,
        messages: list[ChatMessage] | str,
        streaming_callback: StreamingCallbackT | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        tools: ToolsType | None = None,
    ) -> ChatMessage:
        """Return the reply to messages; `call` holds what there is of it, after an error too."""
        options = {**(generation_kwargs or {}), _CALL: call}
        self.warm_up()
        try:
            made = OpenAIChatGenerator.run(
                self, messages, streaming_callback or _heard_by_nobody, options, tools=tools
            )
        finally:
            call.end()
        calls = made["replies"][0].tool_calls if made["replies"] else []
        return message_of(call.response, calls)

    def _create(self, **arguments: Any) -> Iterator[Delta]:
        """Begin an answer: what OpenAI's client does in Haystack's code."""
        call: Call = arguments.pop(_CALL)
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

    async def warm_up_async(self) -> None:
        """Do as `warm_up`."""
        self.warm_up()

    def close(self) -> None:
        """Close the connection; `run` opens it again."""
        self.client = None
        if self._chat_model is not None:
            self._chat_model.close()
            self._chat_model = None

    async def close_async(self) -> None:
        """Close the connection."""
        self.close()

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its settings."""
        return default_to_dict(
            self,
            config=asdict(self.config),
            model=self.model,
            think=self.think,
            response_format=self.response_format,
            generation_kwargs=self.generation_kwargs,
            timeout=self.timeout,
            tools=serialize_tools_or_toolset(self.tools),
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        deserialize_tools_or_toolset_inplace(data["init_parameters"], key="tools")
        return default_from_dict(cls, with_config(data))


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
