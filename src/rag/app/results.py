"""Results of searches and plans of queries, as schema 1 has them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

from rag.support.json_reports import nullable, optional
from rag.vault.chunking import note_id

if TYPE_CHECKING:
    from rag.app.index_state import IndexState
    from rag.app.notes.lines import Excerpt
    from rag.query.planner.plan import HyDEGeneration, MetadataExtraction, Named
    from rag.search.planned_query import Intent
    from rag.search.results import Explanation, SearchResult


R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Result:
    """The best passage of a note that was found.

    :param rank: in a search, from 1.
    :param number: of a source, as the answer names it.
    :param id: of the note; `rag get ID` prints it. It stays as long as the note has its path.
    :param file: where the note is on disk.
    :param score: in [0, 1); 0 where notes are only listed.
    :param scores: what the score was made from.
    :param line: that which matches best, from 1 in the file.
    :param line_start: the first line of `content`.
    :param repeated: how many lines at the head of `content` stand further up in the file: the
        header of a long table.
    :param duplicates: notes (`vault/path`) that are left out because they say the same.
    :param gone: whether the file was moved or deleted since it was indexed.
    :param found_by: the variants of the query that found it: `original`, and their labels.
    :param explanation: what the score is the sum of, where that was asked for.
    :param context: the lines around `line`, where they were asked for.
    """

    rank: int = optional(0)
    number: int = optional(0)
    score: float
    scores: dict[str, float]
    id: str
    vault: str
    path: str
    file: str
    title: str
    heading: list[str]
    line: int
    line_start: int
    line_end: int
    tags: list[str]
    created: str
    content: str
    repeated: int = optional(0)
    duplicates: list[str]
    gone: bool = optional(False)
    found_by: list[str] = optional(factory=list)
    explanation: Explanation | None = optional(None)
    context: Excerpt | None = optional(None)


def result_of(result: SearchResult, index: IndexState, **more: Any) -> Result:
    """Return a result as schema 1 has it.

    :param more: `rank`, `number` or `context`.
    """
    return copied(
        Result,
        result,
        id=note_id(result.vault, result.file_path),
        path=result.file_path,
        file=str(index.file(result)),
        **more,
    )


def copied(kind: type[R], source: object, **more: Any) -> R:
    """Return a report of a kind: fields that a source has by the same names, and more."""
    names = {one.name for one in fields(kind)} - {*more}  # type: ignore[arg-type]
    shared = {name: getattr(source, name) for name in names if hasattr(source, name)}
    return kind(**shared, **more)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a query means.

    :param understood: the same in one line, in the language of the query.
    :param route: `metadata_only`, `vector_only` or `hybrid_both`.
    :param route_by: who chose it: `rules`, `model`, the name of a classifier, or `default`.
    :param narrows: whether it leaves notes out.
    :param relaxed: whether its filters were dropped, since nothing fits them.
    :param text: what notes are ranked by.
    :param metadata: what it filters by.
    :param hyde: a hypothetical note, to search by its meaning.
    :param mapped_physical_columns: properties of notes that the query's words mean.
    :param expansions: tags near those of the query, which never filter.
    :param units: further texts to search for, if a model gave some.
    :param in_scope: what the query names and the index has.
    :param out_of_scope: what the query names and the index does not have.
    :param dropped: tags that were too many.
    :param confidence: from 0 to 1.
    :param fallbacks: what had to be done without.
    :param models: the model of each stage.
    :param audit: the id of its record, which `rag audit` shows.
    """

    understood: str
    route: str
    route_by: str
    route_reason: str
    narrows: bool
    relaxed: bool
    text: str
    metadata: MetadataExtraction
    hyde: HyDEGeneration
    mapped_physical_columns: list[str]
    expansions: list[str]
    units: list[str]
    in_scope: list[Named]
    out_of_scope: list[Named]
    dropped: list[str]
    confidence: float
    fallbacks: list[str]
    models: dict[str, str]
    latency_ms: float
    audit: str = nullable("")


def plan_of(intent: Intent | None, relaxed: bool = False) -> Plan | None:
    """Return a plan as schema 1 has it; `None` for none.

    :param relaxed: whether its filters were dropped.
    """
    if intent is None:
        return None
    from rag.app.interpretation_text import interpretation_line

    chosen = intent.plan.intent
    return copied(
        Plan,
        intent.plan,
        text=intent.text,
        understood=interpretation_line(intent),
        route=chosen.primary_route.value,
        route_by=chosen.by,
        route_reason=chosen.reason,
        narrows=intent.narrows,
        relaxed=relaxed,
        latency_ms=intent.milliseconds,
        audit=intent.audit,
    )
