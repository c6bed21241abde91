"""Fill a small disk to many degrees, and search and index on it.

The disks are a tmpfs and an ext4 without a reserve, on an image; where none may be mounted the
rows say so. How much room a run takes is measured on an empty disk first: with a third more than
that, and `_SLACK`, it must succeed, and with less it must either succeed or say that the disk is
full. Nothing may be called damaged, nothing may end by a signal, and with room again a plain
`rag index` completes and what was to be found is found.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from faults import Row
from measuring import environment
from rag.support.disk_space import copy_tree
from vaults import make_vault

_SIZE = 400 << 20  # on a tmpfs an index of a few notes takes 240 MB, since holes take room there
_SLACK = 76 << 20  # of which 72 MB must stay free
_NOTES, _MEGABYTES = 24, 0.08
_WORD = "zebrafinch"  # of the notes that a run is to index
_SHARES = (0, 0.1, 0.4, 0.8, 1.33)  # of the room that a run takes
_FEW = (0, 16 << 10, 256 << 10, 1 << 20, 4 << 20, 20 << 20, 40 << 20)
_READING = (
    *(("search", _WORD, "-k", "3"), ("search", "tag:meeting"), ("ask", _WORD)),
    *(("get", "Odd"), ("status",), ("doctor", "-q"), ("vault", "list")),
)


def rows(room: Path) -> Iterator[Row]:
    """Try both disks at once, each as far as it may be mounted here."""
    vault = room / "vault"
    make_vault(vault, _NOTES, _MEGABYTES)
    (vault / "odd.md").write_text(
        f"---\ntags: [meeting]\n---\n# Odd\n\nThe {_WORD} sings.\n", "utf-8"
    )
    with ThreadPoolExecutor() as threads:
        kinds = [threads.submit(_try_disk, kind, room, vault) for kind in ("tmpfs", "ext4")]
        for rows_of_disk in kinds:
            yield from rows_of_disk.result()


def _skipped(what: str, why: str) -> Row:
    return Row(what, 0, 0, f"skipped: {why}")


@dataclass
class _Disk:
    """A small disk, and a vault whose index lies on it."""

    kind: str
    path: Path
    vault: Path
    failed: int = 0
    first_failure: str = ""

    @property
    def data(self) -> Path:
        return self.path / "data"

    @property
    def environment(self) -> dict[str, str]:
        return environment(
            self.vault.parent, RAG_DATA_DIR=self.data, RAG_EMBEDDING__PROVIDER="auto"
        )

    @property
    def free(self) -> int:
        facts = os.statvfs(self.path)
        return facts.f_bavail * facts.f_frsize

    def fill(self, left: int) -> None:
        """Leave so many bytes free, or a little less."""
        os.sync()
        with (self.path / "ballast").open("wb") as ballast:
            size = self.free - left
            while size > 0:
                with suppress(OSError):
                    os.posix_fallocate(ballast.fileno(), 0, size)
                    break
                size -= 1 << 14
        os.sync()

    def empty(self) -> None:
        (self.path / "ballast").unlink(missing_ok=True)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the program on its index."""
        command = [sys.executable, "-m", "rag", *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True)

    def note(self, trial: str, ran: subprocess.CompletedProcess[str], why: str) -> None:
        self.failed += bool(why)
        if why and not self.first_failure:
            self.first_failure = f"{trial}: {why}: {ran.stderr.strip()[:120]}".replace("\n", " ")

    def row(self, what: str, tries: int, note: str = "") -> Row:
        found = Row(f"{self.kind}: {what}", tries, self.failed, self.first_failure or note)
        self.failed, self.first_failure = 0, ""
        return found


@contextmanager
def _mounted(kind: str, place: Path) -> Iterator[bool]:
    """Mount an empty disk at a folder; tell whether that was possible."""
    place.mkdir()
    image = place.with_suffix(".image")
    command = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "none", str(place)]
    if kind == "ext4":
        with image.open("wb") as file:
            file.truncate(_SIZE)
        made = ["mkfs.ext4", "-q", "-m", "0", "-b", "4096", str(image)]
        command = ["mount", "-o", "loop", str(image), str(place)]
    with suppress(OSError):
        is_made = kind == "tmpfs" or not subprocess.run(made, capture_output=True).returncode
        if is_made and not subprocess.run(command, capture_output=True).returncode:
            try:
                yield True
            finally:
                subprocess.run(["umount", "-l", str(place)], check=True)
            return
    yield False


