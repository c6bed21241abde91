"""Threads that answer requests."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue

Work = Callable[[], None]


class Workers:
    """Threads that are started when they are needed, and kept.

    The one that was busy last is given the next work: requests that come one after the other are
    all answered by one thread. A system's allocator keeps memory for each thread that asks for
    some, and a thread for each request would let it grow.

    :param most: how many there are at once.
    :param waiting: how many works may wait for one.
    """

    def __init__(self, most: int, waiting: int) -> None:
        self._most, self._started, self._room = most, 0, waiting
        self._idle: list[SimpleQueue[Work]] = []
        self._waiting: deque[Work] = deque()
        self._changing = threading.Condition()

    def do(self, work: Work) -> None:
        """Have a thread do some work, now or when one is free; wait while too many do."""
        with self._changing:
            self._changing.wait_for(lambda: len(self._waiting) < self._room)
            if self._idle:
                self._idle.pop().put(work)
                return
            if self._started == self._most:
                self._waiting.append(work)
                return
            self._started += 1
        inbox: SimpleQueue[Work] = SimpleQueue()
        inbox.put(work)
        threading.Thread(target=self._run, args=(inbox,), daemon=True).start()

    def _run(self, inbox: SimpleQueue[Work]) -> None:
        while True:
            inbox.get()()
            with self._changing:
                if self._waiting:
                    inbox.put(self._waiting.popleft())
                else:
                    self._idle.append(inbox)
                self._changing.notify()
