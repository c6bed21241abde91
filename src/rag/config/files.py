"""The files that hold settings: where they are, and reading them within bounds."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.exceptions import ConfigError
from rag.support.files import open_file, strange_kind

PROJECT_FILES = ("config/rag.toml", "rag.toml")
MOST_BYTES = 1 << 18
# Keys of many parts, and many keys below a head of many, take the parser long.
_MOST_DOTS = 200  # in a line
_MOST_DOTS_OF_HEAD = 20


@dataclass(frozen=True)
class ProjectFile:
    """A project's file as it was read.

    :param file: its real path.
    :param folder: the real path of the folder that it was found in.
    :param root: the folder that its paths are relative to.
    :param content: its very bytes, of which `settings` were parsed.
    :param is_named: whether the user named it, with --config or by a whole path in `RAG_CONFIG`.
    """

    file: Path
    folder: Path
    root: Path
    content: bytes
    settings: Mapping[str, Any]
    is_named: bool


def platform_folder(which: str) -> Path:
    """Return one of the platform's folders for this program, as platformdirs names it."""
    import platformdirs

    return Path(getattr(platformdirs, which)("rag", appauthor=False))


def user_file() -> Path:
    """Return where the user's own file is, or would be."""
    return platform_folder("user_config_dir") / "rag.toml"


def new_project_file(cwd: Path) -> Path:
    """Return the project file of a folder: the one that is read there, else the one to make."""
    here = [cwd / name for name in PROJECT_FILES]
    return next((file for file in here if file.exists()), here[-1])


def nearest_file(cwd: Path) -> tuple[Path, Path] | None:
    """Return the nearest project file from a folder up, and the folder that it is of."""
    for folder in (cwd, *cwd.parents):
        for name in PROJECT_FILES:
            # A folder or a broken link of that name is no reason to go on without.
            if os.path.lexists(folder / name):
                return folder / name, folder
    return None


def find_project(path: str | Path | None, env: Mapping[str, str], cwd: Path) -> ProjectFile | None:
    """Read the project file in force; `None` when there is none.

    :param path: what --config names; without it `RAG_CONFIG`, else the nearest one from `cwd` up.
    :raises ConfigError: for a file that is missing or does not parse.
    """
    if named := path or env.get("RAG_CONFIG"):
        place = cwd / Path(named).expanduser()
        if not place.is_file():
            kind = strange_kind(place)
            wrong = f"{named} is {kind}, not a file" if kind else f"no configuration file {named}"
            raise ConfigError(wrong, hint="Check --config and RAG_CONFIG.")
        folder = real_path(place).parent
    elif nearest := nearest_file(cwd):
        place, folder = nearest
    else:
        return None
    # A variable that says `rag.toml` would mean another file in every folder.
    is_named = bool(path or (named and Path(named).expanduser().is_absolute()))
    content, settings = read_settings(place)
    file = real_path(place)
    root = file.parent.parent if file.parent.name == "config" else file.parent
    return ProjectFile(file, real_path(folder), root, content, settings, is_named)


def real_path(path: Path) -> Path:
    """Return where a path leads after all links; a link to itself is where it is."""
    return Path(os.path.realpath(path))


def read_settings(file: Path) -> tuple[bytes, dict[str, Any]]:
    """Return the bytes of a file, and the settings in them.

    :raises ConfigError: when it cannot be read, is no TOML, or such as nobody writes.
    """
    try:
        with open_file(file) as stream:  # no device is read and no pipe waited for
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ValueError(f"it is larger than {MOST_BYTES >> 10} KB")
        text = content.decode("utf-8-sig")
        for line in text.split("\n"):
            most = _MOST_DOTS_OF_HEAD if line.lstrip().startswith("[") else _MOST_DOTS
            if line.count(".") > most:
                raise ValueError(f"a line has more than {most} dots")
        settings = tomllib.loads(text)
        repr(settings)  # which fails for numbers of thousands of digits: nothing could show them
        return content, settings
    except RecursionError:
        why = "it has too many tables or lists in each other"
    except (OSError, ValueError) as error:
        kind, real = strange_kind(file), real_path(file)
        why = f"it is {kind}" if kind else getattr(error, "strerror", "") or str(error)
        why = why[:300] if file == real else f"it leads to {real}: {why[:300]}"
    # The user's own file counts whatever other file is named.
    other = "" if file == user_file() else ", or name another with --config"
    raise ConfigError(f"cannot read {file}", why, hint=f"Mend {file}{other}.")
