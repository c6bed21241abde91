"""Calls whose results are waited for, in processes that a model may end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rag.clients.builtin import engine, failures
from rag.clients.builtin.worker import BEGUN, START, Call, answer_calls
from rag.exceptions import ConnectionError
from rag.support.python_process import PythonProcess
from rag.support.side_process import SideProcess, may_fork

_early: list[PythonProcess] = []


class QueryProcess:
    """Does what somebody waits for; `close` ends what it keeps.

    The program forks for it where it may: the model is read once, in the warm process for all
    commands. Elsewhere (in other programs than ours) another interpreter is started, and kept.

    :param seconds: the longest wait.
    :param prepare: reads the model into this process; without it, it is no model to fork with.
    """

    def __init__(self, seconds: float, prepare: Callable[[], object] | None = None) -> None:
        self.seconds, self.prepare = seconds, prepare
        self._kept: PythonProcess | None = None

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function of a module returns.

        :raises ConnectionError: when the model ends the process, hangs or fails.
        """
        order = Call(function, arguments)
        forks = self.prepare is not None and may_fork()
        made = self._fork(order) if forks else self._ask(order)
        if isinstance(made, BaseException):
            raise failures.raised(made)
        return made

    def close(self) -> None:
        """End the process that is kept; `embed` starts another."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _fork(self, order: Call) -> Any:
        assert self.prepare
        try:
            self.prepare()
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

    def _ask(self, order: Call) -> Any:
        if self._kept is None:
            self._kept = (self._started_early() if self.prepare else None) or _start()
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
        process.order(Call(engine.embed, (["ready"], True)))
        _early.append(process)


def _start() -> PythonProcess:
    try:
        return PythonProcess(answer_calls.__module__, answer_calls.__name__, engine.ONE_THREAD)
    except OSError as error:
        raise failures.raised(error) from error


def _outcome(order: Call) -> Any:
    try:
        return order.function(*order.arguments)
    except Exception as error:
        return error
