"""The warm process: it has imported everything, and has one child for each command.

    python -P -m rag.daemon.server [--idle SECONDS]

It reads no settings and opens no index; every child does that for itself, so that a changed
configuration or a new snapshot of the index needs no word to it. It holds no thread when it
forks, and nothing but its socket, its lock, the connections that wait for a child, and a wire to
the child that waits for one.

It ends after some idle minutes, when it is told to, and when it is no longer the program that a
command would run: another file of it on the disk, another Python, another configuration path, or
another socket at its address.
"""

from __future__ import annotations

import argparse
import gc
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import NoReturn

from rag.daemon import child
from rag.daemon import endpoint as place
from rag.daemon.spare import Spare
from rag.daemon.unused_libraries import leave_out_unused
from rag.daemon.version_stamp import program_stamp
from rag.support.runtime_folder import open_folder

IDLE = 900.0  # seconds
_LOOK = 30.0  # seconds between two looks at the disk
_WAITING = 1024  # connections
# What a client forwards. (SIGWINCH too, which ends nobody.)
_SIGNALS = (
    *(signal.SIGTERM, signal.SIGINT, signal.SIGHUP),
    *(signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2),
)


class WarmError(Exception):
    """There can be no warm process here; the message says why."""


class Parent:
    """The process that forks.

    :param path: where it listens.
    :param idle: seconds without a command after which it ends.
    """

    def __init__(self, path: str, idle: float = IDLE) -> None:
        self.path, self.idle = path, idle
        self.configuration = place.configuration_path()
        self.stamp = program_stamp()
        self.started = time.time()
        self.commands = 0
        self.children: set[int] = set()
        self._selector = selectors.DefaultSelector()
        self._queue: list[socket.socket] = []
        self._spare = Spare(self._forked, child.run)
        self._stopping = False
        self._last = time.monotonic()

    def listen(self) -> None:
        """Take the place at the socket, and load the program.

        :raises WarmError: when another process has the place, or a thread would be forked.
        :raises UntrustedError: when somebody else can reach the folder.
        """
        self._lock = _take(self.path)
        from rag.daemon.preload import preload

        preload()
        if _threads() > 1:
            raise WarmError(f"{_threads()} threads run, and a fork would lose all but one")
        gc.collect()
        gc.freeze()  # children share these pages as long as nobody counts through them
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._inode = self._bind(*os.path.split(self.path))
        self._watch(self._listener)
        self._watch_signals()

    def _bind(self, folder: str, name: str) -> int:
        """Listen at a name in the folder, and return the number of its file."""
        beside, within = f"{name}.{os.getpid()}", open_folder(folder)
        try:
            os.fchdir(within)  # the only way to name a socket that lies in a folder that is open
            self._listener.bind(beside)
            self._listener.listen(_WAITING)
            # Whoever finds the socket finds somebody who listens.
            os.rename(beside, name, src_dir_fd=within, dst_dir_fd=within)
            return os.stat(name, dir_fd=within, follow_symlinks=False).st_ino
        finally:
            os.chdir("/")  # no folder is kept from being taken away
            os.close(within)

    def serve(self) -> None:
        """Answer until it is time to end."""
        try:
            while not self._stopping:
                ready = self._ready(self._pause())
                if not ready and (self._is_idle() or not self._is_current()):
                    break
                self._attend(ready)
                while self._queue and not self._stopping:
                    self._fork(self._queue.pop(0))
                    # The others hear that somebody is there, and who has come meanwhile too.
                    self._attend(self._ready(0))
                    self._reassure()
                if not self.children and not self._stopping:  # else they have all processors
                    self._spare.prepare()
        finally:
            self._spare.let_go()
            if self._is_in_place():
                os.unlink(self.path)

    def _watch(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._selector.register(end, selectors.EVENT_READ, end)

    # -- what there is to see to -----------------------------------------------------------

    def _pause(self) -> float:
        if self.children:
            return _LOOK
        return max(0.0, min(_LOOK, self._last + self.idle - time.monotonic()))

    def _ready(self, seconds: float) -> set[socket.socket]:
        return {key.data for key, _ in self._selector.select(seconds)}

    def _attend(self, ready: set[socket.socket]) -> None:
        if self._bell in ready:
            self._bell.recv(4096)
        self._bury()
        if self._listener in ready:
            self._accept()
        is_current = cache(self._is_current)  # one check of the disk for all who come at once
        for connection in ready - {self._bell, self._listener}:
            self._hear(connection, is_current)

    def _is_idle(self) -> bool:
        return not self.children and time.monotonic() - self._last >= self.idle

    def _is_in_place(self) -> bool:
        try:
            return os.stat(self.path).st_ino == self._inode
        except OSError:
            return False

    def _is_current(self) -> bool:
        return self._is_in_place() and program_stamp() == self.stamp

    def _bury(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if self._spare.has_ended(ended[0]):
                    continue
                self.children.discard(ended[0])
                self._last = time.monotonic()
                code = os.waitstatus_to_exitcode(ended[1])
                self.commands -= code == child.NOT_ASKED
                self._stopping |= code == child.NOT_WANTED

    def _accept(self) -> None:
        with suppress(BlockingIOError):
            while True:
                connection, _ = self._listener.accept()
                try:
                    place.peer_of(connection)
                except (OSError, place.UntrustedError):
                    connection.close()
                    continue
                self._watch(connection)

    def _hear(self, connection: socket.socket, is_current: Callable[[], bool]) -> None:
        """A client says what it wants, in one short line."""
        self._selector.unregister(connection)
        try:
            said = os.fsdecode(connection.recv(8192))
        except OSError:
            said = ""
        wish, _, configuration = said.removesuffix("\n").partition(" ")
        if wish == "run":
            if configuration == self.configuration and is_current():
                self._queue.append(connection)
                return
            self._stopping = True
        elif wish == "status":
            figures = (os.getpid(), int(self.started), self.commands, len(self.children))
            _say(connection, " ".join(map(str, figures)) + "\n")
        elif wish == "stop":
            self._stopping = True
        connection.close()

    def _reassure(self) -> None:
        for connection in self._queue:
            _say(connection, ".")

    # -- children --------------------------------------------------------------------------

    def _fork(self, connection: socket.socket) -> None:
        process = self._spare.take(connection) or self._forked(lambda: child.run(connection))
        if process > 0:
            self.children.add(process)
            self.commands += 1
            self._last = time.monotonic()
            _say(connection, f"{process}\n")
        connection.close()

    def _forked(self, work: Callable[[], NoReturn]) -> int:
        """Return the process of a child that does some work; -1 when there can be none."""
        # A signal for the command waits until there is a command that can take it.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            process = os.fork()
        except OSError:  # no memory, or too many processes: the command runs cold
            process = -1
        if process == 0:
            self._become(work)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        if process > 0:
            with suppress(OSError):  # the child does the same; whoever comes first
                os.setpgid(process, process)
        return process

    def _become(self, work: Callable[[], NoReturn]) -> NoReturn:
        """Be the child: with a group of its own for signals, and nothing of the parent's."""
        try:
            signal.set_wakeup_fd(-1)
            for number in (*_SIGNALS, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            os.setpgid(0, 0)
            os.close(self._lock)
            watched = [key.data for key in self._selector.get_map().values()]
            for other in (*watched, *self._queue, self._ringer):
                other.close()
            self._selector.close()
            self._spare.let_go()
            work()
        finally:
            os._exit(1)

    def _watch_signals(self) -> None:
        self._bell, self._ringer = socket.socketpair()
        self._ringer.setblocking(False)
        self._watch(self._bell)
        signal.set_wakeup_fd(self._ringer.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # one that is not handled wakes nobody
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._stop)

    def _stop(self, *_: object) -> None:
        self._stopping = True


def _take(path: str) -> int:
    for _ in range(5):  # somebody may be looking whether the place is free
        lock = place.take(path)
        if lock >= 0:
            return lock
        time.sleep(0.01)
    raise WarmError("there is a warm process already")


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


def _say(connection: socket.socket, text: str) -> None:
    with suppress(OSError):  # it has gone, and its child hears the same
        connection.send(text.encode())


def main() -> int:
    """Be the warm process until it is time to end; stderr is closed once it listens."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--idle", type=float, default=IDLE)
    arguments = parser.parse_args()
    os.umask(0o077)
    leave_out_unused()  # which makes a fork quicker, too
    path = place.socket_path()
    try:
        parent = Parent(path, arguments.idle)
        parent.listen()
    except (OSError, WarmError, place.UntrustedError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    os.close(nowhere)
    parent.serve()
    return 0


if __name__ == "__main__":
    os._exit(main())