def _try_disk(kind: str, room: Path, notes: Path) -> list[Row]:
    with _mounted(kind, room / kind) as is_mounted:
        if not is_mounted:
            return [_skipped(f"{kind}: searches and runs on a full disk", "it may not be mounted")]
        vault = room / f"notes-{kind}"
        shutil.copytree(notes, vault)
        disk = _Disk(kind, room / kind, vault)
        first = _try_runs(
            disk, "a first index", lambda: shutil.rmtree(disk.data, ignore_errors=True)
        )
        disk.empty()
        disk.run("index", "-q", str(vault))
        kept = room / f"kept-{kind}"
        copy_tree(disk.data, kept)
        return [
            first,
            _try_searches(disk),
            _try_runs(disk, "one note changed", lambda: _change(disk, kept, 0)),
            _try_runs(disk, "100 notes new", lambda: _change(disk, kept, 100)),
            _try_read_only(disk),
        ]


def _change(disk: _Disk, kept: Path, new: int) -> None:
    """Put the index back as it was, and change the notes since."""
    shutil.rmtree(disk.data, ignore_errors=True)
    copy_tree(kept, disk.data)
    stamp = time.time_ns()
    (disk.vault / "odd.md").write_text(f"# Odd\n\nThe {_WORD} sings, {stamp}.\n", "utf-8")
    notes = sorted(disk.vault.glob("0*/*.md"))
    for number in range(new):
        text = notes[number % len(notes)].read_text("utf-8")
        (disk.vault / f"new {number}.md").write_text(f"{text}\n{stamp}\n", "utf-8")


def _try_searches(disk: _Disk) -> Row:
    for left in _FEW:
        disk.fill(left)
        ran = disk.run("search", _WORD, "--json")
        why = "" if ran.returncode == 0 and "sings" in ran.stdout else f"exit {ran.returncode}"
        disk.note(f"{left >> 10} KB free", ran, why)
        disk.empty()
    return disk.row(f"searches with 0 to {_FEW[-1] >> 20} MB free", len(_FEW))


def _try_runs(disk: _Disk, what: str, prepare: Callable[[], None]) -> Row:
    """Try a run of the indexer with shares of the room that it takes."""
    prepare()
    taken = _measure(disk)
    for share in _SHARES:
        prepare()
        disk.fill(int(share * taken) + (_SLACK if share > 1 else 0))
        ran = disk.run("index", "-q", str(disk.vault))
        why = _wrong(ran, must_succeed=share > 1)
        disk.empty()
        again = disk.run("index", str(disk.vault)) if ran.returncode else ran
        found = disk.run("search", _WORD, "--json")
        if not why and (again.returncode or "anew" in again.stderr or "sings" not in found.stdout):
            ran, why = again, f"with room again: exit {again.returncode}, {found.returncode}"
        disk.note(f"{share:.0%} of the room", ran, why)
    note = f"with room it takes {taken / 1e6:.1f} MB"
    return disk.row(f"{what}, with 0 to 133 % of the room it takes", len(_SHARES), note)


def _wrong(ran: subprocess.CompletedProcess[str], must_succeed: bool) -> str:
    """Return what is wrong with how a run ended on a disk with little room."""
    if ran.returncode == 0:
        return ""
    if ran.returncode < 0:
        return f"ended by signal {-ran.returncode}"
    if "damage" in ran.stderr or "rebuild" in ran.stderr:
        return "called damaged"
    if ran.returncode != 5 or "the disk is full: " not in ran.stderr:
        return f"exit {ran.returncode}"
    return "refused, though it would have fit" if must_succeed else ""


def _measure(disk: _Disk) -> int:
    """Return the most bytes that a run takes while it goes on, on a disk with room."""
    os.sync()
    before = most = disk.free
    command = [sys.executable, "-m", "rag", "index", "-q", str(disk.vault)]
    silent = subprocess.DEVNULL
    with subprocess.Popen(command, env=disk.environment, stdout=silent, stderr=silent) as process:
        while process.poll() is None:
            most = min(most, disk.free)
            time.sleep(0.001)
    return before - most


def _try_read_only(disk: _Disk) -> Row:
    disk.run("index", "-q")
    subprocess.run(["mount", "-o", "remount,ro", str(disk.path)], check=True)
    for arguments in _READING:
        ran = disk.run(*arguments)
        disk.note(" ".join(arguments), ran, "" if ran.returncode == 0 else f"exit {ran.returncode}")
    subprocess.run(["mount", "-o", "remount,rw", str(disk.path)], check=True)
    return disk.row("commands that read, on a disk that is read only", len(_READING))
