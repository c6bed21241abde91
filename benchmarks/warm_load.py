"""Many commands at once in the warm process; then kill -9 of any part of it, at random.

    python benchmarks/warm_load.py [--commands 200] [--shells 20] [--kills 150] [--notes 1000]

Every answer is compared with that of a cold run, byte for byte. Nothing may be left of the
commands: no process, no zombie, no open file, no memory of the warm process. Of commands whose
client or child is killed one may hear of that, all others must give their answer, in the next
warm process or cold. Exit code 1 if not. It takes /proc, as on Linux.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from pathlib import Path

from processes import children_of, processes_with, state_of
from vaults import make_vault, title_query

RAG = [sys.executable, "-m", "rag"]
TOLD = 137, b"rag: the process of this command was killed\n"  # after what it had said
_MORE_MEMORY = 8 << 20  # bytes that the allocator of the warm process may keep
_LONGEST = 120.0  # seconds

Command = tuple[str, ...]
Answer = tuple[int, bytes, bytes]  # exit code, stdout, stderr


@dataclass(frozen=True)
class State:
    """The warm process from outside: bytes of memory, open files, children, and dead ones."""

    memory: int
    files: int
    children: int
    zombies: int


@dataclass
class Site:
    """Where commands run.

    :param folder: an empty one, in which they run.
    :param environment: theirs, with a runtime folder that nobody else has.
    :param answers: what each command says when it runs cold.
    """

    folder: Path
    environment: Mapping[str, str]
    answers: dict[Command, Answer] = field(default_factory=dict)

    def ask_cold(self, commands: Sequence[Command]) -> None:
        """Note what some commands say."""
        for command in commands:
            self.answers[command] = self.run(*command, RAG_WARM="0")

    def run(self, *arguments: str, **variables: str) -> Answer:
        """Run a command to its end."""
        done = subprocess.run(
            [*RAG, *arguments],
            cwd=self.folder,
            env={**self.environment, **variables},
            capture_output=True,
            timeout=_LONGEST,
        )
        return done.returncode, done.stdout, done.stderr

    def start(self) -> None:
        """Start the warm process, unless it is there."""
        code, _, said = self.run("warm", "--start")
        assert code == 0, said

    def status(self) -> tuple[int, int, int]:
        """Return the warm process, how many commands it has begun, and how many run; zeros when it
        is gone."""
        for path in self._runtime.glob("rag/*.sock"):
            with suppress(OSError, ValueError), socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(_LONGEST)
                connection.connect(str(path))
                connection.sendall(b"status\n")
                process, _, commands, running = map(int, connection.recv(256).split())
                return process, commands, running
        return 0, 0, 0

    def state(self) -> State:
        """Look at the warm process, once it has nothing to do."""
        process, *_ = self.status()
        # It has buried the last child and closed the connection that asked it.
        wait_until(lambda: self.status()[2] == 0 and state_of(process) == "S")
        memory = next(
            int(line.split()[1]) << 10
            for line in Path(f"/proc/{process}/status").read_text().splitlines()
            if line.startswith("VmRSS:")
        )
        files = sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())
        dead = [one for one in self.processes() if state_of(one) == "Z"]
        return State(memory, files, len(children_of(process)), len(dead))

    def processes(self) -> list[int]:
        """Return what runs here."""
        return processes_with(f"XDG_RUNTIME_DIR={self._runtime}")

    @property
    def _runtime(self) -> Path:
        return Path(self.environment["XDG_RUNTIME_DIR"])


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until something is so.

    :raises TimeoutError: when it does not come about.
    """
    deadline = time.monotonic() + _LONGEST
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.01)


# -- many at once --------------------------------------------------------------------------


@dataclass(frozen=True)
class Burst:
    """What came of many commands at once; `warm` of them ran in the warm process."""

    seconds: float
    right: int
    wrong: list[str]
    warm: int
    before: State
    after: State

    @property
    def is_well(self) -> bool:
        """Whether all is as it was, and every answer right."""
        same = (self.after.files, self.after.children, self.after.zombies)
        return (
            not self.wrong
            and same == (self.before.files, 0, 0)
            and self.after.memory <= self.before.memory + _MORE_MEMORY
        )


