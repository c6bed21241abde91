"""What the engine calls the files of a shard, and its settings, which it keeps among them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

CONFIG = "edge_config.json"
SEGMENT = "segment.json"  # the same of a segment
SEGMENTS = "segments"
TABLE = "indices_tracker.json"  # of the dimensions of a lexical space, by their places
SORTED = "dimensions.sorted"  # the second form of it (`rag.stores.edge.narrow_shard`)
# What a merged segment has beside its points, written with it.
_FIXED = (
    *("inverted_index.dat", TABLE, SORTED, "id_tracker.mappings"),
    *("values_to_points.bin", "point_to_values.bin", "data.bin"),
)
_TEMPORARY = ("temp_segments", ".atomicwrite")  # where it merges, and where it writes small files


def is_leftover(name: str) -> bool:
    """Return whether a file or folder of a shard is one that the engine, or we, soon remove."""
    return name.startswith(_TEMPORARY) or name.endswith(".tmp")


def is_settings(file: str | Path) -> bool:
    """Return whether a file holds settings of a shard or of a segment, as JSON."""
    return str(file).endswith((CONFIG, SEGMENT))


def is_fixed(file: str) -> bool:
    """Whether the engine never writes a file again, so that it may have a name in more than one
    snapshot: the postings of a merged segment, its tables of dimensions, its list of points, its
    indexes of fields, and the pages that hold its payloads and vectors. What is deleted there is
    noted beside them."""
    name = file.rpartition("/")[2]
    if not name.startswith("page_"):
        return name in _FIXED
    # Only a merged segment has this kind of list of its points.
    segment = file.rpartition("_storage")[0].rpartition("/")[0]
    return Path(segment, "id_tracker.mappings").exists()


def discard(path: Path) -> None:
    """Remove a file, or a folder with all that it holds; one that is gone is no error.

    :raises OSError: when a file cannot be removed.
    """
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def dense_size(shard: Path, name: str) -> int | None:
    """Return the size of a shard's dense vectors of that name, `None` when it has none.

    :raises FileNotFoundError: when there is no shard.
    """
    config = json.loads((shard / CONFIG).read_text("utf-8"))
    size: int | None = config.get("vectors", {}).get(name, {}).get("size")
    return size
