"""Which folder of the data folder holds what is known of an index on a server.

It is named after the address at which the server was first found. When another address turns out
to lead to the same index, that is noted in `servers.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

_NAMES = "servers.json"
_NAME = re.compile("index-[0-9a-f]{12}")


def server_folder(home: Path, addresses: Sequence[str], collection: str) -> Path:
    """Return the folder of an index: that of the first address whose folder there is.

    :param home: the data folder.
    """
    names = folder_names(home)
    folders = [
        home / names.get(_key(address, collection), _default(address, collection))
        for address in addresses
    ]
    return next((folder for folder in folders if folder.is_dir()), folders[0])


def folder_name(index: str) -> str:
    """Return the name of the folder of an index that has this id, or this address."""
    return f"index-{sha256(index.encode()).hexdigest()[:12]}"


def folder_names(home: Path) -> dict[str, str]:
    """Return the folders that were noted, by address and collection."""
    from rag.support.regular_files import read_file

    with suppress(OSError, ValueError, RecursionError):
        names = json.loads(read_file(home / _NAMES))
        if isinstance(names, dict):
            texts = {k: v for k, v in names.items() if isinstance(v, str)}
            return {k: v for k, v in texts.items() if _NAME.fullmatch(v)}
    return {}


def note_folder(home: Path, addresses: Sequence[str], collection: str, name: str) -> None:
    """Note in which folder the index at some addresses is kept.

    :raises OSError: when it cannot be written.
    """
    from rag.support.durable_files import changing, replace_durably

    with changing(home):
        names = folder_names(home) | {_key(address, collection): name for address in addresses}
        replace_durably(home / _NAMES, json.dumps(names, indent=2).encode())


def _key(address: str, collection: str) -> str:
    return f"{address.rstrip('/')} {collection}"


def _default(address: str, collection: str) -> str:
    return folder_name(_key(address, collection))
