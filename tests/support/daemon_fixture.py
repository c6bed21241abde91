"""A warm process of the tests' own, and ways to run a command in it and without it."""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from processes import children_of, processes_with, state_of
from rag.daemon import endpoint as place

REPO = Path(__file__).resolve().parents[2]
RAG = [sys.executable, "-m", "rag"]
_LIGHT = """
from rag.daemon import server
server.preload = lambda: None
raise SystemExit(server.main())
"""


def wait_until(holds: Callable[[], Any], seconds: float = 60) -> Any:
    """Return what `holds` returns as soon as it is something; fail after a while."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.01)
    return found


def settle(process: int) -> None:
    """Wait until a process waits, for something to be typed for example."""
    for _ in range(5):
        wait_until(lambda: state_of(process) == "S")
        time.sleep(0.01)


def reads_stdin(process: int) -> bool:
    """Whether a process waits for something to read, as far as the system tells."""
    try:
        number, _, first = Path(f"/proc/{process}/syscall").read_text("ascii").partition(" ")
    except OSError:
        return False
    return number in ("0", "63") and first.startswith("0x0 ")  # read, on two kinds of machine


def ask(path: Path, wish: bytes = b"status\n") -> list[int]:
    """Return what a warm process says: itself, since when, commands, running ones."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(path))
        connection.sendall(wish)
        return [int(word) for word in connection.recv(256).split()]


def sockets_in(folder: Path) -> list[Path]:
    """Return where somebody listens, or has, in a runtime folder."""
    return sorted(path for path in folder.glob("rag/*.sock") if not path.is_symlink())


def let_in(folder: Path, environment: Mapping[str, str]) -> None:
    """Let commands of another home and data folder find what runs in a runtime folder, by links.

    The lock is theirs too, so that a command at a terminal that ran cold starts no other.
    """
    for path in sockets_in(folder):
        name = place.name_of(environment)
        link = path.with_name(name + path.name[len(name) :])
        with suppress(FileExistsError):
            link.symlink_to(path)
            link.with_suffix(".lock").hardlink_to(path.with_suffix(".lock"))


class Daemon:
    """A runtime folder, and whatever runs in it.

    An address of a socket is short, the folder of a test is not.

    :param is_shared: commands of every home and data folder find the one that runs here.
    """

    def __init__(self, is_shared: bool = False) -> None:
        self.is_shared = is_shared
        self.folder = Path(tempfile.mkdtemp(prefix="rag-", dir="/tmp"))
        self.launched: list[subprocess.Popen[bytes]] = []

    def environment(self, **variables: str) -> dict[str, str]:
        """Return the environment of a command that finds what runs here."""
        outside = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        daemon = {"RAG_WARM": "1", "XDG_RUNTIME_DIR": str(self.folder)}
        given = {**outside, "PYTHONPATH": str(REPO / "src"), **daemon, **variables}
        if self.is_shared:
            let_in(self.folder, given)
        return given

    def run(self, *arguments: str | bytes | Path, **options: Any) -> subprocess.CompletedProcess:
        """Run `rag` with these arguments; `env` holds variables besides the usual ones."""
        options = {"stdin": subprocess.DEVNULL, "capture_output": True, "timeout": 60, **options}
        if "input" in options:
            del options["stdin"]
        options["env"] = self.environment(**options.get("env", {}))
        command = [a if isinstance(a, bytes) else str(a) for a in (*RAG, *arguments)]
        return subprocess.run(command, **options)

    def start(self, **variables: str) -> int:
        """Start the warm process, and return it."""
        done = self.run("warm", "--start", "--json", env=variables)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["warm"]["process"]

    def launch(self, *options: str, **variables: str) -> subprocess.Popen[bytes]:
        """Start a warm process that has loaded nothing beforehand, and wait until it listens.

        It starts quickly, which is for tests of when it starts and ends.
        """
        process = self.launch_only(*options, **variables)
        assert process.stderr
        assert process.stderr.read() == b""  # it is closed once it listens
        process.stderr.close()
        return process

    def launch_only(self, *options: str, **variables: str) -> subprocess.Popen[bytes]:
        """Do not wait for it."""
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _LIGHT, *options],
            env=self.environment(**variables),
            stderr=subprocess.PIPE,
        )
        self.launched.append(process)
        return process

    def sockets(self) -> list[Path]:
        """Return where somebody listens, or has."""
        return sockets_in(self.folder)

    def ask(self, wish: bytes = b"status\n") -> list[int]:
        """Return what the only warm process says: itself, since when, commands, running ones."""
        (path,) = self.sockets()
        return ask(path, wish)

    def is_up(self) -> bool:
        """Whether the warm process answers."""
        try:
            return bool(self.ask())
        except (OSError, ValueError):  # nobody listens there
            return False

    def commands(self) -> int:
        """Return how many commands the only warm process has begun."""
        return self.ask()[2]

    def processes(self) -> list[int]:
        """Return all processes that run here."""
        return processes_with(f"XDG_RUNTIME_DIR={self.folder}")

    def child(self) -> int:
        """Wait for the only child of the only warm process."""
        parent = self.ask()[0]
        # That of the test before may not be buried yet.
        (child,) = wait_until(lambda: len(found := children_of(parent)) == 1 and found)
        return child

    def peers(self) -> Iterator[int]:
        """Yield who listens, which is all there is to know without /proc."""
        for path in self.sockets():
            with (
                suppress(OSError, place.UntrustedError),
                closing(place.connect(str(path), 5)) as end,
            ):
                yield place.peer_of(end)

    def clear(self) -> None:
        """Kill all that runs here."""
        for process in (*self.peers(), *self.processes()):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for launched in self.launched:
            launched.wait(30)
            if launched.stderr:
                launched.stderr.close()
        shutil.rmtree(self.folder)


