"""Starting the warm process, asking after it, and ending it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from rag.app.program_start import Status
from rag.config import load_config
from rag.daemon import endpoint as place
from rag.exceptions import RAGError, UsageError

if TYPE_CHECKING:
    import _socket

_ANSWER = 1.0  # seconds for a word of a parent that is asked after or told to end
_END = 5.0  # seconds for one that was told to end
_START = 30.0
_NAP = 0.01
_TAKEN = 75  # the exit status of a parent in whose place there is another


def status() -> Status | None:
    """Return what the warm process of this program says of itself; `None` when there is none."""
    try:
        with closing(place.connect(place.socket_path(), _ANSWER)) as connection:
            return _ask(connection, "status")
    except (OSError, place.UntrustedError):
        return None


def _ask(connection: _socket.socket, wish: str) -> Status:
    try:
        connection.sendall(f"{wish}\n".encode())
        process, started, commands, running = map(int, connection.recv(256).split())
    except (OSError, ValueError):
        return Status(place.peer_of(connection), answers=False)
    return Status(process, started, commands, running)


def start() -> Status:
    """Start the warm process, unless there is one, and wait until it listens.

    :raises UsageError: when it is switched off, or cannot run here.
    """
    config = load_config()
    if not config.warm:
        off = f"the warm process is switched off (warm = false, from {config.origins['warm']})"
        hint = "Commands run cold. `RAG_WARM=1 rag warm --start` starts one all the same."
        raise UsageError(off, hint=hint)
    if not place.can_be_warm():
        why = "it takes Unix sockets, `fork`, and a Python without options of its own"
        raise UsageError("a warm process cannot run here", why, hint="Commands run cold.")
    there = status()
    if there and there.answers:
        return there
    if there:
        _end(place.socket_path())
    process = _launch(subprocess.PIPE)
    assert process.stderr
    ready, _, _ = select.select([process.stderr], [], [], _START)
    message = process.stderr.read().decode(errors="replace").strip() if ready else ""
    until = time.monotonic() + _START
    while not (there := status()) and time.monotonic() < until:
        if process.poll() not in (None, _TAKEN):  # else somebody has begun to start another
            break
        time.sleep(_NAP)
    if not there:
        process.kill()
        process.wait()
        hint = "Commands run cold without it. XDG_RUNTIME_DIR names another place for it."
        raise RAGError("the warm process did not start", message, hint=hint)
    process.returncode = 0  # it lives on, and nobody waits for it
    return there


def start_after() -> None:
    """Start the warm process, and do not wait. Where it is switched off nothing happens."""
    if not place.can_be_warm():
        return
    with suppress(OSError, RAGError):
        if load_config().warm:
            _launch(subprocess.DEVNULL).returncode = 0


def stop() -> list[int]:
    """End the warm processes of this home, data folder and installation, of which those with other
    limits are others; return which they were. A command that runs in one ends by itself."""
    ended: list[int] = []
    with suppress(OSError, place.UntrustedError):
        place.check_folder(place.folder())
        for entry in sorted(os.listdir(place.folder())):
            if entry.startswith(place.name_of()) and entry.endswith(".sock"):
                ended += _end(os.path.join(place.folder(), entry))
    return ended


def _end(path: str) -> list[int]:
    try:
        with closing(place.connect(path, _ANSWER)) as connection:
            there = _ask(connection, "stop")
            connection.settimeout(_END if there.answers else _NAP)
            with suppress(OSError):
                try:
                    connection.recv(1)  # it keeps the connection until it ends
                except TimeoutError:
                    os.kill(there.process, signal.SIGKILL)
                    connection.settimeout(_END)
                    connection.recv(1)
            return [there.process]
    except (OSError, place.UntrustedError):
        return []


def _launch(errors: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "rag.daemon.server"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        start_new_session=True,
    )
