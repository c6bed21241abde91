"""A mark in an index that lasts while its working copy may hold what is not synced.

It names the run of the machine in which it was made. Where another run finds it, the power was cut
meanwhile, and nobody can tell what of the working copy reached the disk.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from rag.support.durable_files import boot, replace_durably, sync_tree

_NAME = "UNSYNCED"


class SyncMark:
    """The mark of one index, for its one writer.

    :param index: the folder of the index, which bears the mark.
    :param work: the folder that is changed.
    """

    def __init__(self, index: Path, work: Path) -> None:
        self._file, self._work = index / _NAME, work
        self._is_set = False  # by this process

    def begin(self) -> None:
        """Note that the working copy is about to be changed."""
        if not self._is_set:
            replace_durably(self._file, boot().encode())
            self._is_set = True

    def settle(self, *others: Path) -> None:
        """Sync the working copy if it was changed here; its shard must be flushed and closed.

        :param others: folders to sync with it: at once they take little longer than one.
        """
        changed = [*others, *([self._work] if self._is_set else [])]
        if changed:
            sync_tree(*changed)
        if self._is_set:
            # Where this is undone by a power cut, it is made anew without need, and no worse.
            self._file.unlink(missing_ok=True)
            self._is_set = False

    def forget(self) -> None:
        """Take a mark away that another process left, with the working copy that it was about."""
        if not self._is_set:
            self._file.unlink(missing_ok=True)

    @property
    def was_cut_off(self) -> bool:
        """Whether the machine went down while the working copy was changed. No count would tell: a
        note may be there with the text that it had before."""
        with suppress(FileNotFoundError):
            return self._file.read_text("ascii", "replace") != boot()
        return False
