"""What is known of the writer's own copy of an index: whether its files are as it left them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rag.index.checksums import STAMPS, SUMS, WRITING, Record, Seen, find_damage, stamp_of, sum_of
from rag.index.frequencies import FREQUENCIES
from rag.index.shard_files import JOURNAL, discard, is_fixed, is_leftover
from rag.index.sync_mark import SyncMark
from rag.support.owned_folders import MARK
from rag.support.sparse_files import Checksum, checksum, copy_tree, files_below, size_on_disk

_DATABASE = ".sqlite3"
_NOTES = frozenset({MARK, SUMS, STAMPS, WRITING})  # of the folder, not files of the index


class WorkingFiles:
    """The files of a staging index, for its one writer.

    From `check` on a mark in the folder says that they may be written. It goes with `close`, when
    the checksums are those of the files again; where a writer was killed it stays, and only the
    files that nobody ever writes again can be held to their checksums.

    :param folder: of the staging index.
    :param manifest: the name of the file that a writer may change without opening the shard.
    """

    def __init__(self, folder: Path, manifest: str) -> None:
        self.folder = folder
        self.mark = SyncMark(folder.parent)
        self.known: Mapping[str, Checksum] = {}  # of files that never change, found whole
        self.seen: Seen = set()  # what `check` has read
        self.is_closed = False  # whether whoever wrote last had come to the end
        self.was_due = True  # whether `check` read all, or could not
        self._manifest = manifest
        self._read_at = ""  # when all was read last
        self._record: Record | None = None  # as long as only the manifest may differ from it
        self._before: Record | None = None  # the last that held for all files

    def check(self) -> list[str]:
        """Return the files that are damaged, by their paths in the folder, and begin to write."""
        mark = self.folder / WRITING
        self.known, self.seen, self.is_closed = {}, set(), False
        self._record = self._before = None
        self._read_at, self.was_due = "", True
        for left in self.folder.glob("*.tmp"):  # of a writer that was killed
            discard(left)
        try:
            record = Record.read(self.folder)
        except ValueError as error:
            return [str(error)]
        if record is None:
            self._before = None if mark.exists() else Record(self.folder, {})
            return []
        self.is_closed = not mark.exists()
        wanted = None if self.is_closed else self._is_known
        self.was_due = record.is_due
        wrong = record.damaged(wanted, self.was_due, self.seen)
        if not wrong:
            mark.touch()
            self.known, self._read_at = record.sums, record.read_at
            self._record = self._before = record if self.is_closed else None
        return wrong

    def differences(self) -> list[str]:
        """Read everything; return what is not as the last run left it, or is there besides."""
        try:
            record = Record.read(self.folder)
        except ValueError as error:
            return [str(error)]
        if record is None:
            return [SUMS]
        above = len(f"{self.folder}/")
        found = {file[above:] for file in files_below(self.folder, _is_noted_or_left)}
        wrong = record.damaged(all_read=True) or sorted(found - record.sums.keys())
        if not wrong:
            record.remember()
        return wrong

    def damage(self) -> list[str]:
        """Return the files that are damaged, as far as somebody can tell who does not write: none
        while another does, or was killed when he did."""
        mark = self.folder / WRITING
        if mark.exists():
            return []
        wrong = find_damage(self.folder, all_read=True, remember=False) or []
        return [] if mark.exists() else wrong

    def _is_known(self, name: str) -> bool:
        file = self.folder / name
        return is_fixed(str(file)) and file.exists()

    def open_shard(self) -> None:
        """Note that the shard may be written from now on."""
        self._record = None
        if self.folder.exists():
            (self.folder / WRITING).touch()

    def publish(self, sums: Mapping[str, Checksum], snapshot: Record) -> None:
        """Note what the closed staging index holds, and that a snapshot was made of it."""
        (self.folder / WRITING).touch()  # the manifest may be
        self._record = self._before = Record(self.folder, sums)
        self._record.write()
        self.stamp(snapshot)
        self.known = self._record.sums

    def stamp(self, snapshot: Record) -> None:
        """Note what the files look like, which hold what was just published, and those of the
        snapshot."""
        for record in filter(None, (snapshot, self._record)):
            record.stamp(self._read_at)

    def close(self) -> None:
        """Note that nobody writes any more: the shard is flushed and closed, and the manifest is as
        it stays."""
        with suppress(OSError):  # without the note that they are closed they are examined again
            record = self._record or (self._before and self._sum_up(self._before))
            if record is None:
                return
            file = self.folder / self._manifest
            if stamp_of(file) != record.stamps.get(self._manifest):
                record.sums[self._manifest] = checksum(file)
                record.write()
                record.stamp(record.read_at)
            record.remember()
            (self.folder / WRITING).unlink()

    def _sum_up(self, before: Record) -> Record:
        """Return the record of files that were written since and not published."""
        sums = {}
        # Not every file system gives a file another time when the engine writes what it has mapped.
        for file in files_below(self.folder, _is_noted_or_left):
            name = file[len(f"{self.folder}/") :]
            is_same = is_fixed(file) and stamp_of(file) == before.stamps.get(name)
            sums[name] = before.sums[name] if is_same else sum_of(file)
        record = Record(self.folder, sums)
        record.write()
        record.stamp(before.read_at)
        return record


class Copied(NamedTuple):
    """The checksums of the files of a working folder, and of those of its copy, by path."""

    work: dict[str, Checksum]
    copy: dict[str, Checksum]


def copy_folder(
    work: Path,
    target: Path,
    shard: str,
    known: Mapping[str, Checksum],
    is_shared: Callable[[str], bool] = is_fixed,
) -> Copied:
    """Copy a working folder; `target` is made when it is missing.

    Some files get a second name instead.

    :param shard: the name of the folder in it that is a shard, flushed and closed.
    :param known: the checksums of files that the engine never writes again, by path, as far as
        they are known.
    :param is_shared: tells which get a second name; by default those.
    """
    above = len(f"{work}/")

    def sum_up(file: str) -> Checksum:
        return (is_fixed(file) and known.get(file[above:])) or checksum(file)

    found = copy_tree(work, target, _is_left_out, is_shared, sum_up)
    return Copied(found, found)


def copied_size(work: Path) -> int:
    """Return the bytes that `copy_for_readers` would write, and the next change before it."""
    files = files_below(work, _is_left_out)
    return sum(size_on_disk(file) for file in files if not is_fixed(file))


def is_shared(file: str) -> bool:
    """Whether a file may have a second name in a snapshot: it is never written again, but another
    may come in its place; that of a database is a copy (`rag.index.sqlite`)."""
    return is_fixed(file) or file.endswith((f"/{FREQUENCIES}", _DATABASE))


def _is_left_out(name: str) -> bool:
    """Whether something in a working folder is for its writer alone, or was left by one that was
    killed."""
    return name == JOURNAL or _is_noted_or_left(name)


def _is_noted_or_left(name: str) -> bool:
    """Whether something in a working folder is no file of the index."""
    return name in _NOTES or is_leftover(name)
