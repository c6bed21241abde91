"""Which of some notes a link means."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from rag.text.normalize import fold_accents, name_key
from rag.vault.suffixes import MARKDOWN, SUFFIXES

_OTHER_FILE = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}$")


class NamedNote(NamedTuple):
    """A note and what it is called; `path` is relative to its vault."""

    id: str
    vault: str
    path: str
    title: str
    aliases: tuple[str, ...]


@lru_cache(1 << 14)  # of each link of each note that may lead somewhere
def link_key(name: str) -> str:
    """Return what a link and a name of its note have in common: the last part of either, without
    the suffix of a note, in lower case and without accents."""
    return fold_accents(name_key(_bare(name.rstrip("/").rpartition("/")[2])))


def leads_to_a_file(target: str) -> bool:
    """Return whether a link leads to a picture or another file that is no note."""
    found = _OTHER_FILE.search(target)
    return bool(found) and not target.lower().endswith(SUFFIXES)


def matching_notes(
    target: str, vault: str, folder: str, notes: Sequence[NamedNote]
) -> list[NamedNote]:
    """Return the notes that a link leads to: one; several when they answer equally; none.

    Notes of its own vault go before others; then a path from the note with the link, one from the
    vault, the end of a path (a file name is one), a title, an alias.

    :param target: what the link names, without heading.
    :param vault: that of the note with the link, and `folder` its folder in it.
    :param notes: those that may be meant.
    """
    own = [note for note in notes if note.vault == vault]
    others = [note for note in notes if note.vault != vault]
    for some, within in ((own, folder), (others, None)):
        for answers in _readings(target, within):
            found = [note for note in some if answers(note)]
            if found:
                return _without_other_kinds(target, found)
    return []


def _readings(target: str, folder: str | None) -> Iterator[Callable[[NamedNote], bool]]:
    """Yield what tells the notes that a link may mean, the surest first."""
    wanted = name_key(target)
    whole = wanted.lstrip("/")
    if folder is not None:
        path = name_key(posixpath.normpath(posixpath.join(folder, target)))
        if not path.startswith("..") and not target.startswith("/"):
            yield lambda note: path in _paths(note.path)
        if target.startswith("."):  # it is a path from the note, and nothing else
            return
        yield lambda note: whole in _paths(note.path)
    yield lambda note: any(
        path.endswith(f"/{whole}") for path in _paths(f"/{note.vault}/{note.path}")
    )
    yield lambda note: wanted == name_key(note.title)
    yield lambda note: wanted in map(name_key, note.aliases)


def _paths(path: str) -> tuple[str, str]:
    """Return what a path is compared by: with its suffix and without."""
    return name_key(path), name_key(_bare(path))


def _bare(path: str) -> str:
    suffix = next((end for end in SUFFIXES if path.lower().endswith(end)), "")
    return path.removesuffix(path[len(path) - len(suffix) :]) if suffix else path


def _without_other_kinds(target: str, found: list[NamedNote]) -> list[NamedNote]:
    """Return the notes in Markdown, where a link names no suffix and there are some."""
    if target.lower().endswith(SUFFIXES):
        return found
    return [note for note in found if note.path.lower().endswith(MARKDOWN)] or found