def normal(text: str) -> str:
    """Leave out of what a command shows whatever differs from one run to the next."""
    text = re.sub(r"\d\d:\d\d:\d\d", "TIME", text)
    text = re.sub(r"\]8;id=\d+;", "]8;id=N;", text)  # of links, which are the same by chance only
    text = re.sub(r'("milliseconds": )[\d.]+', r"\1N", text)
    text = re.sub(r"\bm(?!illiseconds)[a-z0-9]{11}\b", "ENTRY", text)  # of the audit
    text = re.sub(r'("elapsed_ms": )[\d.]+', r"\1N", text)
    text = re.sub(r"\b\d+(\.\d+)?( ?m?s\b| seconds?\b| minutes?\b)", r"N\2", text)
    text = re.sub(r'("(seconds|age_seconds|age)": )[\d.]+', r"\1N", text)
    text = re.sub(r"\d{4}-\d\d-\d\dTTIME[\d.]*(Z|[+-][\d:]+)?", "WHEN", text)
    text = re.sub(r"[\d.]+ (MB\b|GB free)", r"N \1", text)  # others write too
    text = re.sub(r'("(free_bytes|index_bytes|bytes)": )\d+', r"\1N", text)
    return re.sub(r"(process|pid) \d+", r"\1 N", text)


class Terminal:
    """A program with all its streams on a terminal of its own, as under a shell."""

    def __init__(self, command: list[str], env: dict[str, str], columns: int = 100) -> None:
        self.shown = b""
        self.main, side = pty.openpty()
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), side)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _AT_TERMINAL, *command], env=env, **streams
        )
        os.close(side)

    def type(self, text: str | bytes) -> None:
        """Type something; `\\x03` is Ctrl-C."""
        os.write(self.main, text.encode() if isinstance(text, str) else text)

    def wait_for(self, pattern: str, seconds: float = 30) -> str:
        """Return all that was shown, once it has the pattern."""
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            assert time.monotonic() < deadline, f"{pattern!r} was not shown in {self.text!r}"
            if not self._read(1):
                assert re.search(pattern, self.text), f"{pattern!r} was not shown: {self.text!r}"
        return self.text

    @property
    def text(self) -> str:
        """What was shown."""
        return self.shown.decode(errors="replace")

    def _read(self, seconds: float) -> bool:
        if not select.select([self.main], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.main, 65536)
        except OSError:  # Linux says so when the last writer has gone
            return False
        self.shown += data
        return bool(data)

    def end(self) -> tuple[int, str]:
        """Wait for the end; return the exit code and all that was shown."""
        while self._read(30):
            assert select.select([self.main], [], [], 30)[0], f"it hangs: {self.text!r}"
        return self.process.wait(30), self.text

    def close(self) -> None:
        """Close the terminal, which ends what is still there."""
        with suppress(OSError):
            os.close(self.main)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


# The terminal becomes that of a session of its own, so that Ctrl-C and Ctrl-Z come from it.
_AT_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
