"""Reading one note."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from errno import ELOOP

from rag.app.index_state import check_vaults, open_index
from rag.config import RAGConfig
from rag.exceptions import NotFoundError, Remedy, UsageError
from rag.index.lookup import FoundNote, find_note
from rag.index.note_rows import NoteRow

NOT_HERE = (
    "the file is not on this machine: these are the lines that were indexed, without front matter"
)
_SPAN = re.compile(r"(?P<name>.+?):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?$")


@dataclass(frozen=True)
class NoteReport:
    """A note and some of its lines, of which `first` is the number of the first.

    :param notice: what is to be known of the lines.
    """

    note: FoundNote
    lines: list[str]
    first: int
    notice: str = ""


def get_note(config: RAGConfig, name: str, vaults: Sequence[str] | None = None) -> NoteReport:
    """Read a note, or the lines that its name ends with (`Glossary:10-20`).

    Where the index lies on a server and the file is not on this machine, the lines are those that
    were indexed.

    :param name: path, `vault/path`, title, alias or id.
    :param vaults: look only in these.
    :raises NotFoundError: when no note is called so, or several are; it suggests.
    :raises UsageError: for lines that the note has not.
    """
    span = None
    with open_index(config) as manifest:
        check_vaults(vaults, manifest.vaults())
        wanted = list(vaults) if vaults else None
        try:
            found = find_note(manifest, name, wanted)
        except NotFoundError:
            span = _SPAN.match(name)
            if not span:
                raise
            found = find_note(manifest, span["name"], wanted)
    notice = ""
    if config.store.url and not found.file.exists():
        lines, notice = _indexed_lines(config, found.row), NOT_HERE
    else:
        lines = read_lines(found)
    first = int(span["first"]) if span else _first_line(lines) if notice else 1
    last = int(span["last"] or len(lines)) if span else len(lines)
    if span and not 1 <= first <= max(last, 1):
        raise UsageError(f"lines {first}-{last} are no span", hint=f"The note has {len(lines)}.")
    return NoteReport(found, lines[first - 1 : last], first, notice)


def _indexed_lines(config: RAGConfig, row: NoteRow) -> list[str]:
    """Return the lines of a note as far as its chunks hold them, the others empty."""
    from rag.stores import get_document_store

    with get_document_store(config) as store:
        chunks = store.get_documents([key.id for key in row.chunks])
    lines = [""] * row.lines
    for chunk in sorted(chunks, key=lambda chunk: int(chunk.meta["position"])):
        first, last = int(chunk.meta["line_start"]) - 1, int(chunk.meta["line_end"])
        repeated = int(chunk.meta.get("repeated", 0))  # a long table's header, in each of its parts
        own = (chunk.content or "").split("\n")[repeated : repeated + last - first]
        lines += [""] * (last - len(lines))
        for number, line in enumerate(own, first):
            lines[number] = _joined(lines[number], line)
    return lines


def _first_line(lines: list[str]) -> int:
    """Return the number of the first line that holds something."""
    return next((number for number, line in enumerate(lines, 1) if line), 1)


def _joined(known: str, more: str) -> str:
    """Join two parts of a line, which may overlap: long lines are cut between sentences."""
    if not known or more.startswith(known):
        return more
    if more in known:
        return known
    most = min(len(known), len(more))
    shared = next((n for n in range(most, 0, -1) if known.endswith(more[:n])), 0)
    gap = "" if shared or not (known + more).isascii() else " "
    return f"{known}{gap}{more[shared:]}"


def read_lines(found: FoundNote) -> list[str]:
    """Return the lines of a note's file.

    :raises NotFoundError: when it is gone, or cannot be read.
    :raises UsageError: when it is too large to print.
    """
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
