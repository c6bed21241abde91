"""The warm process: it has imported everything, and forks one child for each command.

    python -P -m rag.daemon.server [--idle SECONDS]

It reads no settings and opens no index; every child does that for itself, so that a changed
configuration or a new snapshot of the index needs no word to it. It holds no thread when it
forks, and nothing but its socket, its lock and its connections.

It ends after some idle minutes, when it is told to, and when it is no longer the program that a
command would run: another file of it on the disk, another Python, or another socket at its address.
"""

from __future__ import annotations

import fcntl
import gc
import locale
import marshal
import os
import pkgutil
import selectors
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import rag
from rag.config import load_config
from rag.daemon import endpoint as place
from rag.support import process_exit as leaving
from rag.support.runtime_folder import open_file, open_folder

IDLE = 900.0  # seconds
_LOOK = 30.0  # seconds between two looks at the disk
_WAITING = 1024  # connections
_LEAVING = 5.0  # seconds for an exit code to leave
_NOT_WANTED = 3  # the exit status of a child whose configuration wants no warm process
TAKEN = 75  # the exit status of a process in whose place there is another
# What a client forwards. (SIGWINCH too, which ends nobody.)
_SIGNALS = (
    *(signal.SIGTERM, signal.SIGINT, signal.SIGHUP),
    *(signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2),
)
# No command loads these. Only the making of a collection on a server loads one, whose client takes
# most of a second and 50 MB, and only the process that embeds notes another, with onnxruntime.
_NOT_PRELOADED = (
    *("__main__", "daemon.server"),
    *("stores.server.collection", "clients.local.int8_engine", "clients.local.reader"),
)
# Modules of others that commands import when they run.
_PRELOADED = (
    *("encodings.ascii", "encodings.utf_32_le", "encodings.utf_8_sig", "frontmatter", "numpy.ma"),
    *("haystack.tools.toolset", "regex"),
    *("pathspec", "platformdirs", "rapidfuzz.distance", "rapidfuzz.process", "rich.markdown"),
    *("rich.padding", "rich.progress", "rich.table", "typer._adapters", "typer._click._textwrap"),
    "typer._click.decorators",
)
# Libraries of linear algebra start threads as soon as they are imported. None is needed here, and
# none would live on in a forked process.
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class TakenError(Exception):
    """Another process has the place."""


# -- the parent ----------------------------------------------------------------------------


