"""Events of files: word from the system that something below some folders has changed.

They say *that* something changed, and are no list of what did. Of 50,000 files touched at once the
system reports some, and no error; of a folder that is renamed or moved in, only the folder. Where
the system tells nothing, on drives of a network, the files are looked at again and again.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue

# The generator that watchfiles shows begins when it is first waited for, which is too late.
from watchfiles._rust_notify import RustNotify

_POLL = 3000  # milliseconds between two looks at files of which the system tells nothing
_STEP = 50  # milliseconds, after which what the system told is handed on
_MOUNTS = Path("/proc/self/mounts")
_REMOTE = re.compile(
    r"nfs\d?|cifs|smb\w*|9p|afs|ceph|glusterfs|vboxsf|prl_fs|fuse\.(sshfs|rclone|s3fs|davfs\w*|gcsfuse)"
)
_LIMITS = {  # by what the error says
    "MaxFilesWatch": ("folders", "max_user_watches=1048576"),
    "os error 24": ("programs that watch", "max_user_instances=1024"),
}
# Hidden files that say which notes there are.
_RULES = {".gitignore", ".ragignore", ".obsidian/app.json"}


class WatchLimitError(OSError):
    """The system cannot tell of changes, so that files must be looked at; the message says why."""


class FileEvents:
    """The events of all files below some folders, from now on.

    :param folders: that are there.
    :param apart: a folder of which nothing is told, wherever it lies.
    :param polled: whether all folders are looked at again and again, not only those of a network.
    """

    def __init__(self, folders: Iterable[Path], apart: Path, polled: bool = False) -> None:
        distinct = {*folders}
        folders = sorted(one for one in distinct if distinct.isdisjoint(one.parents))
        self.polled = [folder for folder in folders if polled or is_remote(folder)]
        self._folders, self._apart = folders, apart.resolve()
        self._heard: SimpleQueue[list[str] | Exception] = SimpleQueue()
        self._closed = threading.Event()
        for is_polled in (False, True):
            if group := [folder for folder in folders if (folder in self.polled) is is_polled]:
                self._begin(group, is_polled)

    def wait(self, seconds: float) -> list[str]:
        """Return paths of which something was told, as soon as there are some; none after so many
        seconds, or after `wake`.

        :raises WatchLimitError: when the system cannot tell of changes.
        :raises OSError: when nothing more will be told of some folder.
        """
        try:
            heard = self._heard.get(timeout=max(seconds, 0.0))
        except Empty:
            return []
        if isinstance(heard, Exception):
            raise _as_ours(heard) from heard
        return heard

    def wake(self) -> None:
        """End a `wait`; from another thread, or out of a signal's handler."""
        self._heard.put([])

    def close(self) -> None:
        """Hear nothing more."""
        self._closed.set()

    def _begin(self, folders: Sequence[Path], is_polled: bool) -> None:
        """Have all changes told that come after this; what goes wrong is raised by `wait`."""
        names = [str(folder) for folder in folders]
        try:
            try:
                notify = RustNotify(names, False, is_polled, _POLL, True, False)
            except PermissionError:  # what may not be read holds no notes; the limit is not told
                notify = RustNotify(names, False, is_polled, _POLL, True, True)
        except Exception as error:  # its own, of which it says the type nowhere
            self._heard.put(error)
        else:
            threading.Thread(target=self._listen, args=(notify,), daemon=True).start()

    def _listen(self, notify: RustNotify) -> None:
        try:
            while not isinstance(changes := notify.watch(4 * _STEP, _STEP, 0, self._closed), str):
                if paths := [path for _, path in changes if self._matters(path)]:
                    self._heard.put(paths)
        except Exception as error:
            self._heard.put(error)
        finally:
            notify.close()

    def _matters(self, path: str) -> bool:
        """Return whether a path may be a note, a folder, or a file that says which notes there are:
        not whether it is hidden, as what editors and Obsidian keep for themselves is."""
        file = Path(path)
        inner = (str(file.relative_to(one)) for one in self._folders if file.is_relative_to(one))
        hidden = re.search(r"(?:^|/)(\.[^/].*)", next(inner, ""))
        return not file.is_relative_to(self._apart) and (not hidden or hidden[1] in _RULES)


def is_remote(folder: Path) -> bool:
    """Return whether the files of a folder may be changed by other machines, of which the system
    here hears nothing; as far as that can be told."""
    try:
        mounts = _MOUNTS.read_text("utf-8", "surrogateescape")
    except OSError:
        return False
    nearest, kind = "", ""
    for line in mounts.splitlines():  # see fstab(5)
        place = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), line.split(" ")[1])
        if len(place) >= len(nearest) and folder.is_relative_to(place):
            nearest, kind = place, line.split(" ")[2]
    return _REMOTE.fullmatch(kind) is not None


def _as_ours(error: Exception) -> OSError:
    for sign, (what, limit) in _LIMITS.items():
        if sign in str(error):
            return WatchLimitError(
                f"the system allows no more {what}, so files are looked at every few seconds"
                f" instead; `sudo sysctl fs.inotify.{limit}` raises the limit"
            )
    if "Unable to decode path" in str(error):
        what = "a file has a name that is not UTF-8"
        return WatchLimitError(f"{what}, so files are looked at every few seconds instead")
    return error if isinstance(error, OSError) else OSError(str(error))
