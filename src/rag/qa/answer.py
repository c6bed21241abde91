"""An answer, and the listener that verifies it while a model writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date as Day
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

from haystack.dataclasses import StreamingChunk

from rag.answers.agreement import Progress
from rag.answers.claims import Evidence
from rag.answers.verification import Verifier
from rag.exceptions import RAGError, UnfinishedError
from rag.search.results import SearchedVariant, SearchResult
from rag.support.json_reports import hidden, inline, nullable, optional
from rag.support.pipeline_parts import NotCopied

if TYPE_CHECKING:
    from rag.qa.prompt import WindowReport


class Place(NamedTuple):
    """A line of a source, by its number."""

    source: int
    line: int


@dataclass
class Quote:
    """A part of a note that is read out whole.

    :param source: its number, from 1 in the answer's sources.
    :param line: from 1 in the file.
    :param also: places in other notes that say the same.
    :param answer: what of the text answers the question, where a reader is sure of it.
    """

    text: str
    source: int
    line: int
    also: list[Place] = optional(factory=list)
    answer: str = optional("")


@dataclass(frozen=True)
class Citation:
    """A sentence of a model's answer, and a source that it names.

    :param n: the number of the source.
    :param supported: whether that bears the sentence out.
    :param doubt: why not, where that can be told; see `rag.answers.agreement`.
    """

    n: int
    sentence: str
    supported: bool
    doubt: str = optional("")


@dataclass(frozen=True)
class LastDay:
    """The day on which something was last.

    :param dated_by: what says so: the `line` itself, a `heading` above it, or the `note`.
    """

    date: Day | None = None
    dated_by: Literal["line", "heading", "note", ""] = nullable("")


@dataclass(frozen=True)
class NotesAsked:
    """What was asked of the notes themselves, and found without a model.

    :param asked: a list of notes, how many there are, or the day on which something was last.
    :param count: how many notes there are; of a day, how many tell of it.
    :param counted_by: what makes a note count: `words` that it holds, or `filters` alone.
    :param any_of: alternatives of which each note holds one, by their words.
    :param shown: how many notes are sources, of `list` and `count`.
    """

    asked: Literal["list", "count", "last"]
    count: int
    counted_by: Literal["words", "filters"] = field(init=False)
    words: list[str] = field(default_factory=list)
    any_of: list[list[str]] = optional(factory=list)
    last: LastDay | None = inline(None)
    shown: int | None = optional(None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counted_by", "words" if self.words else "filters")


@dataclass(frozen=True, kw_only=True)
class ModelWork:
    """What there is to tell of a model that was asked.

    :param verified: the share of its `sentences` that carry a source which supports them.
    :param struck: what was taken out.
    :param partial: whether the answer lacks its end.
    :param finish_reason: then `length`, `interrupted` or `error`.
    :param usage: `prompt_tokens`, `tokens` and `num_ctx`.
    :param timings: milliseconds by step.
    """

    verified: float
    sentences: int
    citations: list[Citation]
    struck: list[str]
    partial: bool
    finish_reason: str
    usage: dict[str, int | None]
    timings: dict[str, float]
    thinking: str | None = optional(None)
    error: RAGError | None = optional(None)


@dataclass
class Answer(NotCopied):
    """An answer, and what it rests on.

    :param found: false when the notes hold no answer.
    :param model: that wrote it; empty: it is all quotation.
    :param confidence: the probability that the first quotation answers the question; of what a
        model wrote, the mean score of its sources.
    :param near: where the notes hold no answer, those nearest to the question.
    :param notes: set where the question was about the notes themselves: the sources are those
        notes, as many as are shown.
    :param notices: why no model wrote it, above all.

    `searched`, `corrections`, `tags`, `route`, `variants` and `relaxed` are as in `SearchResponse`;
    of a model's answer `verified` to `timings` as in `ModelWork`. `finish_reason` is `stopped` too,
    where the notes bore out none of its first sentences, so that quotations stand in; `failure` is
    what went wrong. `results` are all that a search found, the sources among them. `timings` are
    those of `retrieval`, of the `transforms` within it, of `load` and `generation`. `context` is
    what the model was shown; `None` when none was asked.
    """

    json_order: ClassVar[str] = (
        "answer=text found model confidence quotes sources near notes corrections notices route"
        " variants work"
    )

    text: str
    sources: list[SearchResult]
    confidence: float
    found: bool = True
    model: str = nullable("")
    quotes: list[Quote] = field(default_factory=list)
    searched: str = hidden("")
    corrections: dict[str, str] = field(default_factory=dict)
    tags: list[str] = hidden(factory=list)
    verified: float = hidden(0.0)
    sentences: int = hidden(0)
    citations: list[Citation] = hidden(factory=list)
    struck: list[str] = hidden(factory=list)
    thinking: str = hidden("")
    partial: bool = hidden(False)
    finish_reason: str = hidden("")
    failure: RAGError | None = hidden(None)
    usage: dict[str, int | None] = hidden(factory=dict)
    timings: dict[str, float] = hidden(factory=dict)
    context: WindowReport | None = hidden(None)
    notices: list[str] = field(default_factory=list)
    route: str = optional("")
    variants: list[SearchedVariant] = optional(factory=list)
    relaxed: bool = hidden(False)
    results: list[SearchResult] = hidden(factory=list)
    near: list[SearchResult] = optional(factory=list)
    notes: NotesAsked | None = optional(None)
    work: ModelWork | None = inline(None)  # the same of a model, in JSON

    @property
    def quoted_lines(self) -> dict[int, int]:
        """The line of each source that is quoted, of the first quotation of it."""
        places = [
            place for quote in self.quotes for place in ((quote.source, quote.line), *quote.also)
        ]
        return dict(reversed(places))


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


class AnswerStream(NotCopied):
    """Listen to a chat generator, as its `streaming_callback`, and hand on what may be shown of its
    answer. It stops a model of whose first sentences none holds, by a `HopelessError`.

    The prompt builder begins it, and the answer checker ends it; its listeners are those of
    `rag.qa.pipeline.ask`.
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
        self._notify(self._on_thinking, thought)
        if chunk.content and self.verifier:
            self.heard = True
            self.show(self.verifier.feed(chunk.content))
            self._notify(self._on_progress, self.verifier.progress)
            if self.verifier.is_hopeless:
                raise HopelessError("the model was stopped: the notes bear out nothing it writes")

    @contextmanager
    def own_errors(self) -> Iterator[None]:
        """Raise what a listener raised as it is."""
        try:
            yield
        except Exception as error:
            if self.raised:
                raise self.raised from error
            raise

    def show(self, text: str) -> None:
        """Hand on what was verified."""
        self._notify(self._on_text, text)

    def _notify(self, listener: Callable[[T], Any] | None, message: T) -> None:
        try:
            if message and listener:
                listener(message)
        except Exception as error:
            self.raised = error
            raise CallbackError(error) from error
