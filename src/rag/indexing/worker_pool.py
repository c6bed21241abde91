"""Processes that build batches, as many as pay."""

from __future__ import annotations

import gc
import signal
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import wait

from rag.exceptions import INDEX_AGAIN, IndexingError
from rag.indexing.bulk_build import BuiltSegments, NoteBatch, Progress, build
from rag.support.disk_space import be_watched, disk_full
from rag.support.memory_limits import free_memory, give_back, limit_arenas
from rag.support.processes import PythonProcess, may_start, processors, take_orders
from rag.text.bm25_documents import DocumentEncoder

_MOST = 2
_MEMORY = 450 << 20  # bytes that each may take, the files counted that it has mapped


def build_all(
    batches: Sequence[NoteBatch], progress: Progress, processes: int | None = None
) -> Generator[BuiltSegments]:
    """Build batches and yield what became of each, in order.

    :param progress: called repeatedly with how many more notes are done.
    :param processes: how many may be at it; by default as many as there are processors and free
        memory for, at most 2. With one, or a single note batch, this process does it itself.
    :raises RAGError: what went wrong with a note batch, after all before it were yielded.
    """
    count = min(processes or _affordable(), len(batches), _MOST)
    with ExitStack() as stack:
        workers = _start(count, stack) if count > 1 else []
        if workers:
            yield from _collect(workers, batches, progress)
            return
    encoder = DocumentEncoder()
    for batch in batches:
        yield build(batch, encoder, progress)
        give_back()


def _start(count: int, stack: ExitStack) -> list[_Worker]:
    """Start workers, as many as the system allows."""
    workers: list[_Worker] = []
    if not may_start():
        return workers
    with suppress(OSError):
        while len(workers) < count:
            workers.append(stack.enter_context(_Worker()))
    return workers


def _affordable() -> int:
    """Return how many there are processors for, and memory where the system tells."""
    count, free = processors(), free_memory()
    if free is not None:
        count = min(count, free // _MEMORY)
    return max(1, count)


def _collect(
    workers: list[_Worker], batches: Sequence[NoteBatch], progress: Progress
) -> Generator[BuiltSegments]:
    waiting = deque(enumerate(batches))
    outcomes: dict[int, BuiltSegments | BaseException] = {}
    for worker in workers:
        worker.give(*waiting.popleft())
    for number in range(len(batches)):
        while number not in outcomes:
            busy = [worker for worker in workers if worker.number is not None]
            ready = wait([worker.answers for worker in busy])
            for worker in (worker for worker in busy if worker.answers in ready):
                at, answer = worker.take()
                if isinstance(answer, int):
                    progress(answer)
                    continue
                outcomes[at] = answer
                if waiting:
                    worker.give(*waiting.popleft())
        outcome = outcomes.pop(number)
        if isinstance(outcome, BaseException):
            raise outcome
        yield outcome


class _Worker:
    """A process, and the number of the note batch it is at."""

    def __init__(self) -> None:
        self.process = PythonProcess(__name__, work.__name__)
        self.answers = self.process.answers
        self.number: int | None = None

    def give(self, number: int, batch: NoteBatch) -> None:
        self.number, self.batch = number, batch
        self.process.order(batch)

    def take(self) -> tuple[int, int | BuiltSegments | BaseException]:
        """Return the number of its note batch, and how many more notes are done, or the outcome."""
        number = self.number
        assert number is not None
        try:
            answer: int | BuiltSegments | BaseException = self.process.answer()
        except EOFError as error:  # it ended before, or it cannot be trusted
            answer = _why_ended(self.process.kill(), self.batch)
            answer.__cause__ = error
        if not isinstance(answer, int):
            self.number = None
        return number, answer

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.close()


def _why_ended(code: int, batch: NoteBatch) -> IndexingError:
    """Return what the end of a worker means that was at a note batch."""
    if code == -signal.SIGBUS:  # no block of the disk for what the engine has mapped
        return disk_full(batch.directory)
    return IndexingError(
        "a process that reads notes ended before its time",
        f"signal {-code}" if code < 0 else f"exit code {code}",
        hint=INDEX_AGAIN,
    )


def work() -> None:
    """Be a worker: build batches until the standard input ends."""
    be_watched()
    limit_arenas(1)
    gc.disable()  # indexing makes millions of short-lived lists and no circles among them
    encoder = DocumentEncoder()
    take_orders(lambda batch, tell: build(batch, encoder, tell), _clean_up)


def _clean_up() -> None:
    gc.collect()
    give_back()
