"""Reading one note."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from errno import ELOOP

from rag.app.index_state import check_vaults
from rag.config import RAGConfig
from rag.exceptions import NotFoundError, Remedy, UsageError
from rag.index.lookup import FoundNote, find_note, open_manifest

_SPAN = re.compile(r"(?P<name>.+?):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?$")


@dataclass(frozen=True)
class NoteReport:
    """A note and some of its lines, of which `first` is the number of the first."""

    note: FoundNote
    lines: list[str]
    first: int


def get_note(config: RAGConfig, name: str, vaults: Sequence[str] | None = None) -> NoteReport:
    """Read a note, or the lines that its name ends with (`Glossary:10-20`).

    :param name: path, `vault/path`, title, alias or id.
    :param vaults: look only in these.
    :raises NotFoundError: when no note is called so, or several are; it suggests.
    :raises UsageError: for lines that the note has not.
    """
    span = None
    with open_manifest(config) as manifest:
        check_vaults(vaults, manifest.vaults())
        wanted = list(vaults) if vaults else None
        try:
            found = find_note(manifest, name, wanted)
        except NotFoundError:
            span = _SPAN.match(name)
            if not span:
                raise
            found = find_note(manifest, span["name"], wanted)
    lines = _read_lines(found)
    first = int(span["first"]) if span else 1
    last = int(span["last"] or len(lines)) if span else len(lines)
    if span and not 1 <= first <= max(last, 1):
        raise UsageError(f"lines {first}-{last} are no span", hint=f"The note has {len(lines)}.")
    return NoteReport(found, lines[first - 1 : last], first)


def _read_lines(found: FoundNote) -> list[str]:
    from rag.support.regular_files import open_file
    from rag.vault.limits import LARGEST_PRINTED
    from rag.vault.readers import reader_of

    name = f"{found.row.vault}/{found.row.path}"
    try:
        if not found.file.resolve().is_relative_to(found.root.resolve()):
            raise OSError(ELOOP, "it leads out of its vault now")
        with open_file(found.file) as stream:
            raw = stream.read(LARGEST_PRINTED + 1)
    except OSError as error:
        raise NotFoundError(
            f"{name} is in the index, but its file cannot be read",
            error.strerror or "",
            remedy=Remedy.UPDATE_INDEX,
        ) from error
    if len(raw) > LARGEST_PRINTED:
        raise UsageError(
            f"{name} is larger than {LARGEST_PRINTED // 1_000_000} MB",
            hint=f"Open it with another program: it is {found.file}.",
        )
    return reader_of(found.row.path).lines(raw)
