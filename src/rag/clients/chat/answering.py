"""An answer on its way: its pieces as they come, and what becomes of one that does not end well."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from rag.clients.chat.reasoning_splitter import ThinkSplitter
from rag.clients.protocols import Response
from rag.clients.servers.pool import LONGEST_WAIT
from rag.clients.servers.trouble import Blame, Trouble
from rag.exceptions import RAGError, TooLongError, UnfinishedError

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
