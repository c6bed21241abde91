"""Who writes an index that lies on a server, and which version of it is there: as the server says
it, and as the folder here remembers it."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from rag.index.snapshots import SERVER, IndexDirectory
from rag.support.durable_files import changing, replace_durably
from rag.support.http_transport import brief
from rag.support.owned_folders import claim_data_folder
from rag.support.regular_files import read_file

FORMAT = 4
_MACHINE = "machine.json"
_LONGEST_NAME = 100


@dataclass(frozen=True)
class Head:
    """The head of a catalog. The file SERVER in the folder of an index holds that of the catalog
    which is the current snapshot there."""

    index: str = ""  # its id
    machine: str = ""  # the id of the one that writes
    name: str = ""  # of that machine
    since: str = ""  # when it began, as ISO text
    format: int = FORMAT
    version: str = ""  # of the catalog; "" before the first was published
    before: str = ""  # the version before
    parts: int = 0  # of how many it is made
    points: int = 0  # how many belong to it
    revision: int = 0  # of its manifest
    published: str = ""  # when, as ISO text
    unfinished: bool = False  # whether points were written that no catalog knows yet

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Head:
        """Read a head.

        :raises ValueError: when it is none.
        """
        if payload.get("format") != FORMAT:  # an older program counted parts otherwise
            payload = {**payload, "parts": 0}
        plain = asdict(cls())
        values = {name: payload.get(name, value) for name, value in plain.items()}
        wrong = [name for name, value in plain.items() if type(values[name]) is not type(value)]
        if wrong or not 0 <= values["revision"] < 1 << 53:
            raise ValueError(f"wrong in its head: {', '.join(wrong) or 'revision'}")
        return cls(**values | {"name": brief(values["name"])})

    @classmethod
    def read(cls, folder: Path) -> Head | None:
        """Return that of a folder, `None` where there is none; an empty one where it is damaged."""
        try:
            return cls.from_payload(json.loads(read_file(folder / SERVER)))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, AttributeError, RecursionError):
            return cls()

    def write(self, folder: Path) -> None:
        """Write it into a folder, all of it or nothing."""
        replace_durably(folder / SERVER, json.dumps(asdict(self)).encode())

    def is_same_catalog(self, other: Head | None) -> bool:
        """Return whether two name one version and one machine that writes it."""
        facts = self.index, self.version, self.machine
        return other is not None and facts == (other.index, other.version, other.machine)


def machine_id(directory: IndexDirectory) -> str:
    """Return the id of this machine, as the data folder of an index knows it; "" for none yet."""
    with suppress(OSError, ValueError, RecursionError, LookupError, TypeError):
        return str(json.loads(read_file(_home(directory) / _MACHINE))["id"])
    return ""


def claim(directory: IndexDirectory) -> dict[str, Any]:
    """Return what a head says of this machine when it begins to write: `machine`, `name`, `since`.
    The machine gets an id when it has none.

    :raises OSError: when the data folder cannot be written.
    """
    folder = _home(directory)
    if not machine_id(directory):
        claim_data_folder(folder)
        with changing(folder):  # another process may be faster
            if not machine_id(directory):
                replace_durably(folder / _MACHINE, json.dumps({"id": new_id()}).encode())
    name = socket.gethostname()[:_LONGEST_NAME] or "a machine without a name"
    return {"machine": machine_id(directory), "name": name, "since": moment()}


def is_written_here(directory: IndexDirectory) -> bool:
    """Return whether this machine writes an index, as far as that is known here."""
    head = Head.read(directory.path)
    return head is None or head.machine in ("", machine_id(directory))


def new_id() -> str:
    """Return an id for an index, a version or a machine, which no other has."""
    return uuid4().hex


def moment() -> str:
    """Return the present moment, as it is shown."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


def _home(directory: IndexDirectory) -> Path:
    return directory.home or directory.path
