"""Looking for Obsidian vaults in the places where people keep them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_DEPTH = 4  # folders below a place
_MOST_FOLDERS = 20_000
_MARK = ".obsidian"
# Large, and no place for notes; the vaults of iCloud are a place of their own.
_SKIPPED = {"Library", "node_modules", "__pycache__"}
_BELOW_HOME = (
    "Documents",
    "Obsidian",
    "Notes",
    "vaults",
    "Library/Mobile Documents/iCloud~md~obsidian/Documents",
    "",
)


@dataclass
class FoundVaults:
    """The folders that hold a `.obsidian` folder.

    :param folders: how many folders were looked into.
    :param whole: whether all places were, as deep as it goes, before time ran out.
    """

    vaults: list[Path] = field(default_factory=list)
    folders: int = 0
    whole: bool = True


def usual_places(cwd: Path) -> list[Path]:
    """Return the working folder, and where below the home vaults usually are."""
    places = [cwd]
    with suppress(RuntimeError):  # nobody's home
        places += [Path.home() / name for name in _BELOW_HOME]
    return places


def find_vaults(places: Iterable[Path], seconds: float = 5.0) -> FoundVaults:
    """Look for vaults, the nearest to each place first.

    Hidden folders and symbolic links are passed over, and so is what lies inside a vault.

    :param seconds: how long it may take.
    """
    found = FoundVaults()
    until = time.monotonic() + seconds
    seen: set[Path] = set()
    for place in places:
        level = [place.resolve()]
        for _ in range(_DEPTH + 1):
            below: list[Path] = []
            for folder in level:
                if folder in seen:
                    continue
                if found.folders >= _MOST_FOLDERS or time.monotonic() > until:
                    found.whole = False
                    return found
                seen.add(folder)
                found.folders += 1
                children = list(_folders(folder))
                if any(child.name == _MARK for child in children):
                    found.vaults.append(folder)
                else:
                    below += [child for child in children if _may_hold_notes(child.name)]
            level = below
    return found


def _may_hold_notes(name: str) -> bool:
    return not name.startswith(".") and name not in _SKIPPED


def _folders(folder: Path) -> Iterator[Path]:
    """Yield the folders directly below; none where they cannot be listed."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False):
                yield Path(entry.path)
