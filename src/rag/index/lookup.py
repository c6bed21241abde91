"""Finding a note by what people call it, and saying what state the index is in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from rag.config import RAGConfig
from rag.exceptions import UPDATE_INDEX, IndexUnavailableError, NotFoundError
from rag.index.manifest import Manifest, NoteRow, published_manifest, readable, telling_damage
from rag.index.snapshots import IndexDirectory
from rag.support.file_kinds import IMAGES
from rag.text.messages import brief
from rag.text.tokenizer import name_key
from rag.vault.markdown import SUFFIXES

_SUGGESTED = 5
_Named = tuple[str, str, str, list[str], str]  # vault, path, title, aliases, id
_SHORT_ID = re.compile(r"#?[0-9a-f]{6,36}(?:-[0-9a-f]+)*$")


@contextmanager
def open_manifest(config: RAGConfig) -> Iterator[Manifest]:
    """Open the manifest of the current snapshot.

    :raises IndexUnavailableError: when there is none, another version made it, or it is damaged.
    """
    directory = IndexDirectory.of(config)
    with published_manifest(directory) as manifest, reading(manifest, directory):
        yield manifest


@contextmanager
def reading(manifest: Manifest, directory: IndexDirectory) -> Iterator[None]:
    """Read a manifest that is open; errors are those of `open_manifest`."""
    with telling_damage(directory.path):
        if not readable(manifest.get("fingerprint")):
            message = "the index was made by another version of rag"
            raise IndexUnavailableError(message, hint=UPDATE_INDEX)
        yield


class FoundNote(NamedTuple):
    """A note, and the folder of its vault."""

    row: NoteRow
    root: Path

    @property
    def file(self) -> Path:
        return self.root / self.row.file


def find_note(manifest: Manifest, name: str, vaults: list[str] | None = None) -> FoundNote:
    """Find one note, of some vaults, by path, `vault/path`, file name, title, alias or id (its
    first 6 digits).

    :raises NotFoundError: when nothing answers to the name, or several notes do; it suggests.
    """
    name = name.encode("utf-8", "replace").decode()  # as the index knows what is not UTF-8
    wanted = name_key(name)
    roots = manifest.vaults()
    stems = {wanted.rpartition("/")[2].removesuffix(suffix) for suffix in ("", *SUFFIXES, *IMAGES)}
    # All that may match but for an id; to compare every name takes as long as there are notes.
    for among in ((wanted, *stems), ()):
        names = [n for n in manifest.names(*among) if not vaults or n[0] in vaults]
        if matches := _matching(wanted, names, roots):
            break
    if len(matches) == 1:
        vault, path = matches[0]
        row = manifest.note(vault, path)
        assert row is not None
        return FoundNote(row, Path(roots[vault]))
    if matches:
        raise NotFoundError(
            f"{len(matches)} notes are called {name!r}",
            hint="Name one of them in full.",
            suggestions=[f"{vault}/{path}" for vault, path in matches[:10]],
        )
    near = _near(wanted, names)
    raise NotFoundError(
        f"no note called {brief(name)!r}",
        hint=f"{'Name one of these, or look' if near else 'Look'} for its words with `rag search`.",
        suggestions=near,
    )


def _matching(wanted: str, names: list[_Named], roots: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return vault and path of the notes that answer to a name, in the first way that any does:
    by path, by path without suffix, by title or file name, by alias, by id."""
    tiers: list[list[tuple[str, str]]] = [[], [], [], [], []]
    for vault, path, title, aliases, identity in names:
        paths = {*map(name_key, (path, f"{vault}/{path}", f"{roots.get(vault)}/{path}"))}
        if wanted in paths or f"{wanted}.md" in paths:
            tiers[0].append((vault, path))
        elif any(f"{wanted}{suffix}" in paths for suffix in SUFFIXES):
            tiers[1].append((vault, path))
        elif wanted in map(name_key, (title, Path(path).stem, path.rpartition("/")[2])):
            tiers[2].append((vault, path))
        elif wanted in map(name_key, aliases):
            tiers[3].append((vault, path))
        elif _SHORT_ID.match(wanted) and identity.startswith(wanted.lstrip("#")):
            tiers[4].append((vault, path))
    return next((tier for tier in tiers if tier), [])


def _near(wanted: str, names: list[_Named]) -> list[str]:
    """Return notes whose path or name holds what was typed, or else is like it."""
    spoken: dict[str, list[str]] = {}
    for vault, path, title, aliases, _ in names:
        # Nearly every word is part of some path; with a slash a path is meant.
        paths = [f"{vault}/{path}"] if "/" in wanted else []
        for label in (Path(path).stem, title, *aliases, *paths):
            spoken.setdefault(name_key(label), []).append(f"{vault}/{path}")
    within = sorted((label for label in spoken if wanted in label), key=len)
    labels = within or get_close_matches(wanted, list(spoken), _SUGGESTED)
    return [*dict.fromkeys(note for label in labels for note in spoken[label])][:_SUGGESTED]
