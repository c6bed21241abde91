"""Which files of a folder are notes."""

from __future__ import annotations

import os
import re
import time
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from rag.exceptions import ConfigError, IndexingError
from rag.support.regular_files import open_file
from rag.vault.limits import LARGEST_IGNORE_FILE
from rag.vault.readers import is_note

if TYPE_CHECKING:
    from pathspec import PathSpec

_SURROGATE = re.compile("[\ud800-\udfff]")
_IGNORE_FILES = (".gitignore", ".ragignore")


class NoteFile(NamedTuple):
    """A note on disk: `path` as the index knows it (relative, `/`, NFC), `file` as on disk."""

    path: str
    file: str
    size: int
    mtime_ns: int


@dataclass(slots=True)
class Scan:
    """What a vault's folder holds. `problems` maps a path to why it could not be listed."""

    notes: list[NoteFile] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)


class _Rule(NamedTuple):
    """Ignore patterns and the folder (a prefix ending in `/`, or empty) they are relative to."""

    base: str
    spec: PathSpec[Any]


def scan_folder(root: str, ignore: Sequence[str] = (), deadline: float | None = None) -> Scan:
    """List the notes below `root`, sorted by path.

    Left out: hidden files and folders, what `.gitignore`, `.ragignore` (in any folder) and
    `ignore` match, everything that is no `.md` file, and symbolic links that leave the vault
    or lead to a folder inside it, which is walked anyway.

    :param ignore: patterns in the syntax of `.gitignore`, relative to `root`.
    :raises ConfigError: when `ignore` holds something that is no pattern.
    :param deadline: a `time.monotonic()` to give up at.
    :raises IndexingError: when `root` is no folder that can be listed.
    :raises TimeoutError: when the deadline passed.
    """
    found = Scan()
    real_root = os.path.realpath(root)
    rules: list[_Rule] = []
    if ignore:
        spec, bad = _spec(ignore)
        if bad:
            raise ConfigError(f"not a pattern to ignore notes by: {', '.join(bad)}")
        rules.append(_Rule("", spec))
    names: dict[str, NoteFile] = {}
    folders: list[tuple[str, list[_Rule]]] = [("", rules)]
    while folders:
        folder, rules = folders.pop()
        try:
            entries = list(os.scandir(os.path.join(real_root, folder) if folder else real_root))
        except OSError as error:
            if not folder:
                raise IndexingError(f"cannot list the vault folder {root}", _why(error)) from error
            found.problems[_name(folder.rstrip("/"))] = f"folder cannot be listed: {_why(error)}"
            continue
        rules = rules + _own_rules(entries, folder, found)
        for note in _notes(entries, folder, rules, real_root, folders, found):
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"listing {root} took too long")
            twin = names.get(note.path)
            if twin:
                found.problems[note.path] = "two files have this name, written in different Unicode"
            names[note.path] = min(note, twin or note)  # whatever order the disk lists them in
    found.notes = sorted(names.values())
    return found


def _notes(
    entries: list[os.DirEntry[str]],
    folder: str,
    rules: list[_Rule],
    root: str,
    folders: list[tuple[str, list[_Rule]]],
    found: Scan,
) -> Iterator[NoteFile]:
    """Yield the notes among `entries`; put the folders among them on `folders`."""
    for entry in entries:
        name = entry.name
        if name.startswith("."):
            continue
        file = folder + name
        try:
            linked = entry.is_symlink()
            if entry.is_dir(follow_symlinks=False):
                if not _ignored(file + "/", rules):
                    folders.append((file + "/", rules))
                continue
            if not is_note(name) or (linked and not _stays_inside(entry.path, root)):
                continue
            if rules and _ignored(file, rules):
                continue
            if not entry.is_file():
                continue
            stat = entry.stat()
        except OSError as error:
            if is_note(name) and not isinstance(error, FileNotFoundError):
                found.problems[_name(file)] = f"cannot be examined: {_why(error)}"
            continue
        yield NoteFile(_name(file), file, stat.st_size, stat.st_mtime_ns)


def _stays_inside(path: str, root: str) -> bool:
    target = os.path.realpath(path)
    return target.startswith(root + os.sep) and os.path.isfile(target)


def _name(file: str) -> str:
    """Return the name the index uses: NFC, `/`, and valid Unicode even where the disk's is not."""
    name = _nfc(file.replace(os.sep, "/"))
    return name.encode("utf-8", "replace").decode("utf-8") if _SURROGATE.search(name) else name


def _nfc(name: str) -> str:
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def _own_rules(entries: list[os.DirEntry[str]], folder: str, found: Scan) -> list[_Rule]:
    rules = []
    paths = {entry.name: entry.path for entry in entries if entry.name in _IGNORE_FILES}
    for name in _IGNORE_FILES:  # in this order: what `.ragignore` says counts more
        if name not in paths:
            continue
        try:
            with open_file(paths[name]) as file:
                text = file.read(LARGEST_IGNORE_FILE).decode("utf-8-sig", "replace")
        except OSError as error:
            found.problems[_name(folder + name)] = f"ignore file: {_why(error)}"
            continue
        spec, bad = _spec(re.split("\r\n|\r|\n", text))
        rules.append(_Rule(folder, spec))
        if bad:
            found.problems[_name(folder + name)] = f"ignore file: not a pattern: {', '.join(bad)}"
    return rules


def _spec(patterns: Sequence[str]) -> tuple[PathSpec[Any], list[str]]:
    """Compile patterns one by one, so that a bad one does not take the others with it.

    :returns: the patterns, and those that are none.
    """
    from pathspec import PathSpec

    good: list[Any] = []
    bad: list[str] = []
    for pattern in patterns:
        try:
            good += PathSpec.from_lines("gitignore", [_nfc(pattern)]).patterns
        except ValueError:
            bad.append(repr(pattern))
    return PathSpec(good), bad


def _ignored(file: str, rules: list[_Rule]) -> bool:
    """Apply the rules from the outermost folder inward; the last pattern that matches decides."""
    ignored = False
    for base, spec in rules:
        include = spec.check_file(_nfc(file[len(base) :])).include
        if include is not None:
            ignored = include
    return ignored


def _why(error: OSError) -> str:
    return error.strerror or type(error).__name__
