"""The links of a note, and those of the notes that they lead to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rag.app.index_state import open_index
from rag.app.notes.names import NoteRef, find_named
from rag.app.requests import LinksRequest
from rag.config import RAGConfig
from rag.exceptions import UsageError
from rag.index.links.matching import NamedNote
from rag.index.links.tables import Link, LinkTables
from rag.support.json_reports import inline

OUT, IN, BOTH = "out", "in", "both"
DEEPEST = 3


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


def walk_links(config: RAGConfig, request: LinksRequest) -> LinksReport:
    """Walk the links from a note, to it, or both, each note once.

    Links that no note answers to, or several do, are among them, and lead no further.

    :raises NotFoundError: when no note is called so, or several are; it suggests.
    :raises UsageError: for a direction that is none, or a depth that is not 1 to 3.
    :raises IndexUnavailableError: when there is no index.
    """
    if request.direction not in (OUT, IN, BOTH):
        raise UsageError(f"no direction {request.direction!r}", hint="Links lead out, in or both.")
    if not 1 <= request.depth <= DEEPEST:
        raise UsageError(f"a depth of {request.depth}", hint=f"It is 1 to {DEEPEST}.")
    with open_index(config) as manifest:
        row = find_named(manifest, request.note, folder=request.folder).note.row
        links = manifest.links
        steps: list[Step] = []
        note = NamedNote(row.id, row.vault, row.path, row.title, tuple(row.aliases))
        seen, level = {note.id}, [note]
        for depth in range(1, request.depth + 1):
            reached: dict[str, NamedNote] = {}
            for one in level:
                for way, link, other in _links_of(links, one, request.direction):
                    if other is None or other.id not in seen:
                        steps.append(Step(depth, way, link))
                    if other is not None and other.id not in seen:
                        reached[other.id] = other
            seen |= reached.keys()
            level = [*reached.values()]
    return LinksReport(NoteRef(*note[:4]), request.direction, steps[: request.limit], len(steps))


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