def burst(site: Site, count: int, shells: int) -> Burst:
    """Run so many commands at once, each of some shells starting its share in the background."""
    commands = list(islice(cycle(site.answers), count))
    before, begun = site.state(), site.status()[1]
    started = time.monotonic()
    running = [
        subprocess.Popen(
            ["sh", "-c", _script(list(enumerate(commands))[shell::shells])],
            cwd=site.folder,
            env=site.environment,
        )
        for shell in range(shells)
    ]
    for process in running:
        process.wait(_LONGEST * 5)
    seconds = time.monotonic() - started
    wrong = []
    for number, command in enumerate(commands):
        code, out, err = ((site.folder / f"{number}.{part}").read_bytes() for part in _PARTS)
        if (int(code), out, err) != site.answers[command]:
            wrong.append(f"{command}: {(int(code), out, err)}")
    warm = site.status()[1] - begun
    return Burst(seconds, count - len(wrong), wrong, warm, before, site.state())


_PARTS = ("code", "out", "err")


def _script(commands: Sequence[tuple[int, Command]]) -> str:
    lines = [
        f"({shlex.join([*RAG, *command])} >{n}.out 2>{n}.err; echo $? >{n}.code) &"
        for n, command in commands
    ]
    return "\n".join([*lines, "wait"])


# -- kill -9 -------------------------------------------------------------------------------


@dataclass
class Storm:
    """What came of commands among which somebody kills.

    `killed` says what was killed how often; `ended` how commands ended: "right", "killed" with
    their client, "told" that their child was.
    """

    killed: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    left: list[int] = field(default_factory=list)

    @property
    def is_well(self) -> bool:
        """Whether no command is lost but those that were killed, and nothing is left."""
        return not self.wrong and not self.left


class _Killing:
    """Commands in some threads, and one that kills."""

    def __init__(self, site: Site, commands: Iterator[Command], rng: random.Random) -> None:
        self.site, self.commands, self.rng = site, commands, rng
        self.storm = Storm()
        self.running: dict[int, subprocess.Popen[bytes]] = {}  # by the pipe of their output
        self.hit: set[int] = set()  # the pipes of commands whose client or child was killed
        self.unknown = 0  # children that were killed before they were anybody's
        self.lock = threading.Lock()

    def work(self) -> None:
        """Run commands until there is none left."""
        while True:
            with self.lock:
                command = next(self.commands, None)
            if command is None:
                return
            process = subprocess.Popen(
                [*RAG, *command],
                cwd=self.site.folder,
                env=self.site.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            assert process.stdout
            pipe = os.fstat(process.stdout.fileno()).st_ino
            with self.lock:
                self.running[pipe] = process
            out, err = process.communicate(timeout=_LONGEST)
            with self.lock:
                del self.running[pipe]
                how = self._judge(pipe, command, (process.returncode, out, err))
                self.hit.discard(pipe)
                self.storm.ended[how] += 1

    def _judge(self, pipe: int, command: Command, answer: Answer) -> str:
        if answer == self.site.answers[command]:
            return "right"
        if answer[0] == -signal.SIGKILL and pipe in self.hit:
            return "killed"
        if answer[0] == TOLD[0] and answer[2].endswith(TOLD[1]):
            if pipe in self.hit:
                return "told"
            if self.unknown:
                self.unknown -= 1
                return "told"
        self.storm.wrong.append(f"{command}: {answer}")
        return "wrong"

    def kill(self, kind: str) -> bool:
        """Kill the warm process (the `parent`), a `child` or a `client`, if there is one."""
        parent, *_ = self.site.status()
        with self.lock:
            if kind == "client" and self.running:
                pipe = self.rng.choice([*self.running])
                self.hit.add(pipe)
                self.running[pipe].kill()
            elif kind == "child" and (children := children_of(parent)):
                self._kill_child(self.rng.choice(children))
            elif kind == "parent" and parent:
                os.kill(parent, signal.SIGKILL)
            else:
                return False
            self.storm.killed[kind] += 1
        if kind == "parent":
            time.sleep(self.rng.uniform(0, 0.3))  # some commands find none
            self.site.start()
        return True

    def kill_soon(self, kind: str) -> bool:
        """The same at a moment that nobody can know."""
        time.sleep(self.rng.uniform(0, 0.06))
        return self.kill(kind)

    def _kill_child(self, child: int) -> None:
        with suppress(OSError, ValueError):
            kind, _, number = str(Path(f"/proc/{child}/fd/1").readlink()).partition(":")
            pipe = int(number.strip("[]")) if kind == "pipe" else 0
            if pipe in self.running:
                self.hit.add(pipe)
            else:
                self.unknown += 1
            os.kill(child, signal.SIGKILL)


def storm(site: Site, kills: int, shells: int, rng: random.Random) -> Storm:
    """Run commands, some at a time, until so many parts of the warm process were killed."""
    over = threading.Event()
    killing = _Killing(site, _until(over, rng, [*site.answers]), rng)
    workers = [threading.Thread(target=killing.work) for _ in range(shells)]
    for worker in workers:
        worker.start()
    try:
        for kind in islice(cycle(("child", "client", "child", "client", "parent")), kills):
            wait_until(partial(killing.kill_soon, kind))
    finally:
        over.set()
        for worker in workers:
            worker.join()
    site.run("warm", "--stop")
    with suppress(TimeoutError):
        wait_until(lambda: not site.processes())
    killing.storm.left = site.processes()
    return killing.storm


def _until(over: threading.Event, rng: random.Random, commands: list[Command]) -> Iterator[Command]:
    while not over.is_set():
        yield rng.choice(commands)


# -- the program ---------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commands", type=int, default=200)
    parser.add_argument("--shells", type=int, default=20)
    parser.add_argument("--kills", type=int, default=150)
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="rag-", dir="/tmp"))  # the address of a socket is short
    (folder / "here").mkdir()
    site = Site(folder / "here", _environment(folder))
    try:
        make_vault(folder / "notes", arguments.notes, arguments.notes * 0.004)
        assert site.run("index", "-q", str(folder / "notes"), RAG_WARM="0")[0] == 0
        site.ask_cold(_commands())
        site.start()
        for command in site.answers:  # the first ones make the warm process grow
            assert site.run(*command) == site.answers[command]
        many = burst(site, arguments.commands, arguments.shells)
        print(_table_of_burst(many, arguments.shells), flush=True)
        rng = random.Random(arguments.seed)
        killed = storm(site, arguments.kills, 4, rng)
        print(_table_of_storm(killed))
    finally:
        for process in site.processes():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        shutil.rmtree(folder)
    if not (many.is_well and killed.is_well):
        sys.exit("\n".join([*many.wrong, *killed.wrong, f"left: {killed.left}"]))


