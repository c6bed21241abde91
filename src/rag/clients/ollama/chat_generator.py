"""The chat model as a Haystack component, in the place of ollama-haystack's.

That one takes a stream that just ends for an answer, fails with a `TypeError` on one without
its counts, forgets that an answer reached its limit, and has no deadline.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage, StreamingCallbackT, StreamingChunk

from rag.clients.ollama.chat import ChatModel, Delta, Response
from rag.clients.serialization import with_config
from rag.config import OllamaConfig


@component
class OllamaGenerator:
    """Let the chat model answer messages.

    :param config: the `[ollama]` settings; without them those in force.
    :param model: another model than the configured one.
    :param think: let the model reason first.
    :param response_format: `json`, or the JSON schema that answers must fit.
    :param generation_kwargs: Ollama's options, such as `temperature`.
    :param timeout: seconds for a whole answer; without it `ollama.request_timeout`.
    :raises ValueError: for a timeout that is not positive.
    """

    def __init__(
        self,
        config: OllamaConfig | None = None,
        model: str = "",
        think: bool = False,
        response_format: str | dict[str, Any] | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> None:
        if timeout is not None and not timeout > 0:
            raise ValueError(f"timeout must be positive, not {timeout}")
        self.config, self.model, self.think = config, model, think
        self.response_format, self.generation_kwargs = response_format, generation_kwargs
        self.timeout = timeout
        self._chat: ChatModel | None = None

    @component.output_types(replies=list[ChatMessage])
    def run(
        self,
        messages: list[ChatMessage],
        streaming_callback: StreamingCallbackT | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        response_format: str | dict[str, Any] | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """Return one message as `replies`; its meta holds `finish_reason` and `usage`.

        :param streaming_callback: called with each piece of the answer as it arrives.
        :param response_format: in the place of the component's own, for this answer.
        :raises ConfigError: when no chat model is configured.
        :raises ConnectionError: and its subclasses, as `ChatModel.stream` says.
        """
        if self._chat is None:
            self._chat = ChatModel(self.config, self.model)

        def hand_over(delta: Delta) -> None:
            if streaming_callback and delta.text:
                streaming_callback(StreamingChunk(delta.text))

        response = self._chat.respond(
            [{"role": message.role.value, "content": message.text or ""} for message in messages],
            hand_over,
            format=response_format or self.response_format,
            think=self.think,
            options={**(self.generation_kwargs or {}), **(generation_kwargs or {})},
            seconds=self.timeout,
        )
        return {"replies": [_message(response)]}

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self,
        messages: list[ChatMessage],
        streaming_callback: StreamingCallbackT | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        response_format: str | dict[str, Any] | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """`run`, off the event loop."""
        return await asyncio.to_thread(
            self.run, messages, streaming_callback, generation_kwargs, response_format
        )

    def close(self) -> None:
        """Close the connection; `run` opens it again."""
        if self._chat is not None:
            self._chat.close()
            self._chat = None

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its settings."""
        return default_to_dict(
            self,
            config=self.config and asdict(self.config),
            model=self.model,
            think=self.think,
            response_format=self.response_format,
            generation_kwargs=self.generation_kwargs,
            timeout=self.timeout,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        return default_from_dict(cls, with_config(data))


def _message(response: Response) -> ChatMessage:
    return ChatMessage.from_assistant(
        response.text,
        meta={
            "model": response.model,
            "finish_reason": response.finish_reason,
            "num_ctx": response.num_ctx,
            "usage": {
                "prompt_tokens": response.prompt_tokens,
                "completion_tokens": response.tokens,
            },
        },
        reasoning=response.thinking or None,
    )
