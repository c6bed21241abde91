"""The files that hold settings: where they are, and reading them within bounds."""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.config.platform_folders import platform_folder
from rag.exceptions import ConfigError

PROJECT_FILES = ("config/rag.toml", "rag.toml")
MOST_BYTES = 1 << 20
_DEEPEST = 20  # tables and lists in each other; settings have four
_TOO_DEEP = f"it has more than {_DEEPEST} tables or lists in each other"
_MOST_DOTS = 200  # in one line: a key of many parts takes time in the square of their number
_MOST_DOTS_IN_ALL = 20_000  # many such keys take as long as one


@dataclass(frozen=True)
class ProjectFile:
    """A project's file as it was read.

    :param file: its real path.
    :param folder: the real path of the folder that it was found in.
    :param content: its very bytes, of which `settings` were parsed.
    :param is_named: whether the user named it, with --config or by a whole path in `RAG_CONFIG`.
    """

    file: Path
    folder: Path
    content: bytes
    settings: Mapping[str, Any]
    is_named: bool = False

    @property
    def root(self) -> Path:
        """The folder that its paths are relative to."""
        return self.file.parent.parent if self.file.parent.name == "config" else self.file.parent


def user_file() -> Path:
    """Return where the user's own file is, or would be."""
    return platform_folder("user_config_dir") / "rag.toml"


def new_project_file(cwd: Path) -> Path:
    """Return the project file of a folder: the one that is read there, else the one to make."""
    here = [cwd / name for name in PROJECT_FILES]
    return next((file for file in here if file.exists()), here[-1])


def find_project(path: str | Path | None, env: Mapping[str, str], cwd: Path) -> ProjectFile | None:
    """Read the project file in force; `None` when there is none.

    :param path: what --config names; without it `RAG_CONFIG`, else the nearest one from `cwd` up.
    :raises ConfigError: for a file that is missing or does not parse.
    """
    named = path or env.get("RAG_CONFIG")
    if named:
        expanded = Path(named).expanduser()
        file = Path(os.path.realpath(cwd / expanded))
        if not file.is_file():
            from rag.support.regular_files import strange_kind

            kind = strange_kind(file)
            wrong = f"{named} is {kind}, not a file" if kind else f"no configuration file {named}"
            raise ConfigError(wrong, hint="Check --config and RAG_CONFIG.")
        # A variable that says `rag.toml` would mean another file in every folder.
        return _read_project(file, file.parent, bool(path) or expanded.is_absolute())
    nearest = _nearest(cwd)
    if nearest is None:
        return None
    file, folder = nearest
    return _read_project(_real(file), _real(folder), seen=file)


def nearest_file(cwd: Path) -> tuple[Path, Path] | None:
    """Return the nearest project file from a folder up, and the folder that it is of; both are
    real paths. `None` when there is none."""
    nearest = _nearest(cwd)
    return (_real(nearest[0]), _real(nearest[1])) if nearest else None


def _nearest(cwd: Path) -> tuple[Path, Path] | None:
    for folder in (cwd, *cwd.parents):
        for name in PROJECT_FILES:
            if is_there(folder / name):
                return folder / name, folder
    return None


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # which takes a link to itself


def _read_project(
    file: Path, folder: Path, is_named: bool = False, seen: Path | None = None
) -> ProjectFile:
    content = _content(file, seen or file)
    return ProjectFile(file, folder, content, parse(content, file), is_named)


def strange_files(is_named: bool, cwd: Path) -> dict[Path, str]:
    """Return what has the name of a file of settings and is none, and what it is: "a folder".

    :param is_named: whether the project's file was named, so that none is looked for.
    """
    nearest = None if is_named else _nearest(cwd)
    places = [user_file()]
    for folder in () if is_named else (cwd, *cwd.parents):
        places += [folder / name for name in PROJECT_FILES]
        if nearest and folder == nearest[1]:
            break
    found = [path for path in places if os.path.lexists(path) and not is_there(path)]
    if not found:
        return {}
    from rag.support.regular_files import strange_kind

    return {path: kind for path in found if (kind := strange_kind(path))}


def is_there(file: Path) -> bool:
    """Whether there is a file, or a link that was meant to lead to one: that is no reason to go on
    without."""
    return file.is_file() or file.is_symlink()


def read_user_file(file: Path) -> dict[str, Any]:
    """Return the settings in the user's own file.

    :raises ConfigError: when it cannot be read or does not parse.
    """
    try:
        return parse(_content(file, file), file)
    except ConfigError as error:
        # It counts whatever other file is named.
        raise ConfigError(error.message, error.details, hint=f"Mend {file}.") from error


def _content(file: Path, seen: Path) -> bytes:
    """Return what a file of settings holds.

    :param seen: the path that leads to it, which is the one to mend where it leads to no file.
    :raises ConfigError: when it cannot be read.
    """
    try:
        return read_bytes(file)
    except (OSError, ValueError) as error:
        why = str(error) if seen == file else f"it leads to {file}: {error}"
        raise _unreadable(seen, why) from error


def read_bytes(file: Path, most: int = MOST_BYTES) -> bytes:
    """Return what a file holds; no device is read and no pipe waited for.

    :raises OSError: when it cannot be read.
    :raises ValueError: when it is no file, or holds more than `most` bytes.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as opened:
        if _is_empty_device(os.fstat(descriptor)):
            return b""
        content = opened.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it is larger than {most >> 20} MB")
    return content


def _is_empty_device(status: os.stat_result) -> bool:
    """Tell whether it is /dev/null, which people link to for "nothing".

    :raises ValueError: when it is neither that nor a file.
    """
    if stat.S_ISREG(status.st_mode):
        return False
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == Path(os.devnull).stat().st_rdev:
        return True
    raise ValueError("it is no regular file")


def parse(content: bytes, file: Path) -> dict[str, Any]:
    """Return the settings in the content of a file.

    :raises ConfigError: when it is no TOML, or such as nobody writes.
    """
    try:
        text = content.decode("utf-8-sig")
        _check_dots(text)
        found = tomllib.loads(text)
        if _is_deep(found):
            raise ValueError(_TOO_DEEP)
        return found
    except RecursionError:
        raise _unreadable(file, "it has too many tables or lists in each other") from None
    except ValueError as error:
        raise _unreadable(file, str(error)) from error


def _check_dots(text: str) -> None:
    """Refuse keys and heads of tables that take the parser long.

    :raises ValueError: where a line, the head of a table, or all of the text has too many dots.
    """
    lines = text.split("\n")
    if max(line.count(".") for line in lines) > _MOST_DOTS:
        raise ValueError(f"a line has more than {_MOST_DOTS:,} dots")
    heads = (line.partition("]")[0] for line in lines if line.lstrip().startswith("["))
    # The parser goes through the tables of a head again for each key below it.
    if any(head.count(".") > _DEEPEST for head in heads):
        raise ValueError(_TOO_DEEP)
    if text.count(".") > _MOST_DOTS_IN_ALL:
        raise ValueError(f"it has more than {_MOST_DOTS_IN_ALL:,} dots")


def _is_deep(tree: Mapping[str, Any]) -> bool:
    level: list[Any] = [tree]
    for _ in range(_DEEPEST):
        inside = [v.values() if isinstance(v, dict) else v for v in level]
        level = [v for values in inside for v in values if isinstance(v, (dict, list))]
    return bool(level)


def _unreadable(file: Path, why: str) -> ConfigError:
    return ConfigError(
        f"cannot read {file}",
        why[:300],
        hint=f"Mend {file}, or name another with --config.",
    )
