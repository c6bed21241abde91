"""A real ext4 that loses its power: copies of the device, made while it is mounted.

What is written and not yet synced is in the memory of the kernel and not on the device, so that a
copy of the device is what a power cut leaves; mounting the copy replays its journal.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from faults.power_notes import change, fresh_contents
from faults.power_verdicts import SETTINGS, Left
from rag.support.sparse_files import copy_file

_MEGABYTES = 300
# Seconds after publishing. The kernel writes names out after 5, and content after 30.
_MOMENTS = (0.2, 0.5, 1.0, 2.0, 4.0, 5.5, 7.0, 12.0, 20.0, 31.0, 36.0)
_WATCHED = 6
_STOPPED_RUNS, _STOPS = 12, 4
_CALM = 0.01  # seconds without a write, for a copy to be that of one moment


def may_mount(room: Path) -> str:
    """Return why no device can be mounted here, or "" when one can."""
    if not all(map(shutil.which, ("mkfs.ext4", "mount", "umount"))):
        return "there is no mkfs.ext4 or mount"
    try:
        device = Device(room / "probe")
        device.unmount()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no device can be mounted ({error})"
    return ""


class Device:
    """A file that is mounted as an ext4, in a folder of its own.

    :param image: of another one, to be mounted again; without it an empty one is made.
    """

    def __init__(self, room: Path, image: Path | None = None) -> None:
        self.room, self.image, self.mount = room, image or room / "image", room / "mounted"
        self.mount.mkdir(parents=True)
        if image is None:
            with self.image.open("wb") as file:
                file.truncate(_MEGABYTES << 20)
            _call("mkfs.ext4", "-q", "-F", str(self.image))
        _call("mount", "-o", "loop", str(self.image), str(self.mount))

    @property
    def data(self) -> Path:
        """The data folder on it."""
        return self.mount / "data"

    def copy(self, target: Path) -> None:
        """Copy the device as it is at one moment: while nothing is written to it."""
        for _ in range(100):
            before = self.image.stat().st_mtime_ns
            if time.time_ns() - before > _CALM * 1e9:
                copy_file(self.image, target)
                time.sleep(_CALM)  # what the clock of the file system may lag behind
                if self.image.stat().st_mtime_ns == before:
                    return
            time.sleep(_CALM)
        raise RuntimeError(f"{self.image} is written to without end")

    def unmount(self) -> None:
        _call("umount", str(self.mount))


@dataclass(frozen=True)
class _Copy:
    image: Path
    vault: Path
    word: str

    def left(self, fresh: str) -> Left:
        """Return it as a folder to be judged: mounted when it is wanted."""
        device: list[Device] = []

        def mounted() -> Path:
            device.append(Device(self.image.with_suffix(".room"), self.image))
            return device[0].data

        def unmounted() -> None:
            device[0].unmount()
            self.image.unlink()

        return Left(self.image.stem, self.vault, self.word, fresh, mounted, unmounted)


def cut_disks(room: Path) -> Iterator[Left]:
    """Index onto devices, and yield what is left of them when their power fails.

    Some are left alone after publishing, and copied again and again; another is indexed to often,
    and copied while the program is stopped in the middle.
    """
    copies: list[_Copy] = []
    room.mkdir()
    watched = [
        threading.Thread(target=lambda n=number: copies.extend(_watch(room / f"watched {n}", n)))
        for number in range(_WATCHED)
    ]
    for thread in watched:
        thread.start()
    copies += _stop(room / "stopped")
    for thread in watched:
        thread.join()
    fresh = {vault: fresh_contents(room, vault) for vault in {copy.vault for copy in copies}}
    yield from (copy.left(fresh[copy.vault]) for copy in copies)


def _watch(room: Path, number: int) -> list[_Copy]:
    """Index once, or with every other number twice; copy at moments afterwards."""
    device, vault, copies = Device(room), room / "vault", []
    vault.mkdir()
    try:
        for turn in range(1 + number % 2):
            change(vault, turn)
            _end(_start(device, vault))
        published = time.monotonic()
        for moment in _MOMENTS:
            time.sleep(max(0.0, published + moment - time.monotonic()))
            image = room / f"{moment} s after publishing, {number}.image"
            device.copy(image)
            copies.append(_Copy(image, vault, f"turn{turn}"))
    finally:
        device.unmount()
    return copies


def _stop(room: Path) -> list[_Copy]:
    """Index after one change and another; stop the program at moments, and copy."""
    device, vault, copies = Device(room), room / "vault", []
    vault.mkdir()
    chance, seconds = random.Random(1), 1.0  # that a run takes; the first one is not known
    try:
        for turn in range(_STOPPED_RUNS):
            change(vault, turn)
            started = time.monotonic()
            process = _start(device, vault)
            moments = sorted(chance.uniform(0.3, 1.0) * seconds for _ in range(_STOPS))
            for number, moment in enumerate(moments):
                time.sleep(max(0.0, started + moment - time.monotonic()))
                is_over = process.poll() is not None
                if not is_over:
                    _stop_it(process)
                image = room / f"run {turn}, stop {number}.image"
                device.copy(image)
                process.send_signal(signal.SIGCONT)  # does nothing to one that is over
                last = turn if is_over else turn - 1
                copies.append(_Copy(image, vault, f"turn{last}" if last >= 0 else ""))
            _end(process)
            seconds = time.monotonic() - started
    finally:
        device.unmount()
    return copies


def _stop_it(process: subprocess.Popen[bytes]) -> None:
    """Stop a process; what the kernel is doing for it is finished before."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


def _start(device: Device, vault: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | SETTINGS | {"RAG_DATA_DIR": str(device.data)}
    command = [sys.executable, "-m", "rag", "index", "-q", str(vault)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.wait():
        raise RuntimeError(f"rag index: exit code {process.returncode}")


def _call(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
