"""Reading notes, and parts of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from errno import ELOOP
from itertools import accumulate
from pathlib import Path

from rag.app.index_state import check_vaults, open_index
from rag.app.notes.names import Lines, Named, find_named, notes_like, section_of
from rag.config import RAGConfig
from rag.exceptions import UPDATE_INDEX, NotFoundError, UsageError
from rag.index.links.tables import Link
from rag.index.lookup import FoundNote
from rag.index.note_rows import NoteRow
from rag.vault.chunk_lines import chunk_lines, joined_line

NOT_HERE = (
    "the file is not on this machine: these are the lines that were indexed, without front matter"
)


@dataclass(frozen=True)
class NoteReport:
    """A note and some of its lines, of which `first` is the number of the first.

    :param notice: what is to be known of the lines.
    :param part: which lines were asked for, as it is written after a note's name.
    :param more: how many of them are left out, where a limit was given.
    :param backlinks: the links of other notes to it.
    """

    note: FoundNote
    lines: list[str]
    first: int
    notice: str = ""
    part: str = ""
    more: int = 0
    backlinks: list[Link] = field(default_factory=list)


@dataclass(frozen=True)
class NotesReport:
    """Notes that were asked for together.

    :param several: whether more than one was asked for, or a pattern.
    """

    notes: list[NoteReport]
    several: bool


@dataclass(frozen=True)
class Limits:
    """How much of each note is given: whole lines; `None` where that does not matter."""

    lines: int | None = None
    bytes: int | None = None


def get_note(
    config: RAGConfig,
    name: str,
    vaults: Sequence[str] | None = None,
    folder: Path | None = None,
    limits: Limits | None = None,
) -> NoteReport:
    """Read a note, a section (`Glossary#Holds`) or lines of it (`Glossary:10-20`, `Glossary:10:5`).

    Where the index lies on a server and the file is not on this machine, the lines are those that
    were indexed.

    :param name: path, `vault/path`, title, alias or id, or a wiki link.
    :param vaults: look only in these.
    :param folder: where a path may begin too.
    :raises NotFoundError: when no note is called so, or several are; it suggests.
    :raises UsageError: for lines that the note has not.
    """
    with open_index(config) as manifest:
        check_vaults(vaults, manifest.vaults())
        named = find_named(manifest, name, list(vaults) if vaults else None, folder)
        backlinks = manifest.links.links_to(named.note.row)
    return _read(config, named, backlinks, limits or Limits())


def get_notes(
    config: RAGConfig,
    names: Sequence[str],
    vaults: Sequence[str] | None = None,
    folder: Path | None = None,
    limits: Limits | None = None,
) -> NotesReport:
    """Read several notes, each once; a name may be a pattern of paths (`daily/2026-11-*`).

    :raises NotFoundError: as `get_note`, for the first name that nothing answers to.
    """
    parts: dict[tuple[str, str, str, Lines | None], tuple[Named, list[Link]]] = {}
    several = len(names) > 1
    with open_index(config) as manifest:
        check_vaults(vaults, manifest.vaults())
        for name in names:
            try:
                notes = [find_named(manifest, name, list(vaults) if vaults else None, folder)]
            except NotFoundError:
                if not (notes := notes_like(manifest, name, vaults)):
                    raise
                several = True
            for named in notes:
                row = named.note.row
                backlinks = manifest.links.links_to(row)
                parts[row.vault, row.path, named.heading, named.lines] = named, backlinks
    limits = limits or Limits()
    return NotesReport([_read(config, *part, limits) for part in parts.values()], several)


def _read(config: RAGConfig, named: Named, backlinks: list[Link], limits: Limits) -> NoteReport:
    """Read what was named of a note, as far as some limits let it."""
    note, notice = named.note, ""
    if config.store.url and not note.file.exists():
        lines, notice = _indexed_lines(config, note.row), NOT_HERE
    else:
        lines = read_lines(note)
    if named.lines:
        span = named.lines.checked(len(lines))
    elif named.heading:
        span = section_of(note, lines, named.heading)
    else:  # of the lines that were indexed, the first that holds something
        first = next((at for at, line in enumerate(lines) if line), 0) if notice else 0
        span = slice(first, len(lines))
    chosen = lines[span]
    kept = _within(chosen, limits)
    part = f"#{named.heading}" if named.heading else ""
    if named.lines:
        part = f":{span.start + 1}-{span.start + len(chosen)}"
    more = len(chosen) - len(kept)
    return NoteReport(note, kept, span.start + 1, notice, part, more, backlinks)


def _within(lines: list[str], limits: Limits) -> list[str]:
    """Return the first lines, as many as limits let through."""
    kept = lines if limits.lines is None else lines[: limits.lines]
    if limits.bytes is None:
        return kept
    sizes = accumulate(len(line.encode("utf-8", "replace")) + 1 for line in kept)
    return kept[: sum(size <= limits.bytes for size in sizes)]


def _indexed_lines(config: RAGConfig, row: NoteRow) -> list[str]:
    """Return the lines of a note as far as its chunks hold them, the others empty."""
    from rag.stores import get_document_store

    with get_document_store(config) as store:
        chunks = store.get_documents([key.id for key in row.chunks])
    lines = [""] * row.lines
    for chunk in sorted(chunks, key=lambda chunk: int(chunk.meta["position"])):
        held = chunk_lines(chunk.content or "", chunk.meta)
        lines += [""] * (held.last - len(lines))
        for at, line in enumerate(held.own, held.first - 1):
            lines[at] = joined_line(lines[at], line)
    return lines


def read_lines(note: FoundNote) -> list[str]:
    """Return the lines of a note's file.

    :raises NotFoundError: when it is gone, or cannot be read.
    :raises UsageError: when it is too large to print.
    """
    from rag.support.regular_files import open_file
    from rag.vault.limits import LARGEST_PRINTED
    from rag.vault.readers import reader_of

    name = f"{note.row.vault}/{note.row.path}"
    try:
        if not note.file.resolve().is_relative_to(note.root.resolve()):
            raise OSError(ELOOP, "it leads out of its vault now")
        with open_file(note.file) as stream:
            raw = stream.read(LARGEST_PRINTED + 1)
    except OSError as error:
        raise NotFoundError(
            f"{name} is in the index, but its file cannot be read",
            error.strerror or "",
            hint=UPDATE_INDEX,
        ) from error
    if len(raw) > LARGEST_PRINTED:
        raise UsageError(
            f"{name} is larger than {LARGEST_PRINTED // 1_000_000} MB",
            hint=f"Open it with another program: it is {note.file}.",
        )
    return reader_of(note.row.path).lines(raw)
