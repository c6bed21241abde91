"""A snapshot that is being read."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from rag.support.regular_files import read_file

POINTS = "points"


class IndexSnapshot:
    """A snapshot that this process holds against removal; `close` lets it go."""

    def __init__(self, path: Path, lock: IO[bytes]) -> None:
        self.path = path
        self._lock = lock

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def points(self) -> int:
        """The number of points its shard was published with."""
        return int(read_file(self.path / POINTS))

    def close(self) -> None:
        self._lock.close()

    def __enter__(self) -> IndexSnapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
