"""The reply of a chat generator: what there is of an answer, and why there is no more of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from haystack.dataclasses import ChatMessage, ToolCall

from rag.clients.chat.answering import Answering, Delta
from rag.clients.protocols import FAILURE, INTERRUPTED, RESPONSE, Response
from rag.exceptions import RAGError
from rag.text.token_estimate import count_tokens

_CHARACTERS_PER_TOKEN = 12  # an answer of more per allowed token has no end


class Call:
    """One answer on its way through the code of a chat generator of Haystack's.

    :param format: `json`, or the JSON schema that the answer must fit.
    :param most: characters after which the answer is ended; 0 for any number.

    `think` says whether the model reasons first; `None` leaves that to the component.
    """

    def __init__(self, format: str | Mapping[str, Any] | None = None, most: int = 0) -> None:
        self.format, self.most = format, most
        self.think: bool | None = None
        self.answering: Answering | None = None
        self._deltas: Any = None

    @property
    def response(self) -> Response:
        """What has arrived so far."""
        return self.answering.response if self.answering else Response()

    def deltas(self, answering: Answering) -> Iterator[Delta]:
        """Yield an answer in pieces of one kind each, up to where it is ended."""
        self.answering, self._deltas, size = answering, iter(answering), 0
        for delta in self._deltas:
            # A chunk of Haystack's holds one kind of content.
            yield from filter(any, (Delta("", delta.thinking), delta._replace(thinking="")))
            size += len(delta.text)
            if 0 < self.most < size:
                return

    def end(self) -> None:
        """Close the stream, so that the model stops to write."""
        if self._deltas is not None:
            self._deltas.close()

    def limit(self, tokens: int) -> None:
        """End an answer that has far more characters than so many tokens have."""
        self.most = _CHARACTERS_PER_TOKEN * tokens


def message_of(
    response: Response, tool_calls: list[ToolCall] | None = None, /, **meta: Any
) -> ChatMessage:
    """Return an answer as a message.

    :param meta: what its meta holds besides.
    """
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
            **meta,
        },
        tool_calls=tool_calls or None,
        reasoning=response.thinking or None,
    )


def whatever_happens(
    call: Call, answer: Callable[[dict[str, Any]], ChatMessage], keeps_partial: bool
) -> ChatMessage:
    """Return a reply whose meta says what went wrong, if anything did.

    :param answer: makes the reply; is given the meta, to which it may add.
    :param keeps_partial: Ctrl-C ends the answer only.
    """
    told: dict[str, Any] = {}
    calls: list[ToolCall] = []
    try:
        calls = answer(told).tool_calls
    except RAGError as error:
        told[FAILURE] = error
    except KeyboardInterrupt:
        if not keeps_partial:
            raise
        told[INTERRUPTED] = True
    told[RESPONSE] = call.response if call.answering else None
    return message_of(call.response, calls, **told)


def answer_length(
    most: int, window: int, messages: Sequence[ChatMessage] | str, think: bool
) -> int:
    """Return how many tokens an answer may have: a model with a small window writes at most a
    third of that.

    Reasoning is part of what a model writes: it gets all the room there is.
    """
    reserve = min(most, window // 3)
    if not think:
        return reserve
    texts = [messages] if isinstance(messages, str) else [m.text or "" for m in messages]
    return max(reserve, window - sum(map(count_tokens, texts)))
