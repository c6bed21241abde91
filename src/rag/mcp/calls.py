"""What every tool is given besides its request, and how it refuses: below the protocol, so that
tools do not know it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

TEMPLATE = "rag://note/{vault}/{+path}"  # of the addresses of notes as resources
_PAUSE = 0.25  # seconds between two notifications of progress


class ArgumentError(Exception):
    """Arguments that are not taken; the message says which are."""


class MissingResourceError(Exception):
    """There is no such note."""


class CancelledCall(Exception):
    """Nobody wants the answer any more."""


@dataclass
class Call:
    """A request while it is answered.

    :param tell_progress: is given how far it is, a number that rises, and a line on it; `None`
        where nobody wants to know.
    """

    tell_progress: Callable[[float, str], None] | None = None
    _cancelled: threading.Event = field(default_factory=threading.Event)
    _steps: int = 0
    _told: float = 0.0

    def cancel(self) -> None:
        """Say that nobody wants the answer any more."""
        self._cancelled.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody wants the answer any more."""
        return self._cancelled.is_set()

    def check(self) -> None:
        """Go on only where the answer is wanted.

        :raises CancelledCall: when it is not.
        """
        if self.is_cancelled:
            raise CancelledCall

    def progress(self, message: str, *, at_once: bool = False) -> None:
        """Tell how far the answer is, a few times a second at most.

        :param at_once: tell it however lately something was told.
        """
        now = time.monotonic()
        self._steps += 1
        if self.tell_progress and (at_once or now - self._told >= _PAUSE):
            self._told = now
            self.tell_progress(float(self._steps), message)
