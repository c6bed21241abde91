"""Which files of a folder are notes."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

from rag.exceptions import ConfigError, IndexingError
from rag.support.files import open_file
from rag.support.unicode_forms import nfc
from rag.vault.limits import LARGEST_IGNORE_FILE
from rag.vault.readers import is_note

_SURROGATE = re.compile("[\ud800-\udfff]")
_IGNORE_FILES = (".gitignore", ".ragignore")
# What the system says of a folder, a pipe, a socket, or a link to nothing: it stays so.
_NO_FILE = (errno.EINVAL, errno.EISDIR, errno.ENXIO, errno.ENOENT, errno.ELOOP)
FOLDER = ".obsidian"
_RULE_FILES = (*_IGNORE_FILES, FOLDER)
_TWINS = "two files have this name, written in different Unicode"
HIDDEN, NO_READER, UNREADABLE, LINK = "hidden", "no reader", "unreadable", "link"
SPECIAL = "not a regular file"  # a pipe, a socket or a device
_LEADS_OUT = "this link leads to a folder outside the vault: it is not followed"


class NoteFile(NamedTuple):
    """A note on disk: `path` as the index knows it (relative, `/`, NFC), `file` as on disk."""

    path: str
    file: str
    size: int
    mtime_ns: int


class LeftOut(NamedTuple):
    """A file that is no note of its vault, and why: one of a few reasons."""

    path: str
    reason: str


@dataclass(slots=True)
class Scan:
    """What a vault's folder holds.

    `problems` maps a path to why it could not be listed, `notices` to what else there is to know
    of it: nothing is missing that was to be found. `left_out` are all other files and all links,
    where they were asked for.
    """

    notes: list[NoteFile] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    notices: dict[str, str] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)


_Verdict = Callable[[str], bool | None]
# What decides whether a path is ignored, where that is written, and the length of the folder's that
# it is relative to.
_Rules = list[tuple[int, _Verdict, str]]


def scan_folder(
    root: str,
    ignore: Sequence[str] = (),
    deadline: float | None = None,
    respect_obsidian: bool = True,
    images: bool = False,
    everything: bool = False,
) -> Scan:
    """List the notes below `root`, sorted by path.

    Left out: hidden files and folders, what `.gitignore`, `.ragignore` (in any folder) and
    `ignore` match, what Obsidian excludes, files that are no notes, and symbolic links: what they
    lead to inside the vault is listed where it is.

    :param ignore: patterns in the syntax of `.gitignore`, relative to `root`.
    :param deadline: a `time.monotonic()` to give up at.
    :param respect_obsidian: leave out what the settings in `.obsidian` do.
    :param images: list pictures too.
    :param everything: list what is left out too. That takes longer: folders that hold no notes are
        entered too.
    :raises ConfigError: when `ignore` holds something that is no pattern.
    :raises IndexingError: when `root` is no folder that can be listed.
    :raises TimeoutError: when the deadline passed.
    """
    verdict, bad = _compiled(ignore)
    if bad:
        raise ConfigError(f"not a pattern to ignore notes by: {', '.join(bad)}")
    walk = _Walk(os.path.realpath(root), root, deadline, respect_obsidian, images, everything)
    walk.folders.append(("", walk.root, [(0, verdict, "index.ignore")] if ignore else []))
    names: dict[str, NoteFile] = {}
    while walk.folders:
        for note in walk.notes(*walk.folders.pop()):
            walk.check_time()
            twin = names.setdefault(note.path, note)
            if twin is not note:
                walk.scan.problems[note.path] = _TWINS
                names[note.path] = min(note, twin)  # whatever order the disk lists them in
                walk.leave_out(max(note, twin).file, UNREADABLE)
    walk.scan.notes = sorted(names.values())
    return walk.scan


@dataclass
class _Walk:
    """One visit of the folders of a vault, which is called `named`; the others are those of
    `scan_folder`. `folders` are those to be listed, each with its name (a prefix that ends with
    `/`, or empty for the vault's own), its path and its rules."""

    root: str
    named: str
    deadline: float | None
    respect_obsidian: bool
    images: bool
    everything: bool
    folders: list[tuple[str, str, _Rules]] = field(default_factory=list)
    scan: Scan = field(default_factory=Scan)

    def check_time(self) -> None:
        """End where the deadline has passed."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise TimeoutError(f"listing {self.named} took too long")

    def leave_out(self, file: str, reason: str, entry: os.DirEntry[str] | None = None) -> None:
        """Keep account of a file that is no note, or of all files below a folder."""
        if not self.everything:
            return
        if entry is None or not entry.is_dir(follow_symlinks=False):
            self.scan.left_out.append(LeftOut(_name(file), reason))
        else:
            for path, folders, names in os.walk(entry.path):
                self.check_time()
                folders.sort()
                below = file.rstrip("/") + path[len(entry.path) :]
                for name in sorted((*names, *folders)):
                    mode = os.lstat(os.path.join(path, name)).st_mode
                    if not stat.S_ISDIR(mode):
                        self.scan.left_out.append(LeftOut(_name(f"{below}/{name}"), reason))

    def notes(self, name: str, path: str, rules: _Rules) -> Iterator[NoteFile]:
        """Yield the notes of a folder, and add the folders in it to `folders`."""
        try:
            entries = list(os.scandir(path))
        except OSError as error:
            if not name:
                why = f"cannot list the vault folder {self.named}"
                raise IndexingError(why, _why(error)) from error
            why = f"folder cannot be listed: {_why(error)}"
            self.scan.problems[_name(name.rstrip("/"))] = why
            return
        rules = rules + self._own_rules(entries, name)
        for entry in entries:
            file = name + entry.name
            try:
                if entry.name.startswith("."):
                    self.leave_out(file, HIDDEN, entry)
                elif entry.is_symlink():
                    self.leave_out(file, LINK)
                    if self._leads_out(entry) and not _ignored_by(file + "/", rules):
                        self.scan.notices[_name(file)] = _LEADS_OUT
                elif entry.is_dir():
                    if source := _ignored_by(file + "/", rules):
                        self.leave_out(file, f"ignored by {source}", entry)
                    else:
                        self.folders.append((file + "/", entry.path, rules))
                elif not entry.is_file():
                    self.leave_out(file, SPECIAL)
                elif not is_note(entry.name, self.images):
                    self.leave_out(file, NO_READER, entry)
                elif source := _ignored_by(file, rules):
                    self.leave_out(file, f"ignored by {source}", entry)
                else:
                    status = entry.stat()
                    if not status.st_mode & stat.S_IROTH and not os.access(entry.path, os.R_OK):
                        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
                    yield NoteFile(_name(file), file, status.st_size, status.st_mtime_ns)
            except OSError as error:
                if is_note(entry.name, self.images) and not isinstance(error, FileNotFoundError):
                    self.scan.problems[_name(file)] = _why(error)
                    self.leave_out(file, UNREADABLE)

    def _leads_out(self, entry: os.DirEntry[str]) -> bool:
        target = os.path.realpath(entry.path)
        is_inside = f"{target}{os.sep}".startswith(f"{self.root}{os.sep}")
        return os.path.isdir(target) and not is_inside

    def _own_rules(self, entries: list[os.DirEntry[str]], folder: str) -> _Rules:
        """Return the rules that a folder brings: its last one counts most."""
        rules: list[tuple[_Verdict, str]] = []
        paths = {entry.name: entry.path for entry in entries if entry.name in _RULE_FILES}
        if self.respect_obsidian and FOLDER in paths:

            def report(name: str, why: str) -> None:
                notices, file = self.scan.notices, _name(f"{folder}{FOLDER}/{name}")
                notices[file] = f"{notices[file]}; {why}" if file in notices else why

            rules.append((_ObsidianRules(paths[FOLDER], report).verdict, "Obsidian"))
        for name in _IGNORE_FILES:  # in this order: what `.ragignore` says counts more
            if name not in paths:
                continue
            try:
                with open_file(paths[name]) as file:
                    text = file.read(LARGEST_IGNORE_FILE).decode("utf-8-sig", "replace")
            except OSError as error:
                is_none = error.errno in _NO_FILE
                reasons = self.scan.notices if is_none else self.scan.problems
                reasons[_name(folder + name)] = f"ignore file: {_why(error)}"
                continue
            verdict, bad = _compiled(re.split("\r\n|\r|\n", text))
            rules.append((verdict, name))
            if bad:
                why = f"ignore file: not a pattern: {', '.join(bad)}"
                self.scan.notices[_name(folder + name)] = why
        return [(len(folder), *rule) for rule in rules]


def _name(file: str) -> str:
    """Return the name the index uses: NFC, `/`, and valid Unicode even where the disk's is not."""
    if file.isascii() and os.sep == "/":
        return file
    name = nfc(file.replace(os.sep, "/"))
    return name.encode("utf-8", "replace").decode("utf-8") if _SURROGATE.search(name) else name


def _compiled(patterns: Sequence[str]) -> tuple[_Verdict, list[str]]:
    """Compile patterns one by one, so that a bad one does not take the others with it; return what
    they say of a path, and those that are none."""
    if not patterns:
        return lambda path: None, []
    from pathspec import PathSpec

    good: list[Any] = []
    bad: list[str] = []
    for pattern in patterns:
        try:
            good += PathSpec.from_lines("gitignore", [nfc(pattern)]).patterns
        except ValueError:
            bad.append(repr(pattern))
    spec = PathSpec(good)
    return lambda path: spec.check_file(path).include, bad


def _ignored_by(file: str, rules: _Rules) -> str:
    """Return where the rule is written by which a path is ignored, "" for none: rules apply from
    the outermost folder inward, and the last pattern that matches decides."""
    ignored_by = ""
    for base, verdict, source in rules:
        is_ignored = verdict(nfc(file[base:]))
        if is_ignored is not None:
            ignored_by = source if is_ignored else ""
    return ignored_by


def _why(error: OSError) -> str:
    return error.strerror or type(error).__name__


# What Obsidian excludes.
_APP, _FILTERS = "app.json", "userIgnoreFilters"
_TEMPLATES = {
    "templates.json": "folder",
    "plugins/templater-obsidian/data.json": "templates_folder",
}
_LARGEST = 1_000_000  # bytes of a file
_MOST_FILTERS = 1_000
_MOST_PATTERNS = 30
_LONGEST = 500  # characters of a pattern
_MOST_REPEATED = 1_000  # parts of a pattern with counts: they are written out to compile it
_COUNT = re.compile(r"\{(\d+)")
_PATIENCE = 1.0  # seconds that the patterns may take for all files of a vault


class _ObsidianRules:
    """The paths that one `.obsidian` folder excludes, relative to the folder it lies in: excluded
    files, and the folders of templates. Its files came with the vault, and are read as far as they
    make sense.

    :param report: is told the name of a file in it and what is wrong there.
    """

    def __init__(self, folder: str, report: Callable[[str, str], None]) -> None:
        self._report = report
        self._patterns: list[Callable[..., Any]] = []  # of compiled ones: what searches
        self._left = _PATIENCE
        filters = self._setting(folder, _APP, _FILTERS, list)
        starts = [*filter(None, map(self._prefix, filters[:_MOST_FILTERS]))]
        for name, key in _TEMPLATES.items():
            if (path := self._setting(folder, name, key, str).strip("/ ")) and path != ".":
                starts.append(f"{nfc(path)}/")
        self._starts = tuple(starts)

    def verdict(self, path: str) -> bool | None:
        """Return whether a path is excluded, `None` where nothing is said of it.

        :param path: that of a folder ends with `/`; patterns are matched with files alone.
        """
        if path.startswith(self._starts):
            return True
        if path.endswith("/") or not self._patterns:
            return None
        began = time.perf_counter()
        try:
            if self._left > 0:
                matches = (search(path, timeout=self._left) for search in self._patterns)
                return any(match is not None for match in matches) or None
        except TimeoutError:
            self._left = 0
        finally:
            self._left -= time.perf_counter() - began
        self._patterns = []
        self._report(_APP, f"{_FILTERS}: the patterns take too long, and are left out")
        return None

    def _setting(self, folder: str, name: str, key: str, kind: type) -> Any:
        """Return what a file of the folder says of a key; an empty value where it says nothing."""
        try:
            with open_file(f"{folder}/{name}") as file:
                raw = file.read(_LARGEST + 1)
            if len(raw) > _LARGEST:
                why = f"larger than {_LARGEST // 1_000_000} MB: not read"
            else:
                value = json.loads(raw.decode("utf-8-sig")).get(key) if raw.strip() else None
                if value is None or isinstance(value, kind):
                    return value or kind()
                why = f"{key}: not a {'list' if kind is list else 'text'}"
        except (FileNotFoundError, NotADirectoryError):
            return kind()
        except OSError as error:
            why = _why(error)
        except AttributeError:
            why = "not a table of settings"
        except (ValueError, RecursionError):
            why = "not JSON"
        self._report(name, why)
        return kind()

    def _prefix(self, item: Any) -> str:
        """Return what excluded paths begin with; a filter that is a pattern is kept for itself."""
        if isinstance(item, str) and not (len(item) > 2 and item[0] == item[-1] == "/"):
            return nfc(item) if item.strip("/ ") else ""
        text = nfc(item[1:-1]) if isinstance(item, str) else str(item)
        repeated = prod(max(1, int(count[:9])) for count in _COUNT.findall(text))
        if not isinstance(item, str):
            why = "not a text"
        elif len(self._patterns) == _MOST_PATTERNS:
            why = f"only {_MOST_PATTERNS} patterns count"
        elif len(text) > _LONGEST or repeated > _MOST_REPEATED:
            why = "too large, and left out"
        else:
            import regex  # which can be stopped

            why = "not a pattern"
            wrong = (regex.error, ValueError, OverflowError, RecursionError, LookupError)
            with suppress(*wrong), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what other versions take for something else
                self._patterns.append(regex.compile(text).search)
                return ""
        self._report(_APP, f"{_FILTERS}: {why}: {text[:100]}")
        return ""


# -- copied vaults: a clone writes all files within moments; their times are no dates --------------

Span = tuple[int, int]  # first and last moment, in nanoseconds since the epoch
_MINUTE = 60_000_000_000  # nanoseconds
_FEWEST = 5  # files; fewer may be written by hand
_MOST_SPANS = 8  # that are remembered of a vault
_ROUNDED = 1_000  # nanoseconds, by which a time in seconds may be wrong


def spans_of_copies(times: Iterable[int], before: Sequence[Span] = ()) -> tuple[Span, ...]:
    """Return the minutes in which a vault was copied, each by its first and last moment: a minute
    in which more than half of its files, and at least 5, were last written (`times`, in
    nanoseconds).

    What was found `before` stays so, though files are edited later; those have times of their own.
    """
    ordered = sorted(times)
    most = max(len(ordered) // 2, _FEWEST - 1)
    for first, last in zip(ordered, ordered[most:], strict=False):
        if last - first <= _MINUTE:
            if _holding(first / 1e9, before):
                break
            return (*before, (first, first + _MINUTE))[-_MOST_SPANS:]
    return tuple(before)


def own_time(seconds: float | None, copied: Sequence[Span]) -> float | None:
    """Return the time of a file, since the epoch; `None` where it is that of a copy, or unknown."""
    return None if seconds is None or _holding(seconds, copied) else seconds


def _holding(seconds: float, spans: Sequence[Span]) -> bool:
    moment = int(seconds * 1e9)
    return any(first - _ROUNDED <= moment <= last + _ROUNDED for first, last in spans)
