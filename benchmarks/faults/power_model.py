"""What a disk would hold if the power failed: a model of it, kept while a command runs.

    python -m faults.power_model SPEC     (a file of JSON, see `Spec`)

A file or a folder counts as on the disk as it was when our program last synced it; of what changed
since, any part may be. That is harsher than any file system: one that keeps a journal brings names
there in order, and of what the engine and SQLite sync themselves only the engine's settings are
counted. So it needs no rights, and whatever survives it survives elsewhere.
"""

import fcntl
import json
import os
import random
import resource
import stat
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from rag.index.shard_files import is_settings
from rag.support.disk_space import copy_file

# What survives of that which was not synced: nothing; every name and no content; some of all.
LUCK = ("nothing", "names", "some")
_CHANGES = ("os.rename", "os.link", "os.mkdir", "os.rmdir", "os.remove", "os.truncate")
_WRITES = os.O_WRONLY | os.O_RDWR


@dataclass(frozen=True)
class Spec:
    """What is to be run and recorded: `arguments` of `rag`, before which operations (`wanted`) the
    power takes the folder `root`, and where what is left is put (`cuts`; "": they are only
    counted). `deaf` takes no sync for one."""

    root: str
    cuts: str
    wanted: list[int]
    arguments: list[str]
    deaf: bool = False


class Key(NamedTuple):
    """What a file or folder is known by, whatever it is called."""

    device: int
    inode: int
    is_folder: bool


@dataclass
class Disk:
    """The model. At first all that `root` holds is on the disk.

    :param room: an empty folder for copies of what was synced.
    """

    root: Path
    room: Path
    names: dict[Key, dict[str, Key]] = field(default_factory=dict)
    contents: dict[Key, Path] = field(default_factory=dict)
    _held: dict[Key, int] = field(default_factory=dict)  # so that no other gets its number
    _copies: int = 0

    def __post_init__(self) -> None:
        for key, path in self._tree().items():
            self._keep(key, path)

    def sync(self, descriptor: int) -> None:
        """Take what is open for synced."""
        facts = os.fstat(descriptor)
        key = Key(facts.st_dev, facts.st_ino, stat.S_ISDIR(facts.st_mode))
        path = self._tree().get(key)
        if path is not None:
            self._keep(key, path)

    def cut(self, target: Path, chance: random.Random, luck: str) -> None:
        """Make a folder of what could be left if the power failed now."""
        tree = self._tree()
        self._put_folder(_key(self.root), tree, target, chance, luck)

    def _tree(self) -> dict[Key, Path]:
        paths = {_key(self.root): self.root}
        for base, folders, files in os.walk(self.root):
            for name in folders + files:
                path = Path(base) / name
                if not path.is_symlink():
                    paths.setdefault(_key(path), path)
        return paths

    def _keep(self, key: Key, path: Path) -> None:
        self._hold(key, path)
        if key.is_folder:
            self.names[key] = _listing(path)
            for name, entry in self.names[key].items():
                self._hold(entry, path / name)
        else:
            self._copies += 1
            self.contents[key] = self.room / str(self._copies)
            copy_file(path, self.contents[key])

    def _hold(self, key: Key, path: Path) -> None:
        if key not in self._held:
            self._held[key] = os.open(path, os.O_RDONLY)

    def _put_folder(
        self, key: Key, tree: dict[Key, Path], target: Path, chance: random.Random, luck: str
    ) -> None:
        target.mkdir()
        synced = self.names.get(key, {})
        now = _listing(tree[key]) if key in tree else {}
        for name in sorted(synced | now):
            before, after = synced.get(name), now.get(name)
            survives = luck == "names" or (luck == "some" and chance.random() < 0.5)
            entry = after if survives else before
            if is_settings(name) and after in tree:
                # Whoever opens a shard has the engine replace them, and it syncs the new file
                # before the rename and the folder after it.
                copy_file(tree[after], target / name)
            elif entry is None:
                continue
            elif entry.is_folder:
                self._put_folder(entry, tree, target / name, chance, luck)
            else:
                self._put_file(entry, tree, target / name, chance, luck)

    def _put_file(
        self, key: Key, tree: dict[Key, Path], target: Path, chance: random.Random, luck: str
    ) -> None:
        synced, now = self.contents.get(key), tree.get(key)
        fate = chance.choice(["empty", "zeros", "half", "all"]) if luck == "some" else "empty"
        if synced is not None and (now is None or luck != "some" or chance.random() < 0.5):
            copy_file(synced, target)
        elif now is None or (fate == "empty" and synced is None):
            target.touch()
        else:
            copy_file(now, target)
            size = target.stat().st_size
            if synced is None and fate in ("zeros", "half"):
                os.truncate(target, 0 if fate == "zeros" else size // 2)
                os.truncate(target, size)


def _key(path: Path) -> Key:
    facts = path.lstat()
    return Key(facts.st_dev, facts.st_ino, stat.S_ISDIR(facts.st_mode))


def _listing(folder: Path) -> dict[str, Key]:
    return {path.name: _key(path) for path in folder.iterdir() if not path.is_symlink()}


class Recorder:
    """Counts the operations of this process on the folder, and lets the power fail before some."""

    def __init__(self, spec: Spec, disk: Disk) -> None:
        self.spec, self.disk = spec, disk
        self.operations = 0
        self._lock = threading.RLock()
        self._inside = False

    def begin(self) -> None:
        """Watch from now on what this process does."""
        vars(os)["fsync"] = self._sync
        sys.addaudithook(self._heard)

    def cut(self, name: str) -> None:
        """Let the power fail."""
        target = Path(self.spec.cuts) / name
        luck = LUCK[sum(name.encode()) % len(LUCK)]
        self.disk.cut(target, random.Random(name), luck)

    def _sync(self, descriptor: Any) -> None:
        self._step()
        if not self.spec.deaf:
            number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
            self._quietly(lambda: self.disk.sync(number))

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        is_change = event in _CHANGES or (event == "open" and _writes(arguments))
        if is_change and self._is_inside(arguments):
            self._step()

    def _is_inside(self, arguments: tuple[Any, ...]) -> bool:
        names = [os.fsdecode(name) for name in arguments[:2] if isinstance(name, str | bytes)]
        # A name without a folder is one in a folder that is being deleted.
        return any(name.startswith(self.spec.root) or "/" not in name for name in names)

    def _step(self) -> None:
        with self._lock:
            if self._inside:
                return
            if self.operations in self.spec.wanted:
                self._quietly(lambda: self.cut(str(self.operations)))
            self.operations += 1

    def _quietly(self, work: Callable[[], None]) -> None:
        with self._lock:
            self._inside = True
            try:
                work()
            finally:
                self._inside = False


def _writes(arguments: tuple[Any, ...]) -> bool:
    path, _, flags = arguments
    return isinstance(path, str | bytes) and bool(flags & _WRITES)


def main() -> None:
    file = Path(sys.argv[1])
    spec = Spec(**json.loads(file.read_text("utf-8")))
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 1 << 16), limit))
    copies = file.with_suffix(".copies")
    copies.mkdir()
    if hasattr(fcntl, "F_FULLFSYNC"):
        del fcntl.F_FULLFSYNC  # on macOS: without it a sync goes by `os.fsync`, which is heard
    from rag.cli.app import run

    recorder = Recorder(spec, Disk(Path(spec.root), copies))
    recorder.begin()
    code = run(spec.arguments)
    result = {"code": code, "operations": recorder.operations}
    if spec.cuts:
        recorder.cut("end")
    file.with_suffix(".result").write_text(json.dumps(result), "utf-8")
    os._exit(code)


if __name__ == "__main__":
    main()
