"""An answer on its way: its pieces as they come, and what becomes of one that does not end well."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from haystack.dataclasses import ChatMessage, ToolCall

from rag.clients.protocols import FAILURE, INTERRUPTED, RESPONSE, Response
from rag.clients.servers.pool import LONGEST_WAIT
from rag.clients.servers.trouble import Blame, Trouble
from rag.exceptions import RAGError, TooLongError, UnfinishedError
from rag.text.token_estimate import count_tokens

_OPEN, _CLOSE = "<think>", "</think>"


class ThinkSplitter:
    """Split a stream of text into answer and reasoning.

    Servers separate the reasoning of the models they know; others begin their answer with
    `<think>`. Only at the very beginning is it taken for a mark, so that an answer may write
    about it. Reasoning that never ends is all reasoning.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state = "start"

    def feed(self, text: str) -> tuple[str, str]:
        """Return what is now certain to be answer, and what is certain to be reasoning."""
        if self._state == "answer":
            return text, ""
        self._held += text
        if self._state == "start":
            begun = self._held.lstrip()
            if _OPEN.startswith(begun[: len(_OPEN)]) and len(begun) < len(_OPEN):
                return "", ""
            if not begun.startswith(_OPEN):
                return self._all("answer"), ""
            self._state, self._held = "thinking", begun[len(_OPEN) :]
        thought, mark, rest = self._held.partition(_CLOSE)
        if mark:
            self._state, self._held = "gap", rest
            answer, _ = self._gap()
            return answer, thought
        if self._state == "gap":
            return self._gap()
        keep = next((n for n in range(len(_CLOSE) - 1, 0, -1) if thought.endswith(_CLOSE[:n])), 0)
        self._held = thought[len(thought) - keep :]
        return "", thought[: len(thought) - keep]

    def end(self) -> tuple[str, str]:
        """Return what was held back until now."""
        held = self._all(self._state)
        return ("", held) if self._state == "thinking" else (held, "")

    def _gap(self) -> tuple[str, str]:
        """Leave out the blank lines between reasoning and answer."""
        self._held = self._held.lstrip()
        return (self._all("answer"), "") if self._held else ("", "")

    def _all(self, state: str) -> str:
        held, self._held, self._state = self._held, "", state
        return held


T = TypeVar("T")


class Delta(NamedTuple):
    """The next piece of an answer, and of the reasoning before it, and the tools to call."""

    text: str
    thinking: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()


class End(NamedTuple):
    """What a server says of a whole answer; see `Response`."""

    finish_reason: str = "stop"
    prompt_tokens: int | None = None
    tokens: int | None = None
    load_seconds: float = 0.0


Pieces = Generator[Delta | End, None, None]


@dataclass(frozen=True)
class Failing:
    """What goes wrong with answers of one kind of servers, and how it is told.

    :param kinds: the exceptions that the connection raises.
    :param explain: explains one of them.
    :param too_long: returns the error of a prompt that is longer than the model reads.
    :param again: what to do where an answer broke off without a reason.
    """

    kinds: tuple[type[Exception], ...]
    explain: Callable[[Exception], Trouble]
    too_long: Callable[[RAGError], TooLongError]
    again: str


class Answering:
    """One answer on its way: iterate over its `Delta`s, then read `response`.

    `response` holds what has arrived so far at any time, after an error or Ctrl-C too; without
    a `finish_reason` it is not whole.

    :param pieces: makes the request, and yields what the server writes, at last an `End`.
    """

    def __init__(self, pieces: Callable[[], Pieces], response: Response, failing: Failing) -> None:
        self.response = response
        self._pieces, self._failing, self._started = pieces, failing, time.monotonic()
        self._text: list[str] = []
        self._thinking: list[str] = []

    def __iter__(self) -> Generator[Delta, None, None]:
        splitter = ThinkSplitter()
        try:
            with closing(self._pieces()) as pieces:
                for piece in pieces:
                    if isinstance(piece, End):
                        yield from self._note(*splitter.end())
                        self.response = replace(self.response, **piece._asdict())
                        return
                    text, thinking = splitter.feed(piece.text)
                    yield from self._note(text, piece.thinking + thinking)
                    if piece.tool_calls:
                        yield Delta("", tool_calls=piece.tool_calls)
            yield from self._note(*splitter.end())
            raise self._broken("ended without saying that it is complete")
        except self._failing.kinds as error:
            trouble = self._failing.explain(error)
            if trouble.blame is Blame.LENGTH:
                raise self._failing.too_long(trouble.error) from error
            if not self._begun:
                raise trouble.error from error
            raise self._broken(str(trouble.error), trouble.error.hint) from error
        finally:
            self.response = self._so_far()

    @property
    def _begun(self) -> bool:
        return bool(self._text or self._thinking)

    def _note(self, text: str, thinking: str) -> Iterator[Delta]:
        if text or thinking:
            self._text.append(text)
            self._thinking.append(thinking)
            yield Delta(text, thinking)

    def _so_far(self) -> Response:
        return replace(
            self.response,
            text="".join(self._text),
            thinking="".join(self._thinking),
            seconds=time.monotonic() - self._started,
        )

    def _broken(self, why: str, hint: str = "") -> UnfinishedError:
        return UnfinishedError(
            f"the answer of {self.response.model} broke off",
            self.response.server,
            details=why,
            hint=hint or self._failing.again,
            partial="".join(self._text),
        )


def sent_again(
    send: Callable[[float], Iterator[T]],
    failing: Failing,
    seconds: float,
    retries: int,
    backoff: float,
) -> Generator[T, None, None]:
    """Yield what a request gives; one that fails before that is sent again.

    :param send: sends it; is given the seconds that are left.
    :param seconds: longest duration of the whole.
    :param backoff: seconds before it is sent again, doubled with each; more if the server asks
        for that.
    """
    until = time.monotonic() + seconds
    for attempt in range(retries + 1):
        begun = False
        try:
            for line in send(until - time.monotonic()):
                begun = True
                yield line
            return
        except failing.kinds as error:
            trouble = failing.explain(error)
            again = not begun and trouble.blame in (Blame.BUSY, Blame.UNCLEAR)
            pause = max(backoff * 2**attempt, trouble.wait)
            late = time.monotonic() + pause >= until or pause > LONGEST_WAIT
            if not again or late or attempt == retries:
                raise
        time.sleep(pause)


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
