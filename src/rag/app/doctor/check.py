"""The result of a check, the report of all, and what checks learn from those before them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from rag.config import RAGConfig
from rag.exceptions import SHOW_SETTINGS, RAGError
from rag.search.modes import SearchMode

if TYPE_CHECKING:
    from haystack import Document

    from rag.clients.protocols import ServerView
    from rag.index.embedding_space import Embedded

INDEX_ANEW = "`rag index` rebuilds it."

Status = Literal["pass", "warn", "fail"]


@dataclass(frozen=True)
class CheckResult:
    """One line of the report, in the names of schema 1.

    :param status: `fail` when something configured does not work or results would be wrong,
        `warn` when something is missing that search does without.
    :param hint: what to do about it, unless the check passed.
    :param facts: further fields of its JSON: the message in numbers and names.
    """

    name: str
    status: Status
    message: str
    hint: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the facts and the other fields as one object."""
        named = {"name": self.name, "status": self.status, "message": self.message}
        return {**self.facts, **named, "hint": self.hint}


def passed(name: str, message: str, **facts: Any) -> CheckResult:
    """Return that all is well."""
    return CheckResult(name, "pass", message, facts=facts)


def warning(name: str, message: str, hint: str = "", **facts: Any) -> CheckResult:
    """Return that something is missing that search does without."""
    return CheckResult(name, "warn", message, hint, facts)


def failure(name: str, message: str, hint: str, **facts: Any) -> CheckResult:
    """Return that something does not work, or that results would be wrong."""
    return CheckResult(name, "fail", message, hint, facts)


def from_error(name: str, error: RAGError, status: Status = "fail", **facts: Any) -> CheckResult:
    """Return what an error says."""
    return CheckResult(name, status, str(error), error.hint or SHOW_SETTINGS, facts)


@dataclass(frozen=True)
class DoctorReport:
    """The results of all checks."""

    checks: list[CheckResult]

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each status."""
        statuses = [check.status for check in self.checks]
        return {status: statuses.count(status) for status in get_args(Status)}

    def to_json(self) -> dict[str, Any]:
        """Return the results, and how many there are of each status."""
        return {"checks": [check.to_json() for check in self.checks], **self.counts}


@dataclass
class Examination:
    """The settings, and what the checks so far have read.

    :param has_index: there is an index that can be read.
    :param embedded: what made its vectors, and how many there are; `None` without any.
    :param sample: chunks from all over it, with the vectors of their first sentences.
    :param servers: what the chosen providers of models tell of their servers.
    """

    config: RAGConfig
    has_index: bool = False
    embedded: Embedded | None = None
    sample: list[Document] = field(default_factory=list)
    servers: list[ServerView] = field(default_factory=list)

    @property
    def without_vectors(self) -> Status:
        """The status of having no vector of a query, which two modes of search insist on."""
        insists = self.config.search.mode in (SearchMode.DENSE, SearchMode.HYBRID)
        return "fail" if insists else "warn"


# A check yields nothing where there is nothing to tell; an error that it raises is a failure.
Checks = list[tuple[str, Callable[[Examination], Iterator[CheckResult]]]]
