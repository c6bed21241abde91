"""One machine writes an index on a server: who it is stands in the head of the catalog.

A run notes there that it is writing, before its first write and again every few seconds. So
another machine that is told to take over can see that a run goes on, without comparing clocks, and
a run that was taken over stops before its next write.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from rag.exceptions import LockedError, UsageError
from rag.index.snapshots import IndexDirectory
from rag.stores.server.catalog import Catalog, ChangedError
from rag.stores.server.head import Head
from rag.stores.server.identity import Machine, ServerMark, new_id

_TAKE_OVER = "To write it from here from now on: `rag index --take-over`"

_RENEWED = 5.0  # seconds after which a run says again that it is writing


class WriterClaim:
    """The right of this machine to write an index.

    :param catalog: of the index.
    :param directory: returns the folder of the index here.
    :param timeout: seconds that a request may take.
    """

    def __init__(
        self, catalog: Catalog, directory: Callable[[], IndexDirectory], timeout: float
    ) -> None:
        self._catalog, self._directory = catalog, directory
        self._seconds = _RENEWED + timeout + 5.0
        self._head: Head | None = None
        self._run = ""
        self._held = 0.0

    def check(self, is_used: Callable[[], bool]) -> None:
        """Make sure that this machine may write; an index that is new becomes its own.

        :param is_used: whether there are points of whoever.
        :raises UsageError: when another machine writes the index, or the points are not of one.
        """
        folder = self._directory().path
        mark = ServerMark.read(folder)
        machine = self._machine()
        head = self._catalog.head()
        check_writer(head, mark, machine, is_free=lambda head: not (head.run or is_used()))
        if head is None:
            if mark is None and is_used():
                raise UsageError(
                    f"{self._place()} holds points, and no catalog says whose they are",
                    hint="Index on the machine that wrote them, or name another in"
                    " store.collection.",
                )
            mark = mark if mark and mark.index else ServerMark(new_id())
            ServerMark(mark.index).write(folder)
            head = self._catalog.create(Head(mark.index, **self._begin(machine)))
            if head.machine != machine.id:  # it was faster
                self._run = ""
                raise written_elsewhere(head, machine)
        elif head.machine != machine.id:
            head = self._change_to(head, self._begin(machine))
        if mark is None or mark.index != head.index:
            ServerMark(head.index).write(folder)
        self._head = head

    def _begin(self, machine: Machine) -> dict[str, Any]:
        """Return what the head says of a machine that begins to write a new index."""
        self._run, self._held = new_id(), time.time()
        return {
            "machine": machine.id,
            "name": machine.name,
            "since": moment(),
            "run": self._run,
            "seconds": self._seconds,
            "unfinished": True,
        }

    def _change_to(self, head: Head, values: dict[str, Any]) -> Head:
        try:
            return self._catalog.change(head, **values)
        except ChangedError as error:
            self._run = ""
            raise written_elsewhere(error.head or head, self._machine()) from error

    @property
    def is_published(self) -> bool:
        """Whether the catalog is that of the current snapshot here, and whole."""
        head, mark = self._head, ServerMark.read(self._directory().path)
        if head is None or mark is None or not head.version or head.version != mark.version:
            return False
        return not head.unfinished and self._catalog.is_whole(head)

    def hold(self) -> None:
        """Say that points are being written.

        :raises LockedError: when another machine has taken over.
        """
        # By the clock that goes on while the machine sleeps: others have waited meanwhile.
        if self._run and 0 <= time.time() - self._held < _RENEWED:
            return
        self._run = self._run or new_id()
        self._change(self._catalog.change, run=self._run, seconds=self._seconds, unfinished=True)

    def publish(self, points: int, revision: int) -> None:
        """Make the files of the staging index the catalog.

        :param points: how many points belong to it.
        :param revision: of its manifest.
        :raises LockedError: when another machine has taken over.
        """
        directory = self._directory()
        mark = ServerMark.read(directory.path) or ServerMark(new_id())
        version = new_id()
        replace(mark, coming=version).write(directory.path)

        def send(head: Head, **facts: Any) -> Head:
            return self._catalog.publish(head, directory.work, **facts)

        self._change(
            send,
            version=version,
            points=points,
            revision=revision,
            published=moment(),
            run="",
            unfinished=False,
        )
        self._run = ""

    def published(self) -> None:
        """Note that the catalog just published is the current snapshot here."""
        if self._head:
            self._head.mark(self._head.version).write(self._directory().path)

    def release(self) -> None:
        """Say that no run is writing, if that can be said."""
        if self._run and self._head:
            with suppress(Exception):  # whoever takes over waits a while then
                self._catalog.change(self._head, run="")
        self._head, self._run = None, ""

    def _change(self, change: Callable[..., Head], **values: Any) -> None:
        assert self._head is not None, "`check` comes first"
        try:
            self._head = change(self._head, **values)
        except ChangedError as error:
            self._run = ""
            name = error.head.name if error.head else "somebody"
            raise LockedError(
                f"{name} has taken over the index while it was written here",
                "nothing more is written from here, and nothing of it was published",
                hint=_TAKE_OVER,
            ) from error
        self._held = time.time()

    def _machine(self) -> Machine:
        return Machine.of(self._directory())

    def _place(self) -> str:
        settings = self._catalog.settings
        return f"the collection {settings.collection!r} at {settings.url}"


def check_writer(
    head: Head | None,
    mark: ServerMark | None,
    machine: Machine,
    is_free: Callable[[Head], bool] = lambda head: True,
) -> None:
    """Make sure that a machine may write an index.

    :param head: of the catalog, `None` when there is none: a new index, or one whose catalog was
        deleted.
    :param mark: what the machine's folder knows of the index.
    :param is_free: whether a machine that published nothing left nothing either.
    :raises UsageError: when another machine does, or has done since.
    """
    if head is None:
        if mark and mark.machine not in ("", machine.id):
            raise UsageError(
                f"{_called(mark.name, machine)} wrote this index, and its catalog is gone from the"
                " server",
                hint=f"Index there: that publishes it again. {_TAKE_OVER}",
            )
        return
    if head.machine != machine.id and (head.version or not is_free(head)):
        raise written_elsewhere(head, machine)
    if head.version and head.version not in (mark.known() if mark else ()):
        raise UsageError(
            f"this index was written from another folder since ({_to_the_minute(head.published)})",
            hint=f"Index there. {_TAKE_OVER}",
        )


def written_elsewhere(head: Head, machine: Machine) -> UsageError:
    """Return the error that says which other machine writes an index."""
    since = f", since {_to_the_minute(head.since)}" if head.since else ""
    return UsageError(
        f"{_called(head.name, machine)} writes this index{since}",
        hint=f"Index there. {_TAKE_OVER}",
    )


def _called(name: str, machine: Machine) -> str:
    return f"another data folder on {name}" if name == machine.name else name


def moment() -> str:
    """Return the present moment, as it is shown."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


def _to_the_minute(moment: str) -> str:
    return moment[:16].replace("T", " ")
