"""The chat generator of the question answering pipeline, where Ollama answers."""

from __future__ import annotations

from typing import Any

from haystack import component
from haystack.dataclasses import ChatMessage, StreamingCallbackT
from haystack.tools import ToolsType

from rag.clients.ollama.chat_generator import Call, OllamaGenerator, message_of
from rag.clients.protocols import FAILURE, INTERRUPTED, NO_REASONING, RESPONSE
from rag.exceptions import RAGError
from rag.text.token_estimate import count_tokens

_CHARACTERS_PER_TOKEN = 12  # an answer of more per allowed token has no end


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
        told: dict[str, Any] = {}
        try:
            most = int(options.get("num_predict") or 0)
            call.most = _CHARACTERS_PER_TOKEN * most
            call.think = self._reasons()
            told[NO_REASONING] = bool(self.think) and not call.think
            if most:
                options["num_predict"] = self._length(most, messages, call.think)
            reply = self.answer(call, messages, streaming_callback, options, tools)
            calls = reply.tool_calls
        except RAGError as error:
            told[FAILURE], calls = error, []
        except KeyboardInterrupt:
            if not getattr(streaming_callback, "keeps_partial", False):
                raise
            told[INTERRUPTED], calls = True, []
        told[RESPONSE] = call.response if call.answering else None
        message = message_of(call.response, calls, **told)
        if not call.answering and self._chat_model:
            message.meta["model"] = self.chat.model
        return {"replies": [message]}

    def context_window(self) -> int:
        """Return the tokens of prompt and answer together."""
        return self.chat.num_ctx

    def _reasons(self) -> bool:
        """Return whether the model is to reason first: it is asked for, and the model can."""
        return bool(self.think) and "thinking" in (self.chat.info.capabilities or ("thinking",))

    def _length(self, most: int, messages: list[ChatMessage] | str, think: bool) -> int:
        """Return how many tokens an answer may have.

        Reasoning is part of what a model writes: it gets all the room there is.
        """
        num_ctx = self.context_window()
        reserve = min(most, num_ctx // 3)
        if not think:
            return reserve
        texts = [messages] if isinstance(messages, str) else [m.text or "" for m in messages]
        return max(reserve, num_ctx - sum(map(count_tokens, texts)))
