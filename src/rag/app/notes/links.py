"""The links of a note, and those of the notes that they lead to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rag.app.index_state import open_index
from rag.app.notes.names import NoteRef, find_named
from rag.config import RAGConfig
from rag.exceptions import UsageError
from rag.index.links import Link, LinkTables, NamedNote
from rag.support.json_reports import inline

OUT, IN, BOTH = "out", "in", "both"


@dataclass(frozen=True)
class Step:
    """A link that was walked.

    :param depth: how many links it is from the note.
    :param direction: `out` or `in`.
    """

    depth: int
    direction: str
    link: Link = inline()


@dataclass(frozen=True)
class LinksReport:
    """The links that lead from a note, or to it, the nearest first.

    :param total: how many there are; `links` has no more than were asked for.
    """

    note: NoteRef
    direction: str
    links: list[Step]
    total: int


def walk_links(
    config: RAGConfig,
    note: str,
    direction: str = BOTH,
    depth: int = 1,
    limit: int | None = None,
    folder: Path | None = None,
) -> LinksReport:
    """Walk the links from a note, to it, or both, each note once.

    Links that no note answers to, or several do, are among them, and lead no further.

    :param direction: `out`, `in` or `both`.
    :param depth: how many links after each other.
    :param folder: where a path may begin too.
    :raises NotFoundError: when no note is called so, or several are; it suggests.
    :raises UsageError: for a direction that is none.
    :raises IndexUnavailableError: when there is no index.
    """
    if direction not in (OUT, IN, BOTH):
        raise UsageError(f"no direction {direction!r}", hint="Links lead out, in or both.")
    with open_index(config) as manifest:
        row = find_named(manifest, note, folder=folder).note.row
        start = NamedNote(row.id, row.vault, row.path, row.title, tuple(row.aliases))
        steps: list[Step] = []
        seen, level = {start.id}, [start]
        for away in range(1, depth + 1):
            reached: dict[str, NamedNote] = {}
            for one in level:
                for way, link, other in _links_of(manifest.links, one, direction):
                    if other is None or other.id not in seen:
                        steps.append(Step(away, way, link))
                    if other is not None and other.id not in seen:
                        reached[other.id] = other
            seen |= reached.keys()
            level = [*reached.values()]
    return LinksReport(NoteRef(*start[:4]), direction, steps[:limit], len(steps))


def _links_of(
    links: LinkTables, note: NamedNote, direction: str
) -> Iterator[tuple[str, Link, NamedNote | None]]:
    """Yield the links of a note with the note at their other end, `None` where that is not one."""
    if direction != IN:
        for link in links.links_from(note.vault, note.path):
            yield OUT, link, link.notes[0] if link.is_clear else None
    if direction != OUT:
        for link in links.links_to(note):
            yield IN, link, link.source
