"""A snapshot of an index that a reader holds."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from rag.index.checksums import find_damage
from rag.index.index_errors import damaged_index
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

    def check(self, *wanted: str) -> bool:
        """Make sure that its files hold what was published, as far as their stamps tell.

        :param wanted: only these; by default all.
        :returns: false where nothing is known, since an older program published it.
        :raises IndexUnavailableError: when one does not.
        """
        wrong = find_damage(self.path, *wanted)
        if wrong:
            raise damaged_index(self.path.parent, f"{self.name}/{wrong[0]}")
        return wrong is not None

    def close(self) -> None:
        self._lock.close()

    def __enter__(self) -> IndexSnapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
