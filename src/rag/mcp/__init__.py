"""The notes for agents and editors: a server of the Model Context Protocol, a thin adapter over
`rag.app`, of which nothing that takes long is imported before a client is connected."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

_PAUSE = 0.25  # seconds between two notifications of progress


class CancelledCall(Exception):
    """Nobody wants the answer any more."""


@dataclass
class Call:
    """A request while it is answered; `notify` is given how far it is, a number that rises, and a
    line on it, where somebody wants to know."""

    notify: Callable[[float, str], None] | None = None
    is_cancelled: bool = False
    _steps: int = field(default=0, init=False)
    _notified: float = field(default=0.0, init=False)

    def cancel(self) -> None:
        """Say that nobody wants the answer any more."""
        self.is_cancelled = True

    def check(self) -> None:
        """Go on only where the answer is wanted."""
        if self.is_cancelled:
            raise CancelledCall

    def progress(self, message: str) -> None:
        """Tell how far the answer is, a few times a second at most."""
        self._steps += 1
        if self.notify and time.monotonic() - self._notified >= _PAUSE:
            self._notified = time.monotonic()
            self.notify(float(self._steps), message)