class Parent:
    """The process that forks.

    :param path: where it listens.
    :param idle: seconds without a command after which it ends.
    """

    def __init__(self, path: str, idle: float = IDLE) -> None:
        self.path, self.idle = path, idle
        self.stamp = program_stamp()
        self.started = time.time()
        self.commands = 0
        self.children: set[int] = set()
        self._selector = selectors.DefaultSelector()
        self._stopping = False
        self._waiting: list[socket.socket] = []
        self._last = time.monotonic()

    def listen(self) -> None:
        """Take the place at the socket, and load the program.

        :raises TakenError: when another process has the place.
        :raises UntrustedError: when somebody else can reach the folder.
        """
        self._lock = take(self.path)
        preload()
        gc.collect()
        gc.freeze()  # children share these pages as long as nobody counts through them
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        folder, name = os.path.split(self.path)
        beside, within = f"{name}.{os.getpid()}", open_folder(folder)
        try:
            os.fchdir(within)  # the only way to name a socket that lies in a folder that is open
            self._listener.bind(beside)
            self._listener.listen(_WAITING)
            # Whoever finds the socket finds somebody who listens.
            os.rename(beside, name, src_dir_fd=within, dst_dir_fd=within)
            self._inode = os.stat(name, dir_fd=within, follow_symlinks=False).st_ino
        finally:
            os.chdir("/")  # no folder is kept from being taken away
            os.close(within)
        self._bell, self._ringer = socket.socketpair()
        self._ringer.setblocking(False)
        for end in (self._listener, self._bell):
            self._watch(end)
        signal.set_wakeup_fd(self._ringer.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # one that is not handled wakes nobody
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._stop)

    def serve(self) -> None:
        """Answer until it is time to end."""
        try:
            while not self._stopping:
                left = _LOOK if self.children else self._last + self.idle - time.monotonic()
                events = self._selector.select(max(0.0, min(_LOOK, left)))
                ready = {key.data for key, _ in events}
                if not ready and (left <= 0 or not self._is_current()):
                    break
                if self._bell in ready:
                    self._bell.recv(4096)
                with suppress(ChildProcessError):
                    while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                        self.children.discard(ended[0])
                        self._last = time.monotonic()
                        self._stopping |= os.waitstatus_to_exitcode(ended[1]) == _NOT_WANTED
                if self._listener in ready:
                    self._accept()
                for connection in ready - {self._bell, self._listener}:
                    self._answer(connection)
        finally:
            if self._is_in_place():
                os.unlink(self.path)

    def _watch(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._selector.register(end, selectors.EVENT_READ, end)

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _is_in_place(self) -> bool:
        try:
            return os.stat(self.path).st_ino == self._inode
        except OSError:
            return False

    def _is_current(self) -> bool:
        return self._is_in_place() and program_stamp() == self.stamp

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

    def _answer(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        with suppress(OSError), connection:  # it may have gone
            wish = connection.recv(64).strip()
            if wish == b"run" and not self._stopping and self._is_current():
                self._fork(connection)
                return
            self._stopping |= wish in (b"run", b"stop")
            if wish != b"run":
                figures = (os.getpid(), int(self.started), self.commands, len(self.children))
                connection.send(" ".join(map(str, figures)).encode() + b"\n")
            if wish == b"stop":
                self._waiting.append(connection.dup())  # who waits for our end sees it close

    def _fork(self, connection: socket.socket) -> None:
        """Let a child do what comes over a connection; where there can be none, it runs cold."""
        # A signal for the command waits until there is a command that can take it.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            process = os.fork()
            if process == 0:
                self._become(connection)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        self.children.add(process)
        self.commands += 1
        self._last = time.monotonic()

    def _become(self, connection: socket.socket) -> NoReturn:
        """Be the child: with a group of its own for signals, and nothing of the parent's."""
        try:
            signal.set_wakeup_fd(-1)
            for number in (*_SIGNALS, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            os.setpgid(0, 0)
            os.close(self._lock)
            for key in self._selector.get_map().values():
                key.data.close()
            self._ringer.close()
            self._selector.close()
            connection.setblocking(True)
            connection.sendall(f"{os.getpid()}\n".encode())
            run(connection)
        finally:
            os._exit(1)


def take(path: str) -> int:
    """Take the place at a socket, which only one process can have, for as long as it lives; return
    the descriptor that holds it.

    :raises TakenError: when another process has it.
    :raises UntrustedError: when somebody else can reach the folder; nothing is made there then.
    """
    lock = open_file(f"{path.removesuffix('.sock')}.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        raise TakenError("there is a warm process already") from error
    return lock


# -- the program ---------------------------------------------------------------------------


def program_stamp() -> frozenset[tuple[str, int, int]]:
    """Return names, times and sizes of what this program is made of: its own modules, Python
    itself, and the folders that hold packages, which an installation changes."""
    stamps = []
    for path in (sys.executable, *filter(os.path.isdir, sys.path)):
        with suppress(OSError):
            stamps.append((path, os.stat(path).st_mtime_ns, 0))  # a folder's size says nothing
    for folder, _, files in os.walk(os.path.realpath(rag.__path__[0])):
        for file in (os.path.join(folder, name) for name in files if name.endswith(".py")):
            with suppress(OSError):  # gone by now, or a link to nowhere
                status = os.stat(file)
                stamps.append((file, status.st_mtime_ns, status.st_size))
    return frozenset(stamps)


def preload() -> None:
    """Import what commands import, and build what does not depend on any of them, without a thread
    or a file that stays open."""
    from rich.cells import cell_len

    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    ours = (module.name for module in pkgutil.walk_packages(rag.__path__, "rag."))
    for name in (*ours, *_PRELOADED):
        if name.removeprefix("rag.") not in _NOT_PRELOADED:
            import_module(name)
    from rag.cli.app import program
    from rag.cli.framework.lazy_group import build_checks
    from rag.clients.factory import load_models

    load_models()
    cell_len("語")  # the widths of characters, a table that loads with the first wide one
    program()
    build_checks()


# -- the child -----------------------------------------------------------------------------


def receive(connection: socket.socket) -> tuple[Any, ...] | None:
    """Return what `client._request` says, and the descriptors of the standard streams; `None` when
    half of it comes, or nothing."""
    connection.settimeout(None)  # it comes at once, or when a stopped client goes on
    try:
        head, streams, _, _ = socket.recv_fds(connection, 4, 3)
        with connection.makefile("rb") as stream:
            request = stream.read(int.from_bytes(head, "big"))
        return (*marshal.loads(request), streams) if len(streams) == 3 else None
    except (OSError, ValueError, EOFError, TypeError):
        return None


def run(connection: socket.socket) -> NoReturn:
    """Run the command that comes over a connection, tell its exit code, and end the process, which
    has just been forked, with its signals blocked and at their defaults."""
    request = receive(connection)
    if request is None:
        os._exit(0)
    try:
        arguments = _take_over(*request)
    except (OSError, ValueError):  # a folder that cannot be entered, for one
        _leave(connection, "cold")
    code = 1
    try:
        from rag.cli.app import run as run_command

        sys.argv = ["rag", *arguments]
        leaving.begin()
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            code = leaving.finish(run_command(arguments))
        except KeyboardInterrupt:
            code = leaving.interrupted()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # nothing is left to interrupt
    except KeyboardInterrupt:  # once more
        code = leaving.INTERRUPTED
    except BaseException:  # as the interpreter does it: what users can cause is a message
        traceback.print_exc()
        code = leaving.finish(code)
    finally:
        _leave(connection, str(code))


def _take_over(
    arguments: list[str],
    folder: bytes,
    mask: int,
    ignored: list[int],
    environment: list[tuple[bytes, bytes]],
    streams: list[int],
) -> list[str]:
    os.chdir(folder)
    os.umask(mask)
    os.environ.clear()
    for variable, value in environment:
        if variable:  # Python takes one without a name from its surroundings, and sets none
            os.environb[variable] = value
    time.tzset()
    try:
        locale.setlocale(locale.LC_CTYPE, "")
    except locale.Error:
        locale.setlocale(locale.LC_CTYPE, "C")
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    errors = sys.stdin.errors  # follow the locale, which an interpreter reads but once
    for name, stream in (
        ("stdin", open(0, encoding="utf-8", errors=errors, closefd=False)),
        ("stdout", open(1, "w", encoding="utf-8", closefd=False)),
        ("stderr", open(2, "w", 1, encoding="utf-8", closefd=False)),
    ):
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
    return arguments


def _leave(connection: socket.socket, word: str) -> NoReturn:
    """Tell the client how it ended. The exit status of this process is for the parent."""
    status = 0
    try:
        _close_streams()  # whoever reads our output must see its end before the exit code
        connection.settimeout(_LEAVING)
        connection.sendall(f"{word}\n".encode())
        connection.close()
        status = 0 if load_config().warm else _NOT_WANTED
    finally:
        os._exit(status)


def main() -> int:
    """Be the warm process until it is time to end; stderr is closed once it listens."""
    idle = float(sys.argv[2]) if sys.argv[1:2] == ["--idle"] else IDLE
    os.umask(0o077)
    try:
        parent = Parent(place.socket_path(), idle)
        parent.listen()
    except (OSError, TakenError, place.UntrustedError) as error:
        sys.stderr.write(f"{error}\n")
        return TAKEN if isinstance(error, TakenError) else 1
    _close_streams()
    parent.serve()
    return 0


def _close_streams() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    os.close(nowhere)


if __name__ == "__main__":
    os._exit(main())
