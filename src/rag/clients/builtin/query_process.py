"""The vectors of a query, by a process that its engine may end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rag.clients.builtin import engine, failures
from rag.clients.builtin.worker import BEGUN, START, Order, embed_for_now
from rag.exceptions import ConnectionError
from rag.support.python_process import PythonProcess
from rag.support.side_process import SideProcess, may_fork

_early: list[PythonProcess] = []


class QueryProcess:
    """Embeds a few texts at once and is waited for; `close` ends what it keeps.

    The program forks for it: the model is read once, in the warm process for all commands. Where a
    process may not be forked (other programs than ours) another interpreter is started, and kept.

    :param seconds: the longest wait.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._kept: PythonProcess | None = None

    def embed(self, texts: Sequence[str], is_query: bool) -> list[list[float]]:
        """Return the vectors of texts.

        :raises ConnectionError: when the engine ends, hangs or fails.
        """
        order = Order([*texts], is_query)
        made = self._fork(order) if may_fork() else self._ask(order)
        if isinstance(made, BaseException):
            raise failures.raised(made)
        vectors: list[list[float]] = made.tolist()
        return vectors

    def close(self) -> None:
        """End the process that is kept; `embed` starts another."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _fork(self, order: Order) -> Any:
        try:
            engine.load()
            process = SideProcess(lambda say: say(_outcome(order)))
        except (OSError, RuntimeError) as error:
            raise failures.raised(error) from error
        try:
            if not process.says_something(self.seconds):
                process.kill()
                raise failures.silent(self.seconds)
            with suppress(EOFError):
                return process.hear()
        finally:
            code = process.join()
        raise failures.ended(code)

    def _ask(self, order: Order) -> Any:
        if self._kept is None:
            self._kept = self._started_early() or _start()
        process = self._kept
        process.order(order)
        try:
            answer = self._answer_of(process)
            if answer is not None:
                return answer
            error = failures.silent(self.seconds)
        except EOFError:
            error = failures.ended(process.kill())
        self.close()
        raise error

    def _answer_of(self, process: PythonProcess) -> Any:
        """Return the answer to an order; `None` when it takes too long.

        :raises EOFError: when the process ends.
        """
        has_begun = process.answers.poll(START) and process.answer() == BEGUN
        return process.answer() if has_begun and process.answers.poll(self.seconds) else None

    def _started_early(self) -> PythonProcess | None:
        """Return a process that was started before it was needed, once it is ready."""
        while _early:
            process = _early.pop()
            with suppress(EOFError):
                if self._answer_of(process) is not None:
                    return process
            process.close()
        return None


def start_early() -> None:
    """Start a process that the first query will find ready: to start and to read the model takes
    .2 s, in which a program that begins can do other things."""
    with suppress(ConnectionError):
        process = _start()
        process.order(Order(["ready"], True))
        _early.append(process)


def _start() -> PythonProcess:
    try:
        return PythonProcess(embed_for_now.__module__, embed_for_now.__name__, engine.ONE_THREAD)
    except OSError as error:
        raise failures.raised(error) from error


def _outcome(order: Order) -> Any:
    try:
        return engine.embed(order.texts, order.is_query)
    except Exception as error:
        return error
