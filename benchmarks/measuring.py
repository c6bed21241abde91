"""One process, measured from outside: seconds, processor seconds, memory.

Imports nothing heavy: the memory of small processes cannot be told from that of the process that
starts them.
"""

import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_SAMPLE = 0.05  # seconds between two looks at the memory of a process tree
_POLL = 0.002


def environment(home: Path, **variables: object) -> dict[str, str]:
    """Return the environment of a user whose all lies in one folder, without models or a warm
    process unless `variables` name them."""
    outside = {n: v for n, v in os.environ.items() if not n.startswith(("RAG_", "XDG_"))}
    runtime = home / "run"
    runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = {"HOME": home, "RAG_DATA_DIR": home / "data", "XDG_RUNTIME_DIR": runtime, "RAG_WARM": "0"}
    none = {"RAG_EMBEDDING__PROVIDER": "none", "RAG_OLLAMA__ENABLED": "false"}
    return outside | {name: str(value) for name, value in {**own, **none, **variables}.items()}


class TooLong(Exception):
    """A process that was stopped at its limit."""


@dataclass(frozen=True)
class Measured:
    """Wall seconds, processor seconds (of the process and its children), peak bytes of memory,
    what was printed, and the exit code."""

    wall: float
    cpu: float
    peak: int
    output: str
    code: int


def measure(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    limit: float,
    watch_memory: bool = False,
) -> Measured:
    """Run `command` in `folder` and wait for it.

    With `watch_memory` the peak is of the whole process tree, where /proc tells; memory that
    processes share counts once. Without, it is of its largest process.

    :raises TooLong: after `limit` seconds; the process and its children are killed.
    """
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        watch = _Watch(process, limit, watch_memory)
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        watch.stop()
        if watch.killed:
            raise TooLong(f"over {limit:g} s")
        output.seek(0)
        return Measured(
            wall,
            usage.ru_utime + usage.ru_stime,
            _peak(watch.peak, usage),
            output.read().decode("utf-8", "replace"),
            process.returncode,
        )


def _peak(watched: int, usage: resource.struct_rusage) -> int:
    """Return bytes: the most that was seen of the tree, or its largest process, if that is more.

    The system counts as a process's own what its parent had when it started it. Where it says no
    more than that, it says nothing.
    """
    unit = 1 if sys.platform == "darwin" else 1024
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if watched and usage.ru_maxrss <= own:
        return watched
    return max(watched, usage.ru_maxrss * unit)


class _Watch(threading.Thread):
    """Looks after one process: its time, and the memory of its tree when asked."""

    def __init__(self, process: subprocess.Popen[bytes], limit: float, memory: bool) -> None:
        super().__init__(daemon=True)
        self.peak, self.killed = 0, False
        self._process, self._ends = process, time.monotonic() + limit
        self._memory = memory and Path("/proc/self/smaps_rollup").exists()
        self._over = threading.Event()

    def stop(self) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        while not self._over.wait(self._pause()):
            if time.monotonic() >= self._ends:
                self.killed = True
                os.killpg(self._process.pid, signal.SIGKILL)
                return
            if self._memory:
                self.peak = max(self.peak, memory_of_tree(self._process.pid))

    def _pause(self) -> float:
        left = max(_POLL, self._ends - time.monotonic())
        return min(_SAMPLE, left) if self._memory else left


def memory_of_tree(process: int) -> int:
    """Return the resident bytes of a process and its descendants; what is shared counts once."""
    return sum(map(_memory, tree(process)))


def tree(root: int) -> Iterator[int]:
    """Yield a process and all that descend from it, as far as they are still there."""
    yield root
    try:
        for thread in Path(f"/proc/{root}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from tree(int(child))
    except OSError:
        return


def _memory(process: int) -> int:
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0
