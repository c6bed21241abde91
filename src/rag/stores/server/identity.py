"""Which index a folder holds, and which machine this is: what is kept here of an index that lies on
a server."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from rag.index.snapshots import SERVER, IndexDirectory
from rag.support.durable_files import changing, replace_durably
from rag.support.owned_folders import claim_data_folder
from rag.support.regular_files import read_file

_MACHINE = "machine.json"
_LONGEST_NAME = 100


@dataclass(frozen=True)
class ServerMark:
    """The file SERVER in the folder of an index.

    :param index: the id of the index; "" in one that an older version made.
    :param version: that of the catalog that the current snapshot is.
    :param work: that of the catalog which the staging index goes on from.
    :param coming: that of the catalog that is being published from here.
    :param machine: the id of the machine that writes, as far as that is known here; `name` is its
        name, `since` when it began.
    """

    index: str = ""
    version: str = ""
    work: str = ""
    coming: str = ""
    machine: str = ""
    name: str = ""
    since: str = ""

    @classmethod
    def read(cls, folder: Path) -> ServerMark | None:
        """Return the mark of a folder, `None` where there is none."""
        file = folder / SERVER
        return cls(**_texts(file, *cls.__dataclass_fields__)) if file.exists() else None

    def write(self, folder: Path) -> None:
        """Write it into a folder, all of it or nothing."""
        replace_durably(folder / SERVER, json.dumps(asdict(self)).encode())

    def known(self) -> set[str]:
        """Return the versions of the catalog that this folder can go on from."""
        return {self.work, self.coming} - {""}


@dataclass(frozen=True)
class Machine:
    """Who writes: an id that no other has, and a name for people."""

    id: str
    name: str

    @classmethod
    def of(cls, directory: IndexDirectory) -> Machine:
        """Return this machine, as the data folder of an index knows it; it is made known when it is
        new.

        :raises OSError: when the folder cannot be written.
        """
        folder, name = directory.home or directory.path, socket.gethostname()[:_LONGEST_NAME]
        if not _machine_id(directory):
            claim_data_folder(folder)
            with changing(folder):  # another process may be faster
                if not _machine_id(directory):
                    replace_durably(folder / _MACHINE, json.dumps({"id": new_id()}).encode())
        return cls(_machine_id(directory), name or "a machine without a name")


def is_written_here(directory: IndexDirectory) -> bool:
    """Return whether this machine writes an index, as far as that is known here."""
    mark = ServerMark.read(directory.path)
    return mark is None or mark.machine in ("", _machine_id(directory))


def new_id() -> str:
    """Return an id for an index, a version or a machine, which no other has."""
    return uuid4().hex


def moment() -> str:
    """Return the present moment, as it is shown."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


def _machine_id(directory: IndexDirectory) -> str:
    return _texts((directory.home or directory.path) / _MACHINE, "id").get("id", "")


def _texts(file: Path, *names: str) -> dict[str, str]:
    """Return the texts of these names in a file of JSON, none where it is something else."""
    with suppress(OSError, ValueError, RecursionError):
        content = json.loads(read_file(file))
        if isinstance(content, dict):
            return {name: content[name] for name in names if isinstance(content.get(name), str)}
    return {}