def _environment(folder: Path) -> dict[str, str]:
    outside = {n: v for n, v in os.environ.items() if not n.startswith("RAG_")}
    outside.pop("PYTHONUNBUFFERED", None)
    own = {"HOME": folder, "RAG_DATA_DIR": folder / "data", "XDG_RUNTIME_DIR": folder}
    return {
        **outside,
        **{name: str(value) for name, value in own.items()},
        "RAG_EMBEDDING__PROVIDER": "none",  # processes are looked at, not models
        "RAG_OLLAMA__ENABLED": "false",
        "RAG_WARM": "1",
    }


def _commands() -> list[Command]:
    """Return commands that read, and some that fail."""
    titles = [title_query(number) for number in range(8)]
    return [
        *(("search", title) for title in titles[:4]),
        *(("search", title, "--paths", "--top-k", "20") for title in titles[4:]),
        ("get", titles[0]),
        ("vault", "list"),
        ("search", "xyzzyplugh"),
        ("search", "x", "--vault", "nowhere"),
    ]


def _table_of_burst(found: Burst, shells: int) -> str:
    count = found.right + len(found.wrong)
    rows = [
        ("memory, MB", f"{found.before.memory / 1e6:.1f}", f"{found.after.memory / 1e6:.1f}"),
        ("open files", str(found.before.files), str(found.after.files)),
        ("children", str(found.before.children), str(found.after.children)),
        ("zombies", str(found.before.zombies), str(found.after.zombies)),
    ]
    return "\n".join(
        [
            f"{count} commands at once from {shells} shells, {found.seconds:.1f} s:"
            f" {found.right} right, {len(found.wrong)} wrong;"
            f" {found.warm} ran warm, {count - found.warm} cold",
            *(
                f"{name:24}{before:>10}{after:>10}"
                for name, before, after in [("", "before", "after"), *rows]
            ),
            "",
        ]
    )


def _table_of_storm(found: Storm) -> str:
    killed = ", ".join(f"{kind} {count}" for kind, count in sorted(found.killed.items()))
    rows = {
        "right": "with the right answer",
        "killed": "whose own process was killed",
        "told": "whose child was killed: exit code 137",
        "wrong": "WRONG",
    }
    return "\n".join(
        [
            f"kill -9, {found.killed.total()} times ({killed})"
            f" among {found.ended.total()} commands",
            *(f"{words:40}{found.ended[how]:>6}" for how, words in rows.items()),
            f"{'processes left':40}{len(found.left):>6}",
        ]
    )


if __name__ == "__main__":
    main()
