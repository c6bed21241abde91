"""Which project files the user trusts: those whose path and content are in the user's own list.

As with direnv and git's `safe.directory`, to enter a folder is not to agree to what lies in it. A
file that was changed is another file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from rag.config.files import platform_folder
from rag.exceptions import ConfigError
from rag.support.regular_files import read_file

_DAMAGE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True)
class Entry:
    """What the user said of a file, and when."""

    digest: str
    trusted: bool
    since: str = ""


@dataclass(frozen=True)
class TrustList:
    """The user's list: files by their real path, and hosts that were told to get a key."""

    files: Mapping[str, Entry] = field(default_factory=dict)
    told: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls) -> TrustList:
        """Read the list; without one nothing is trusted.

        :raises ConfigError: when it is damaged.
        """
        file = trust_file()
        if not os.path.lexists(file):
            return cls()
        try:
            data = json.loads(read_file(file))
            files = {
                path: Entry(str(e["sha256"]), e["trusted"] is True, str(e["since"]))
                for path, e in data["files"].items()
            }
            return cls(files, {host: str(variable) for host, variable in data["told"].items()})
        except _DAMAGE as error:
            raise ConfigError(
                f"the list of trusted files {file} is damaged",
                str(error),
                hint=f"Delete {file}, then `rag trust` in each folder whose file you trust.",
            ) from error

    def answer(self, file: Path, digest: str) -> bool | None:
        """Return what the user said of a file with this content; `None` for nothing."""
        entry = self.files.get(str(file))
        return entry.trusted if entry and entry.digest == digest else None

    def _save(self) -> None:
        from rag.support.durable_files import replace_durably

        files = {
            path: {"sha256": e.digest, "trusted": e.trusted, "since": e.since}
            for path, e in self.files.items()
        }
        data = {"files": files, "told": {**self.told}}
        text = json.dumps(data, indent=2, sort_keys=True) + "\n"
        replace_durably(trust_file(), text.encode())


def trust_file() -> Path:
    """Return where the list is, or would be."""
    return platform_folder("user_config_dir") / "trusted.json"


def digest_of(content: bytes, outside: Sequence[str]) -> str:
    """Return the digest of a project's file.

    :param outside: the folders outside of the project that it leads to; a link in the project
        could be turned elsewhere while the file stays as it is.
    """
    digest = sha256(content)
    if outside:
        digest.update(b"\0" + json.dumps(outside).encode())
    return digest.hexdigest()


def record(file: Path, digest: str, trusted: bool) -> None:
    """Keep what the user said of a file with this content.

    :raises ConfigError: when the list cannot be written.
    """
    from datetime import datetime

    now = datetime.now().astimezone().isoformat(timespec="seconds")
    with _changing() as known:
        replace(known, files={**known.files, str(file): Entry(digest, trusted, now)})._save()


def forget(file: Path) -> bool:
    """Take a file out of the list; tell whether it was there.

    :raises ConfigError: when the list cannot be written.
    """
    with _changing() as known:
        rest = {path: entry for path, entry in known.files.items() if path != str(file)}
        if len(rest) < len(known.files):
            replace(known, files=rest)._save()
    return len(rest) < len(known.files)


def remember_told(host: str, variable: str) -> None:
    """Keep that the user was told which key goes to a host.

    :raises ConfigError: when the list cannot be written.
    """
    with _changing() as known:
        replace(known, told={**known.told, host: variable})._save()


@contextmanager
def _changing() -> Iterator[TrustList]:
    """Give the list to the one process that changes it."""
    from rag.support.durable_files import changing

    folder = trust_file().parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
        with changing(folder):
            yield TrustList.load()
    except OSError as error:
        raise ConfigError(
            f"{trust_file()} cannot be written",
            error.strerror or str(error),
            hint="`--config FILE` reads a file without asking.",
        ) from error


def shown(value: Any) -> str:
    """Return a value for people, in one line and with nothing in it that cannot be seen."""
    plain = isinstance(value, Path)
    text = visible(str(value) if plain else json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= 500 else f"{text[:500]}… ({len(text) - 500:,} more characters)"


def visible(text: str) -> str:
    """Return a text with whatever is not printed, line feeds too, written as `\\n` or `\\u202e`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
