"""Vectors of any number of texts, by as many processes as are wanted.

A text that ends the engine, or that it never comes to the end of, costs a process and has no
vector; all others have one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from multiprocessing.connection import wait
from time import monotonic
from typing import Any, NamedTuple

from rag.clients.builtin import failures
from rag.clients.builtin.engine import ONE_THREAD
from rag.clients.builtin.worker import START, Order, embed_beside, embed_for_now
from rag.exceptions import ConnectionError
from rag.support.python_process import PythonProcess

_TEXTS = 8  # of an order: about a second of work
_WINDOW = 4  # orders for each process: so many texts are sorted by length


class EmbeddedTexts(NamedTuple):
    """What became of a few texts; see `rag.clients.protocols.EmbeddedTexts`."""

    vectors: list[tuple[int, list[float]]]
    failures: list[tuple[int, str]]


class _Texts(NamedTuple):
    """Texts that go to a process together, their positions among all, and whether a process has
    failed on them before."""

    positions: list[int]
    texts: list[str]
    is_again: bool = False


class DocumentPool:
    """Processes that embed; `close` ends them.

    :param processes: how many.
    :param seconds: that a process may be at a few texts before it counts as hanging.
    :param is_beside: whether they leave the processor to other programs.
    """

    def __init__(self, processes: int, seconds: float, is_beside: bool = False) -> None:
        self.processes, self.seconds = processes, seconds
        self._work = embed_beside if is_beside else embed_for_now
        self._workers: list[_Worker] = []

    def embed(self, texts: Iterable[str]) -> Generator[EmbeddedTexts]:
        """Yield the vectors of texts, a few at a time, in the order they are done.

        Texts are taken as they are needed, some dozens for each process.

        :raises ConnectionError: when no process starts.
        """
        waiting: deque[_Texts] = deque()
        orders = self._orders(texts)
        while True:
            while len(waiting) < self.processes and (order := next(orders, None)):
                waiting.append(order)
            self._give(waiting)
            busy = [worker for worker in self._workers if worker.order]
            if not busy:
                return
            for worker in self._ready(busy):
                if worker.has_begun(self.seconds):
                    continue
                made = self._take(worker, waiting)
                if made.vectors or made.failures:
                    yield made

    def close(self) -> None:
        """End all processes; `embed` starts others."""
        with ExitStack() as stack:
            for worker in self._workers:
                stack.callback(worker.process.close)
            self._workers = []

    def _orders(self, texts: Iterable[str]) -> Iterator[_Texts]:
        numbered = enumerate(texts)
        while window := list(islice(numbered, _TEXTS * _WINDOW * self.processes)):
            window.sort(key=lambda item: -len(item[1]))  # those of an order end together
            for at in range(0, len(window), _TEXTS):
                positions, found = zip(*window[at : at + _TEXTS], strict=True)
                yield _Texts([*positions], [*found])

    def _give(self, waiting: deque[_Texts]) -> None:
        """Give the idle processes something to do, and start those that lack."""
        idle = [worker for worker in self._workers if not worker.order]
        while waiting:
            if not idle:
                if len(self._workers) >= self.processes:
                    return
                idle.append(self._start())
            idle.pop().give(waiting.popleft())

    def _start(self) -> _Worker:
        try:
            worker = _Worker(self._work)
        except OSError as error:
            raise failures.raised(error) from error
        self._workers.append(worker)
        return worker

    def _ready(self, busy: list[_Worker]) -> list[_Worker]:
        """Wait until a process answers, ends or is late; return those that did."""
        until = min(worker.due for worker in busy)
        ready = wait([w.process.answers for w in busy], max(0.0, until - monotonic()))
        now = monotonic()
        return [w for w in busy if w.process.answers in ready or w.due <= now]

    def _take(self, worker: _Worker, waiting: deque[_Texts]) -> EmbeddedTexts:
        """Return what a process has made. Texts that it failed on are tried again, each alone:
        one of them may be at fault, or somebody has killed the process."""
        positions, texts, is_again = worker.take()
        try:
            vectors = worker.answer(self.seconds)
            return EmbeddedTexts([*zip(positions, vectors, strict=True)], [])
        except ConnectionError as error:
            self._workers.remove(worker)
            worker.process.close()
            if is_again:
                return EmbeddedTexts([], [(positions[0], str(error))])
            alone = zip(positions, texts, strict=True)
            waiting.extendleft(_Texts([at], [text], is_again=True) for at, text in alone)
            return EmbeddedTexts([], [])


class _Worker:
    """A process, and the texts it is at."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.process = PythonProcess(work.__module__, work.__name__, ONE_THREAD)
        self.order: _Texts | None = None
        self.due = 0.0  # when it counts as hanging
        self.said: Any = None  # last; nothing where it is late

    def give(self, order: _Texts) -> None:
        self.order, self.due = order, monotonic() + START
        self.process.order(Order(order.texts))

    def has_begun(self, seconds: float) -> bool:
        """Hear what it says, and return whether it is that it has begun; then it has so long."""
        self.said = None
        if self.process.answers.poll():
            try:
                self.said = self.process.answer()
            except EOFError:
                self.said = failures.ended(self.process.kill())
        if not isinstance(self.said, str):
            return False
        self.due = monotonic() + seconds
        return True

    def take(self) -> _Texts:
        assert self.order
        order, self.order = self.order, None
        return order

    def answer(self, seconds: float) -> list[list[float]]:
        """Return the vectors of the texts it was given, of which it has just spoken.

        :raises ConnectionError: when it has ended, hangs, or says what is wrong.
        """
        if self.said is None:
            self.process.kill()
            raise failures.silent(seconds)
        if isinstance(self.said, ConnectionError):
            raise self.said
        if isinstance(self.said, BaseException):
            raise failures.raised(self.said)
        vectors: list[list[float]] = self.said.tolist()
        return vectors
