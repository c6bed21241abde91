"""A mark in an index: in which run of the machine its staging index was written last.

The staging index is never synced. Where another run of the machine finds the mark, the power may
have been cut meanwhile, and nobody can tell by size and time what of the staging index reached the
disk: it is trusted if every file holds what was recorded of it.
"""

from __future__ import annotations

import stat
from contextlib import suppress
from pathlib import Path

from rag.index.shard_files import discard
from rag.support.durable_files import boot, replace_durably

_NAME = "UNSYNCED"


class SyncMark:
    """The mark of one index, for its one writer.

    :param index: the folder of the index, which has the mark.
    """

    def __init__(self, index: Path) -> None:
        self._file = index / _NAME
        self._is_set = False  # by this process

    def begin(self) -> None:
        """Note that the staging index is about to be changed."""
        if not self._is_set:
            if self._found() != boot():
                if not self._file.is_file():
                    discard(self._file)
                replace_durably(self._file, boot().encode())
            self._is_set = True

    def forget(self) -> None:
        """Take a mark away that another process left, with the staging index that it was about."""
        if not self._is_set:
            discard(self._file)

    @property
    def is_of_another_run(self) -> bool:
        """Whether the machine was started again since the staging index was changed."""
        return self._found() not in (None, boot())

    def _found(self) -> str | None:
        with suppress(FileNotFoundError):
            is_file = stat.S_ISREG(self._file.lstat().st_mode)  # a pipe would be waited for
            return self._file.read_text("ascii", "replace") if is_file else "no file"
        return None
