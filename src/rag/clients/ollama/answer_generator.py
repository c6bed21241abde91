"""The chat generator of the question answering pipeline, where Ollama answers."""

from __future__ import annotations

from typing import Any

from haystack import component
from haystack.dataclasses import ChatMessage, StreamingCallbackT
from haystack.tools import ToolsType

from rag.clients.chat.reply import Call, answer_length, whatever_happens
from rag.clients.ollama.chat_generator import OllamaGenerator
from rag.clients.protocols import NO_REASONING


@component
class AnswerGenerator(OllamaGenerator):
    """Let the chat model answer, with what goes wrong as a value: quotations can stand in then.

    The reply holds what there is of the answer. Its meta says besides why there is no more
    (`failure`, `interrupted`), all that the server told (`response`), and whether it was to reason
    and cannot (`no_reasoning`). The longest answer is `num_predict` of `generation_kwargs`; a model
    with a small context writes at most a third of that.
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

        def answer(told: dict[str, Any]) -> ChatMessage:
            most = int(options.get("num_predict") or 0)
            call.limit(most)
            call.think = self._reasons()
            told[NO_REASONING] = bool(self.think) and not call.think
            if most:
                window = self.context_window()
                options["num_predict"] = answer_length(most, window, messages, call.think)
            return self.answer(call, messages, streaming_callback, options, tools)

        keeps = getattr(streaming_callback, "keeps_partial", False)
        message = whatever_happens(call, answer, keeps)
        if not call.answering and self._chat_model:
            message.meta["model"] = self.chat.model
        return {"replies": [message]}

    def context_window(self) -> int:
        """Return the tokens of prompt and answer together."""
        return self.chat.num_ctx

    def _reasons(self) -> bool:
        """Return whether the model is to reason first: it is asked for, and the model can."""
        return bool(self.think) and "thinking" in (self.chat.info.capabilities or ("thinking",))
