"""A folder that stands for a snapshot's shard, for as long as a reader takes to open it.

It holds links, and files of its own where a link will not do: a table of few dimensions, and,
where the disk is full or may not be written, whatever the engine must be able to write. It opens
most files for writing even to read them, and to touch a hole in one may take a block of the disk
(a tmpfs gives holes their blocks when they are read), for lack of which the system ends the
process. Such a folder is made in memory, or wherever else there is room: to make and remove some
hundred links takes many milliseconds on a disk.

This relies on how the engine lays out its files; the tests hold it to that.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from rag.exceptions import UsageError
from rag.index.shard_files import CONFIG
from rag.index.snapshots import LINKED, MEMORY
from rag.support.disk_space import disk_full, free_room
from rag.support.sparse_files import copy_file

# The holes that the engine touches as it opens an index: 22 MB where there is a segment of points
# that are not merged yet.
_HOLES = 32 << 20
# Files that the engine opens for reading only; all others it may write, or tells by their kind
# from links.
_ONLY_READ = frozenset(
    {
        *("inverted_index.dat", "indices_tracker.json", "dimensions.sorted", "matrix.dat"),
        *("id_tracker.mappings", "values_to_points.bin", "point_to_values.bin", "data.bin"),
        *("graph.bin", "links_compressed.bin"),
    }
)
Decide = Callable[["os.DirEntry[str]"], bool]


@contextmanager
def openable(shard: Path, tables: Mapping[str, bytes]) -> Iterator[Path]:
    """Yield a folder that the engine can open as the shard; it lasts until it is open.

    It is the shard itself where no table is another and nothing else speaks against that.

    :param tables: files that shall hold something else, by their absolute paths.
    :raises UsageError: when the shard may not be written, and there is no room elsewhere.
    :raises DiskFullError: when its disk is full, and there is no room elsewhere.
    """
    shard = shard.absolute()
    is_ours = all(os.access(p, os.W_OK) for p in (shard, shard / CONFIG) if p.exists())
    is_roomy = is_ours and free_room(shard) >= _HOLES
    if is_roomy and not tables:
        yield shard
        return
    with ExitStack() as stack:
        folder = None
        places = iter((MEMORY,)) if is_roomy else _elsewhere()
        is_linked = _links(shard, tables, is_ours, is_roomy)
        while folder is None and (place := next(places, None)):
            folder = _make(place, shard, tables, is_linked, stack)
        yield folder or _whole(shard, is_ours)


def _links(shard: Path, tables: Mapping[str, bytes], is_ours: bool, is_roomy: bool) -> Decide:
    """Return what tells which entries of a shard are links in a folder that stands for it."""
    if is_roomy:
        return _is_apart(shard, tables)
    return _is_untouched if is_ours else _is_only_read


def _whole(shard: Path, is_ours: bool) -> Path:
    """Return the shard, to be opened itself for want of anything better.

    :raises UsageError: when it may not be written.
    :raises DiskFullError: when its disk is full.
    """
    if not is_ours:
        raise UsageError(
            f"the index at {shard.parent} may not be written, and there is no room for a copy of"
            " what the engine must write",
            hint="Make its folder writable, free some room in /tmp, or copy the index and name the"
            " copy with RAG_DATA_DIR.",
        )
    if free_room(shard) < os.statvfs(shard).f_frsize:
        raise disk_full(shard.parent, _HOLES)
    return shard


def _elsewhere() -> Iterator[str]:
    """Yield folders that may have room, those in memory first."""
    named = (os.environ.get(name) for name in ("XDG_RUNTIME_DIR", "TMPDIR"))
    yield from filter(None, (MEMORY, *named, "/tmp", "/var/tmp"))


def _make(
    place: str, shard: Path, tables: Mapping[str, bytes], is_linked: Decide, stack: ExitStack
) -> Path | None:
    """Return a folder in `place` that stands for the shard until the stack ends.

    `None` when it cannot be made, or when the engine would have no room in it.
    """
    with ExitStack() as made:
        with suppress(OSError):
            temporary = tempfile.TemporaryDirectory(
                prefix=LINKED, dir=place, ignore_cleanup_errors=True
            )
            folder = made.enter_context(temporary)
            _mirror(str(shard), folder, tables, is_linked)
            if free_room(folder) >= _HOLES:
                stack.enter_context(made.pop_all())
                return Path(folder)
    return None


def _mirror(source: str, target: str, tables: Mapping[str, bytes], is_linked: Decide) -> None:
    with os.scandir(source) as entries:
        for entry in entries:
            twin = f"{target}/{entry.name}"
            if (table := tables.get(entry.path)) is not None:
                with open(twin, "wb") as file:
                    file.write(table)
            elif is_linked(entry):
                os.symlink(entry.path, twin)
            elif entry.is_dir():
                os.mkdir(twin)
                _mirror(entry.path, twin, tables, is_linked)
            else:
                copy_file(entry.path, twin)


def _is_apart(shard: Path, tables: Mapping[str, bytes]) -> Decide:
    """Link all but the folders that the engine lists and those of the tables."""
    segments = f"{shard}/segments"
    real = {segments, *(os.path.dirname(table) for table in tables)}
    return lambda entry: entry.path not in real and os.path.dirname(entry.path) != segments


def _is_only_read(entry: os.DirEntry[str]) -> bool:
    return entry.name in _ONLY_READ


def _is_untouched(entry: os.DirEntry[str]) -> bool:
    """Link what the engine reads only, and whole folders of pages where it reads no holes: in
    those of a merged segment, which is the one that has this list of its points."""
    if not os.path.exists(f"{entry.path}/page_0.dat"):
        return entry.name in _ONLY_READ
    segment = entry.path[: entry.path.index("/", entry.path.rindex("/segments/") + 10)]
    return os.path.exists(f"{segment}/id_tracker.mappings")
