"""The chat generator of the question answering pipeline, where a server of OpenAI's API answers."""

from __future__ import annotations

from typing import Any

from haystack import component
from haystack.dataclasses import ChatMessage, StreamingCallbackT
from haystack.tools import ToolsType

from rag.clients.chat.reply import Call, answer_length, whatever_happens
from rag.clients.openai.chat_generator import OpenAIGenerator


@component
class OpenAIAnswerGenerator(OpenAIGenerator):
    """Let the chat model answer, with what goes wrong as a value: quotations can stand in then.

    The reply holds what there is of the answer. Its meta says besides why there is no more
    (`failure`, `interrupted`), and all that the server told (`response`). The longest answer is
    `num_predict` of `generation_kwargs`; a model with a small context writes at most a third of
    that.
    """

    @component.output_types(replies=list[ChatMessage])
    def run(  # type: ignore[override]
        self,
        messages: list[ChatMessage] | str,
        streaming_callback: StreamingCallbackT | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        response_format: str | dict[str, Any] | None = None,
        tools: ToolsType | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """Return one message as `replies`, whatever happens.

        :param streaming_callback: called with each piece of the answer as it arrives. Ctrl-C ends
            the answer only, if the callback says that it `keeps_partial`.
        """
        options = {**self.generation_kwargs, **(generation_kwargs or {})}
        call = Call(response_format or self.response_format)

        def answer(_: dict[str, Any]) -> ChatMessage:
            most = int(options.get("num_predict") or 0)
            call.limit(most)
            if most:
                window = self.context_window()
                options["num_predict"] = answer_length(most, window, messages, self.think)
            return self.answer(call, messages, streaming_callback, options, tools)

        keeps = getattr(streaming_callback, "keeps_partial", False)
        message = whatever_happens(call, answer, keeps)
        if not call.answering:
            message.meta["model"] = self.model or self.config.chat.model
        return {"replies": [message]}

    def context_window(self) -> int:
        """Return the tokens of prompt and answer together."""
        return self.chat.window
