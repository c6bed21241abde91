"""An answer that is verified while a model writes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from haystack.dataclasses import StreamingChunk

from rag.answers.evidence import Evidence
from rag.answers.verdicts import Progress
from rag.answers.verification import Verifier
from rag.exceptions import UnfinishedError

OnText = Callable[[str], Any]
OnProgress = Callable[[Progress], Any]
T = TypeVar("T")


class CallbackError(Exception):
    """What a listener raised."""

    def __init__(self, raised: Exception) -> None:
        super().__init__(str(raised))
        self.raised = raised


class HopelessError(UnfinishedError):
    """A model was stopped, since the notes bear out nothing of what it writes."""


class AnswerStream:
    """Listen to a chat generator, and hand on what may be shown of its answer.

    It stops a model of whose first sentences none holds, by a `HopelessError`.

    It is the generator's `streaming_callback`; the prompt builder begins it, and the answer
    checker ends it.

    :param on_text: called with what may be shown of the answer, as it is verified.
    :param on_thinking: called with the model's reasoning as it comes.
    :param on_progress: called, after `on_text`, with how many sentences came so far.
    :param on_piece: called with each piece that comes, reasoning too, before it is verified.
    """

    def __init__(
        self,
        on_text: OnText | None = None,
        on_thinking: OnText | None = None,
        on_progress: OnProgress | None = None,
        on_piece: OnText | None = None,
    ) -> None:
        self._on_text, self._on_thinking = on_text, on_thinking
        self._on_progress, self._on_piece = on_progress, on_piece
        self.verifier: Verifier | None = None
        self.heard = False
        self.raised: Exception | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> AnswerStream:
        return self  # Haystack copies what goes from one component to the next

    @property
    def keeps_partial(self) -> bool:
        """Whether Ctrl-C ends the answer only, since somebody watches it."""
        return self._on_text is not None

    def begin(self, window: Sequence[Evidence], question: str, numbered: bool = True) -> None:
        """Begin with the sources that the model is shown, with or without numbers."""
        self.verifier, self.heard = Verifier(window, question, numbered), False

    def __call__(self, chunk: StreamingChunk) -> None:
        thought = chunk.reasoning.reasoning_text if chunk.reasoning else ""
        self._notify(self._on_piece, thought or chunk.content)
        if chunk.reasoning:
            self._notify(self._on_thinking, chunk.reasoning.reasoning_text)
        if chunk.content and self.verifier:
            self.heard = True
            self.show(self.verifier.feed(chunk.content))
            self._notify(self._on_progress, self.verifier.progress)
            if self.verifier.is_hopeless:
                raise HopelessError("the model was stopped: the notes bear out nothing it writes")

    def show(self, text: str) -> None:
        """Hand on what was verified."""
        self._notify(self._on_text, text)

    def _notify(self, listener: Callable[[T], Any] | None, said: T) -> None:
        try:
            if said and listener:
                listener(said)
        except Exception as error:
            self.raised = error
            raise CallbackError(error) from error
