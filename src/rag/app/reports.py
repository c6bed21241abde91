"""What a front-end gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rag.app.index_state import IndexState
from rag.app.requests import AskRequest

if TYPE_CHECKING:
    from rag.index.embedding_space import Embedded
    from rag.index.lookup import FoundNote
    from rag.qa.answer import Answer
    from rag.search.planned_query import Intent
    from rag.search.results import SearchResponse


@dataclass(frozen=True)
class SearchReport:
    """The results of a search.

    :param plan: how the query was planned, if it was.
    :param index: the state of the index that was searched.
    :param milliseconds: from the request to the report.
    """

    response: SearchResponse
    plan: Intent | None
    index: IndexState
    milliseconds: int


@dataclass(frozen=True)
class AnswerReport:
    """An answer; the others are those of a `SearchReport`."""

    request: AskRequest
    answer: Answer
    plan: Intent | None
    index: IndexState
    milliseconds: int


@dataclass(frozen=True)
class NoteReport:
    """A note and some of its lines, of which `first` is the number of the first."""

    note: FoundNote
    lines: list[str]
    first: int


@dataclass(frozen=True)
class VaultStatus:
    """A vault in the index."""

    name: str
    path: str
    notes: int
    chunks: int


@dataclass(frozen=True)
class NoteProblems:
    """What was wrong with a note; `failed` when nothing of it could be read."""

    vault: str
    path: str
    failed: bool
    problems: list[str]


@dataclass(frozen=True)
class ServerAddress:
    """Where the points of an index are, when a server holds them."""

    url: str
    collection: str


@dataclass(frozen=True)
class StatusReport:
    """What an index holds, how old it is, and what was wrong with notes.

    :param size: bytes on disk.
    :param changed: how many notes changed since; `None` when that took too long to find out.
    :param not_indexed: vaults that are configured and not in it.
    """

    path: str
    size: int
    notes: int
    chunks: int
    indexed_at: str
    changed: int | None
    embedded: Embedded | None
    server: ServerAddress | None
    fingerprint: dict[str, Any]
    vaults: list[VaultStatus]
    not_indexed: list[str]
    problems: list[NoteProblems]
