"""What the files of a folder held when they were written, and whether they still do.

    checksums   size and checksum of every file, and a checksum of all that
    stamps      what the system says of each file that was found to hold what it did

A file that is still the same to the system (its number, size and times) is not read again, so
that a check of a whole snapshot takes less than a millisecond. Whoever copies or restores the
folder changes every stamp: then all is read, once. A fault of the disk changes no stamp: it shows
when all is read, which `rag doctor` always does and `rag index` does once a day. One small file
is always read.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from zlib import crc32

from rag.index.shard_files import CONFIG, SEGMENT
from rag.support.durable_files import replace_durably
from rag.support.regular_files import read_file
from rag.support.sparse_files import Checksum, checksum

SUMS = "checksums"
STAMPS = "stamps"
WRITING = "writing"  # in the staging index: it may hold more than its checksums say
# The engine writes these whenever it opens a shard, and changes nothing of what they say. They
# hold next to nothing: to read them again costs less than to note what they look like now.
_REWRITTEN = (CONFIG, SEGMENT, "flags_a.dat", "flags_b.dat")
# One number wrong in this file of a segment that is being filled lets the engine make room for a
# billion points, which takes half a minute. It is small, and read each time.
_ALWAYS_READ = "mutable_id_tracker.mappings"
_READ = "read at"
_DAY = 24 * 3600.0

Seen = set[tuple[str, Checksum]]  # stamps of files, and what these held a moment ago


class Record:
    """The checksums of the files of a folder.

    :param sums: by the files' paths in the folder.
    """

    def __init__(self, folder: Path, sums: Mapping[str, Checksum]) -> None:
        self.folder = folder
        self.sums = dict(sums)
        self._stamps: dict[str, str] | None = None
        self._is_news = False

    @classmethod
    def read(cls, folder: Path) -> Record | None:
        """Return the record that a folder holds, `None` where there is none.

        :raises ValueError: when it is damaged itself.
        """
        try:
            head, _, body = read_file(folder / SUMS).partition(b"\n")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ValueError(SUMS) from error
        if head != b"%08x" % crc32(body):
            raise ValueError(SUMS)
        return cls(folder, {name: Checksum(*found) for name, found in json.loads(body).items()})

    def write(self, staged: Path | None = None) -> None:
        """Write the checksums down.

        :param staged: the folder that will become the record's, when it was synced; by default
            they are written into the record's own, whole or not at all, and synced.
        """
        body = json.dumps(self.sums).encode()
        content = b"%08x\n" % crc32(body) + body
        if staged is not None:
            (staged / SUMS).write_bytes(content)
        else:  # half of it would be taken for damage
            replace_durably(self.folder / SUMS, content)

    def damaged(
        self,
        wanted: Callable[[str], bool] | None = None,
        all_read: bool = False,
        seen: Seen | None = None,
    ) -> list[str]:
        """Return those files that do not hold what they did, or are gone.

        :param wanted: tells by its path whether a file is examined; by default all are.
        :param all_read: read every file, whatever its stamp.
        :param seen: files read for another record, which may have the same under other names;
            those read for this one are added.
        """
        seen = set() if seen is None else seen
        believed = {} if all_read else {**self.stamps}
        names = [name for name in self.sums if wanted is None or wanted(name)]
        wrong, left, folder = [], len(self.sums) - len(names), str(self.folder)
        for name in names:
            path, known = f"{folder}/{name}", self.sums[name]
            stamp = stamp_of(path)
            is_known = believed.get(name) == stamp and not name.endswith(_ALWAYS_READ)
            if stamp and is_known:
                left += 1
            elif stamp and ((stamp, known) in seen or _holds(path, known)):
                seen.add((stamp, known))
                is_new = self.stamps.get(name) != stamp and not name.endswith(_REWRITTEN)
                self._is_news = self._is_news or is_new
                self.stamps[name] = stamp
            else:
                wrong.append(name)
        if not left:
            self._is_news = self._is_news or self.is_due
            self.stamps[_READ] = str(time.time())
        return wrong

    @property
    def read_at(self) -> str:
        """When all of the files were read last, as text; empty where that is not known."""
        return self.stamps.get(_READ, "")

    @property
    def is_due(self) -> bool:
        """Whether a day has passed since all of the files were read."""
        try:
            return not 0 <= time.time() - float(self.read_at) < _DAY
        except (ValueError, TypeError):
            return True

    # -- stamps ------------------------------------------------------------------------

    @property
    def stamps(self) -> dict[str, str]:
        """The stamps by path, as they were when they were first asked for, and what `damaged`
        has found out since."""
        if self._stamps is None:
            self._stamps = {}
            with suppress(OSError, ValueError, TypeError, RecursionError):
                self._stamps = dict(json.loads(read_file(self.folder / STAMPS)))
        return self._stamps

    def remember(self) -> None:
        """Spare the next one what `damaged` has read, where there is a right to write."""
        if self._is_news:
            with suppress(OSError):
                self._write_stamps()
            self._is_news = False

    def _write_stamps(self) -> None:
        # Readers write them too, several at a time.
        staged = self.folder / f"{STAMPS}-{os.getpid()}.tmp"
        staged.write_text(json.dumps(self.stamps), "ascii")
        staged.replace(self.folder / STAMPS)

    def stamp(self, read_at: str = "") -> None:
        """Note what the files look like, which hold what they should.

        :param read_at: when all of them were read, as the stamps of another record say; by
            default now.
        """
        self._stamps = {name: stamp_of(f"{self.folder}/{name}") or "" for name in self.sums}
        self._stamps[_READ] = read_at or str(time.time())
        self._is_news = True
        self.remember()

    def distrust(self) -> None:
        """Let whoever is next read every file."""
        self._stamps = None
        with suppress(OSError):
            (self.folder / STAMPS).unlink()


def find_damage(
    folder: Path,
    *wanted: str,
    all_read: bool = False,
    seen: Seen | None = None,
    remember: bool = True,
) -> list[str] | None:
    """Return the files of a snapshot that do not hold what they did, by their paths in it.

    Nobody trusts the stamps of a damaged one any more.

    :param wanted: only these are examined; by default all.
    :param all_read: read every file, whatever its stamp.
    :param seen: files read a moment ago.
    :param remember: spare the next one what was read.
    :returns: `None` where nothing is known, since an older program made it.
    """
    try:
        record = Record.read(folder)
    except ValueError as error:
        return [str(error)]
    if record is None:
        return None
    wrong = record.damaged(wanted.__contains__ if wanted else None, all_read, seen)
    if wrong:
        record.distrust()
    elif remember:
        record.remember()
    return wrong


def stamp_of(file: str | Path) -> str | None:
    """Return what tells a file from any other, and from itself once it is changed.

    :returns: `None` when it is no file.
    """
    try:
        facts = os.stat(file)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    if not S_ISREG(facts.st_mode):  # a pipe would be waited for
        return None
    return f"{facts.st_ino} {facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns}"


def sum_of(file: str | Path) -> Checksum:
    """Read a file and return its checksum; of a shard's settings, and a segment's, that of what
    they say: the engine lays them out in another order each time.

    :raises OSError: when it cannot be read.
    :raises ValueError: when it holds no settings.
    """
    if not str(file).endswith((CONFIG, SEGMENT)):
        return checksum(file)
    said = json.dumps(json.loads(Path(file).read_bytes()), sort_keys=True).encode()
    return Checksum(len(said), crc32(said))


def _holds(file: str, known: Checksum) -> bool:
    try:
        # An older program wrote the sum of a segment's settings as they were laid out.
        return sum_of(file) == known or (file.endswith(SEGMENT) and checksum(file) == known)
    except (OSError, ValueError, RecursionError):
        return False
