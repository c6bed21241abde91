"""Hostile names on a terminal, and servers that hang."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from faults import Row
from faults.hostile_names import commands, leaks, on_terminal, write_vault

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "support"))

from ollama_server import OllamaServer  # type: ignore[import-not-found]

_LONGEST = 3.0  # seconds that servers which hang may cost a command


def rows(room: Path) -> Iterator[Row]:
    """Try all of it."""
    yield from _names(room / "names")
    yield from _hanging(room / "hanging")


def _environment(folder: Path, **variables: str) -> dict[str, str]:
    """Return the environment of a user whose all lies in one folder."""
    folder.mkdir(parents=True, exist_ok=True)
    own = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    own |= {"HOME": str(folder), "RAG_DATA_DIR": str(folder / "data"), "RAG_WARM": "0"}
    own |= {"XDG_RUNTIME_DIR": str(folder), "RAG_OLLAMA__ENABLED": "false"}
    return own | variables


def _rag(
    folder: Path, env: Mapping[str, str], *arguments: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "rag", *arguments],
        env=env,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
    )


def _names(room: Path) -> Iterator[Row]:
    env = _environment(room, RAG_OLLAMA__CHAT_MODEL="model \x1b[2J\u202e\nFORGED")
    vault, failed, note, count = write_vault(room / "vaults"), 0, "", 0
    tried = commands(vault)
    for command in tried:
        shown = on_terminal(command, env, room)
        found = leaks(shown)
        if found or "Traceback" in shown:
            failed, count = failed + 1, count + len(found)
            note = note or f"first: rag {command[0]} let through {found[0]!r}" if found else note
    yield Row("commands that show hostile names at a terminal", len(tried), failed, note)
    files = _rag(room, env, "search", "harbour", "-k", "50", "--format", "paths0").stdout.split(
        b"\0"
    )[:-1]
    wrong = sum(not os.path.lexists(file) for file in files)
    missing = max(len([*vault.iterdir()]) - len(files), 0)
    yield Row("hostile names, each one file by paths0", len(files) + missing, wrong + missing)
    failed, note = 0, ""
    shows = [c for c in tried if c[0] in ("search", "status", "config", "doctor", "plan", "audit")]
    shows = [c for c in shows if not {"table", "--paths", "--problems"} & {*c}]
    for command in shows:
        said = _rag(room, env, *command, "--json").stdout.decode("utf-8", "replace")
        if found := leaks(said.rstrip("\n")):
            failed, note = failed + 1, note or f"first: {command[0]} {found[0]!r}"
    yield Row("commands whose --json escapes them", len(shows), failed, note)


class _Hanging:
    """A server at a given port that takes connections and says nothing, or not even takes them."""

    def __init__(self, port: int, takes: bool) -> None:
        self.taken: list[socket.socket] = []
        self._waiting: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", port), backlog=50 if takes else 0)
        if takes:
            threading.Thread(target=self._take, daemon=True).start()
        else:
            for _ in range(4):
                self._waiting.append(socket.socket())
                self._waiting[-1].setblocking(False)
                self._waiting[-1].connect_ex(("127.0.0.1", port))

    def _take(self) -> None:
        while True:
            try:
                self.taken.append(self._listener.accept()[0])
            except OSError:
                return

    def close(self) -> None:
        """Go away."""
        if not self._waiting:
            self._listener.shutdown(socket.SHUT_RDWR)
        for end in (self._listener, *self.taken, *self._waiting):
            end.close()


@contextmanager
def _hung(port: int, takes: bool) -> Iterator[_Hanging]:
    server = _Hanging(port, takes)
    try:
        yield server
    finally:
        server.close()


def _hanging(room: Path) -> Iterator[Row]:
    """Index with a server that is well, then let one hang in its place."""
    with OllamaServer(["bge-m3", "llama3.2"]) as well:
        port = well.port
        env = _environment(room, RAG_OLLAMA__ENABLED="true", RAG_OLLAMA__URL=well.url)
        (room / "v").mkdir()
        (room / "v" / "a.md").write_text("# Backups\n\nWe keep backups for ninety days.\n")
        _rag(room, env, "index", str(room / "v"))
    (room / "v" / "b.md").write_text("# New\n\nA note that has no embedding yet.\n")
    tried = [("search", "backups"), ("ask", "how long do we keep backups?"), ("doctor",)]
    tried += [("plan", "notes tagged ops about backups"), ("index",)]
    usual = {
        c: min(_seconds(room, {**env, "RAG_OLLAMA__ENABLED": "false"}, c) for _ in "12")
        for c in tried
    }
    slow, longest = 0, 0.0
    for takes in (True, False):
        for command in tried:
            with _hung(port, takes):
                cost = _seconds(room, env, command) - usual[command]
            longest, slow = max(longest, cost), slow + (cost > _LONGEST)
    what = f"commands that servers which hang cost over {_LONGEST:.0f} s"
    yield Row(what, 2 * len(tried), slow, f"at most {longest:.1f} s")


def _seconds(room: Path, env: Mapping[str, str], command: Sequence[str]) -> float:
    """Return how long a command takes, without the time it waits for a processor, where the system
    tells: that is other programs' work."""
    started, waited = time.monotonic(), 0.0
    process = subprocess.Popen(
        [sys.executable, "-m", "rag", *command],
        env=env,
        cwd=room,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    told = Path(f"/proc/{process.pid}/schedstat")
    while process.poll() is None:
        with suppress(OSError, IndexError):
            waited = int(told.read_text("ascii").split()[1]) / 1e9
        time.sleep(0.01)
    return time.monotonic() - started - waited
