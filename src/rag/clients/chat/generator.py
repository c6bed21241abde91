"""What the chat generators of all providers do alike: our transport behind Haystack's own classes.

Left to itself a generator of Haystack's has no deadline, and takes a stream that just ends for an
answer. Messages, tools and chunks are its work; requests, retries, deadlines and cancelled streams
are that of a connection of ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage, StreamingCallbackT
from haystack.tools import (
    ToolsType,
    deserialize_tools_or_toolset_inplace,
    serialize_tools_or_toolset,
)

from rag.clients.chat.answering import Call, answer_length, message_of, whatever_happens
from rag.clients.protocols import NO_REASONING, Response
from rag.clients.serialization import with_config

CALL = "rag"  # the option under which a call goes through Haystack's code


class ChatConnection(Protocol):
    """A connection to one chat model, kept from one answer to the next.

    :param query_timeout: seconds for a short reply.
    """

    query_timeout: float

    @property
    def name(self) -> str:
        """The name of the model, of which the server is asked.

        :raises RAGError: when the server cannot be asked, or does not have the model.
        """

    @property
    def window(self) -> int:
        """The tokens of prompt and answer together.

        :raises RAGError: when the server cannot be asked, or does not have the model.
        """

    def respond(self, messages: Sequence[Mapping[str, Any]], **arguments: Any) -> Response:
        """Return the whole answer; `format`, `options` and `seconds` are as for a stream."""

    def close(self) -> None:
        """Close it."""


class ChatGenerator:
    """One side of a chat generator; the other is the class of Haystack's that it stands before.

    A provider's class has both for bases. It opens the connection (`chat`), and calls Haystack's
    own `run` (`_generate`), in which a connection of ours answers: the one of the `Call` that comes
    along as the option `CALL`.
    """

    config: Any
    model: str
    think: Any
    response_format: Any
    generation_kwargs: dict[str, Any]
    timeout: Any
    tools: ToolsType | None
    _chat_model: Any = None  # the connection, once it is open

    @property
    def chat(self) -> ChatConnection:
        """The connection to the model, opened on first use."""
        raise NotImplementedError

    def _generate(
        self,
        messages: list[ChatMessage] | str,
        streaming_callback: StreamingCallbackT | None,
        options: dict[str, Any],
        tools: ToolsType | None,
    ) -> dict[str, Any]:
        """Return what Haystack's own `run` returns."""
        raise NotImplementedError

    @component.output_types(replies=list[ChatMessage])
    def run(
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
        :raises ConfigError: when no server or model is configured.
        :raises ConnectionError: and its subclasses, as `stream` of the connection says.
        """
        call = Call(response_format or self.response_format)
        reply = self._reply(call, messages, streaming_callback, generation_kwargs or {}, tools)
        return {"replies": [reply]}

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
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
            seconds=self.chat.query_timeout,
        )
        return response.text

    def _reply(
        self,
        call: Call,
        messages: list[ChatMessage] | str,
        streaming_callback: StreamingCallbackT | None,
        options: dict[str, Any],
        tools: ToolsType | None,
    ) -> ChatMessage:
        """Return the reply to messages; `call` holds what there is of it, after an error too."""
        try:
            made = self._generate(messages, streaming_callback, {**options, CALL: call}, tools)
        finally:
            call.end()
        calls = made["replies"][0].tool_calls if made["replies"] else []
        return message_of(call.response, calls)

    def warm_up(self) -> None:
        """Do nothing: the connection is opened when it is wanted."""

    async def warm_up_async(self) -> None:
        """Do as `warm_up`."""
        self.warm_up()

    def close(self) -> None:
        """Close the connection; `run` opens it again."""
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


class AnswerGeneratorBase(ChatGenerator):
    """Has what goes wrong with an answer as a value: quotations can stand in then.

    It stands before a provider's generator. The reply holds what there is of the answer. Its meta
    says besides why there is no more (`failure`, `interrupted`), all that the server told
    (`response`), and whether it was to reason and cannot (`no_reasoning`). The longest answer is
    `num_predict` of `generation_kwargs`; a model with a small context writes at most a third of
    that. Ctrl-C ends the answer only, if a streaming callback says that it `keeps_partial`.
    """

    def _reply(
        self,
        call: Call,
        messages: list[ChatMessage] | str,
        streaming_callback: StreamingCallbackT | None,
        options: dict[str, Any],
        tools: ToolsType | None,
    ) -> ChatMessage:
        """Return the reply to messages, whatever happens."""
        options = {**self.generation_kwargs, **options}

        def answer(told: dict[str, Any]) -> ChatMessage:
            most = int(options.get("num_predict") or 0)
            call.limit(most)
            call.think = self._reasons()
            told[NO_REASONING] = bool(self.think) and not call.think
            if most:
                window = self.context_window()
                options["num_predict"] = answer_length(most, window, messages, call.think)
            return ChatGenerator._reply(self, call, messages, streaming_callback, options, tools)

        keeps = getattr(streaming_callback, "keeps_partial", False)
        message = whatever_happens(call, answer, keeps)
        if not call.answering:
            message.meta["model"] = self._model_asked()
        return message

    def context_window(self) -> int:
        """Return the tokens of prompt and answer together."""
        return self.chat.window

    def _reasons(self) -> bool:
        """Return whether the model is to reason first."""
        return bool(self.think)

    def _model_asked(self) -> str:
        """Return the name of the model that was to answer, as far as it is known."""
        raise NotImplementedError
