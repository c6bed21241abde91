"""Starting the warm process, asking after it, and ending it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress

from rag.app.warm_process import Status
from rag.config import RAGConfig, load_config
from rag.daemon import endpoint as place
from rag.exceptions import RAGError, UsageError

_ANSWER = 1.0  # seconds for a word of a parent that is asked after or told to end
_END = 5.0  # seconds for one that was told to end
_START = 30.0
_NAP = 0.01


def status() -> Status | None:
    """Ask after the warm process of this program.

    :returns: `None` when there is none.
    """
    return _ask(place.socket_path(), "status")


def _ask(path: str, wish: str) -> Status | None:
    try:
        with closing(place.connect(path, _ANSWER)) as connection:
            process = place.peer_of(connection)
            try:
                connection.sendall(f"{wish}\n".encode())
                said = connection.recv(256).split()
            except OSError:
                return Status(process, answers=False)
    except (OSError, place.UntrustedError):
        return None
    if len(said) < 4:
        return Status(process)
    process, started, commands, running = map(int, said)
    return Status(process, started, commands, running)


def start() -> Status:
    """Start the warm process, unless there is one, and wait until it listens.

    :raises UsageError: when it is switched off, or cannot run here.
    :raises RAGError: when it does not come up.
    """
    _check_wanted(load_config())
    path = place.socket_path()
    there = status()
    if there and there.answers:
        return there
    if there:
        _kill(there.process, path)
    process = _launch(subprocess.PIPE)
    assert process.stderr
    ready, _, _ = select.select([process.stderr], [], [], _START)
    said = process.stderr.read().decode(errors="replace").strip() if ready else ""
    there = status()
    until = time.monotonic() + _START
    while not there and not _has_ended(path, 0) and time.monotonic() < until:
        time.sleep(_NAP)  # somebody else has begun to start it
        there = status()
    if not there:
        process.kill()
        process.wait()
        hint = "Commands run cold without it. XDG_RUNTIME_DIR names another place for it."
        raise RAGError("the warm process did not start", said, hint=hint)
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
    """End the warm processes of this home, data folder and installation; return which they were.

    There are several where some were started with other limits, for one. A command that runs in one
    is left to end by itself.
    """
    ended = []
    with suppress(OSError, place.UntrustedError):
        place.check_folder(place.folder())
        for entry in sorted(os.listdir(place.folder())):
            if not (entry.startswith(place.name_of()) and entry.endswith(".sock")):
                continue
            path = os.path.join(place.folder(), entry)
            there = _ask(path, "stop")
            if there and not (there.answers and _has_ended(path, _END)):
                _kill(there.process, path)
            if there:
                ended.append(there.process)
    return ended


def _check_wanted(config: RAGConfig) -> None:
    if not config.warm:
        where = config.origins["warm"]
        raise UsageError(
            f"the warm process is switched off (warm = false, from {where})",
            hint="Commands run cold. `RAG_WARM=1 rag warm --start` starts one all the same.",
        )
    if not place.can_be_warm():
        raise UsageError(
            "a warm process cannot run here",
            "it takes Unix sockets, `fork`, and a Python without options of its own",
            hint="Commands run cold.",
        )


def _launch(errors: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", *place.python_options(), "-m", "rag.daemon.server"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        start_new_session=True,
    )


def _has_ended(path: str, seconds: float) -> bool:
    """Wait until no process has the place at `path`; a process lets go of it when it ends."""
    until = time.monotonic() + seconds
    while place.is_taken(path):
        if time.monotonic() >= until:
            return False
        time.sleep(_NAP)
    return True


def _kill(process: int, path: str) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    _has_ended(path, _END)
