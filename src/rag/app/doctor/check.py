"""What one line of `rag doctor` says, and what the checks learn from each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rag.config import RAGConfig
from rag.exceptions import Message, RAGError, Remedy
from rag.search.modes import SearchMode

if TYPE_CHECKING:
    from haystack import Document

    from rag.clients.protocols import ServerView
    from rag.index.embedding_space import Embedded

Status = Literal["pass", "warn", "fail"]


@dataclass(frozen=True)
class Check:
    """One line.

    :param status: `fail` when something configured does not work or results would be wrong,
        `warn` when something is missing that search does without.
    :param hint: what mends it; a hint or a remedy is there unless the check passed.
    :param facts: the same in numbers and names, for programs.
    """

    name: str
    status: Status
    message: str
    hint: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class IndexView:
    """What the checks after it need to know of an index that can be read.

    :param embedding: what the manifest says of the vectors; `None` when there are none.
    :param dimension: the length of the vectors in the store.
    :param sample: chunks from all over the index, with the vectors of their first sentences.
    """

    embedding: Embedded | None = None
    dimension: int | None = None
    sample: list[Document] = field(default_factory=list)


@dataclass
class Examination:
    """The settings, and what was found so far; `index` stays `None` without a readable one.

    :param servers: what the providers of models say of their servers.
    """

    config: RAGConfig
    index: IndexView | None = None
    servers: list[ServerView] = field(default_factory=list)

    @property
    def without_models(self) -> Status:
        """How bad it is when no vector of a query can be had: only two modes insist on one."""
        return (
            "fail" if self.config.search.mode in (SearchMode.DENSE, SearchMode.HYBRID) else "warn"
        )

    def is_chosen(self, setting: str) -> bool:
        """Tell whether the user set this, rather than left it at its default."""
        return self.config.origins.get(setting, "default") != "default"


def from_error(name: str, error: RAGError, status: Status = "fail", **facts: Any) -> Check:
    """Return the line that says what an error says."""
    return Check(
        name, status, str(error), error.hint or Message(remedy=Remedy.SHOW_SETTINGS), facts
    )
