"""The chat model as a Haystack component: ollama-haystack's, over our own transport.

Left to itself that one takes a stream that just ends for an answer, forgets that an answer
reached its limit, sends no `num_ctx`, and has no deadline. Messages, tools and chunks are its
work; requests, retries, deadlines and cancelled streams are that of `ChatModel`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage, StreamingCallbackT
from haystack.tools import (
    ToolsType,
    deserialize_tools_or_toolset_inplace,
    serialize_tools_or_toolset,
)

from rag.clients.chat.answering import Delta
from rag.clients.chat.reply import Call, message_of
from rag.clients.ollama.chat import ChatModel
from rag.clients.ollama.http_client import chat_response
from rag.clients.serialization import with_config
from rag.config import OllamaConfig

# After ours, which imports the client without the environment's proxies.
from haystack_integrations.components.generators.ollama import (  # isort: skip
    OllamaChatGenerator,
)

_CALL = "rag"  # the option under which a call goes through ollama-haystack's code


@component
class OllamaGenerator(OllamaChatGenerator):
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
        :raises ConfigError: when no chat model is configured.
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
        """`run`, off the event loop; ollama-haystack's would use its own client."""
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
            seconds=self.chat.config.query_timeout,
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
        self._client = self.chat.client
        try:
            made = OllamaChatGenerator.run(
                self, messages, options, tools, streaming_callback=streaming_callback
            )
        finally:
            call.end()
        return message_of(call.response, made["replies"][0].tool_calls)

    def _chat(  # type: ignore[override]
        self,
        *,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None,
        is_stream: bool,
        generation_kwargs: dict[str, Any],
    ) -> Iterator[Any]:
        call: Call = generation_kwargs[_CALL]
        options = {key: value for key, value in generation_kwargs.items() if key != _CALL}
        answering = self.chat.stream(
            messages,
            format=call.format,
            think=bool(self.think if call.think is None else call.think),
            options=options,
            seconds=self.timeout,
            tools=tools,
        )
        return map(partial(_chunk, answering.response.model), call.deltas(answering))

    def warm_up(self) -> None:
        """Do nothing: the connection is opened when it is wanted."""

    async def warm_up_async(self) -> None:
        """Do nothing, as `warm_up`."""

    def close(self) -> None:
        """Close the connection; `run` opens it again."""
        if self._chat_model is not None:
            self._chat_model.close()
            self._chat_model = self._client = None

    async def close_async(self) -> None:
        """Close the connection."""
        self.close()

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its settings."""
        return default_to_dict(
            self,
            config=self.config and asdict(self.config),
            model=self.model,
            think=self.think,
            response_format=self.response_format,
            generation_kwargs=self.generation_kwargs or None,
            timeout=self.timeout,
            tools=serialize_tools_or_toolset(self.tools),
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        deserialize_tools_or_toolset_inplace(data["init_parameters"], key="tools")
        return default_from_dict(cls, with_config(data))


def _chunk(model: str, delta: Delta) -> Any:
    """Return a piece of an answer as Ollama's own client does."""
    return chat_response(model, *delta)
