"""What a front-end asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rag.evaluation.questions import Question
    from rag.evaluation.run import Run
    from rag.search.results import QueryFilters


@dataclass(frozen=True)
class SearchRequest:
    """A query, and how it is searched.

    :param top_k: how many results; `None` for as many as the settings say.
    :param mode: of search; `None` when nobody chose one.
    :param transforms: names of query transforms; `None` for those of the settings.
    :param plan: whether the query is planned; `None` where that is for its words to decide.
    :param chunks: list chunks, not notes.
    :param explain: take the scores apart.
    :param rerank: let the chat model order the best results.
    :param min_score: leave out results that score less; notes that are only listed have no score.
    :param order: of the results: `score`, `created`, `modified` or `title`; "" for the usual one.
    :param context: give so many lines before and after the matching line of each result.
    :param refresh: index what changed first, where it is little; see `rag.app.refresh`. A snapshot
        that is open already stays as it is.
    :param like: the name of a note: find notes that mean the like, in the place of a query; `None`
        to search by the query.
    :param everything: give results too that neither words nor nearness bear.
    """

    query: str
    filters: QueryFilters | None = None
    top_k: int | None = None
    mode: str | None = None
    transforms: Sequence[str] | None = None
    plan: bool | None = None
    chunks: bool = False
    explain: bool = False
    rerank: bool = False
    min_score: float = 0.0
    context: int | None = None
    order: str = ""
    refresh: bool = False
    like: str | None = None
    everything: bool = False


@dataclass(frozen=True)
class RelatedRequest:
    """A note, and which of those related to it are wanted.

    :param note: its name, as `rag.app.notes.get_note` takes it.
    :param limit: how many notes.
    :param include_linked: give those too that it links to, or that link to it.
    :param min_score: leave out what scores less; `None` for what is not clearly related.
    :param all_vaults: look in all vaults; else, where the filters name none, in the note's own.
    :param folder: where a path may begin too.
    """

    note: str
    filters: QueryFilters | None = None
    limit: int = 10
    include_linked: bool = False
    min_score: float | None = None
    all_vaults: bool = False
    folder: Path | None = None


@dataclass(frozen=True)
class LinksRequest:
    """A note whose links are walked.

    :param direction: `out`, `in` or `both`.
    :param depth: how many links after each other, 1 to 3.
    :param limit: how many links at most, the nearest first; all, where there is none.
    :param folder: where a path may begin too.
    """

    note: str
    direction: str = "both"
    depth: int = 1
    limit: int | None = None
    folder: Path | None = None


@dataclass(frozen=True)
class AskRequest:
    """A question, and how it is answered.

    :param model: a chat model, which must answer; "" for that of the settings.
    :param no_model: ask none, and quote.
    :param think: give the model's reasoning too.
    :param explain: give what the model was shown.

    The others are those of a `SearchRequest`.
    """

    question: str
    filters: QueryFilters | None = None
    top_k: int | None = None
    transforms: Sequence[str] | None = None
    plan: bool | None = None
    model: str = ""
    no_model: bool = False
    think: bool = False
    explain: bool = False


@dataclass(frozen=True)
class PlanRequest:
    """A query to be planned.

    :param model: the chat model that is asked, and no other; "" for those of the settings.
    :param no_model: ask none.
    """

    query: str
    filters: QueryFilters | None = None
    model: str = ""
    no_model: bool = False


@dataclass(frozen=True)
class ChatRequest:
    """A conversation, and how its questions are answered.

    :param session: the id of the conversation to go on with; "" for a new one.
    :param go_on: go on with the latest.

    The others are those of an `AskRequest`.
    """

    filters: QueryFilters | None = None
    top_k: int | None = None
    transforms: Sequence[str] | None = None
    session: str = ""
    go_on: bool = False
    model: str = ""
    no_model: bool = False
    think: bool = False
    explain: bool = False
    plan: bool | None = None


@dataclass(frozen=True)
class SyncRequest:
    """How an index is brought up to date.

    :param folders: which become vaults and are read; none for all vaults that are known.
    :param name: of the vault, when there is one folder.
    :param prune: forget the notes of empty or missing folders.
    :param rebuild: forget what is there and read every note again.
    :param embed: require embeddings, those of another model rebuilt; or make none; `None` to
        make what lacks, where a model answers.
    :param wait: for another writer, instead of failing.
    :param quiet: leave out the notice that there are no embeddings at all, unless the settings
        name who makes them.
    :param take_over: write an index on a server that another machine has written.
    :param seconds: how long a model may embed before it leaves the rest to the next run; `None`
        for no limit. What `embed` requires has none.
    """

    folders: Sequence[Path] = ()
    name: str = ""
    prune: bool = False
    rebuild: bool = False
    embed: bool | None = None
    wait: bool = False
    quiet: bool = False
    take_over: bool = False
    seconds: float | None = None


@dataclass(frozen=True)
class EvaluateRequest:
    """A question set, and how it is asked.

    :param modes: of search, measured one by one; none for that of the settings.
    :param vaults: ask only these.
    :param baseline: runs to compare with, by mode; `None` to compare with none.
    :param save: keep the runs in this file.
    """

    questions: Sequence[Question]
    modes: Sequence[str] = ()
    transforms: Sequence[str] | None = None
    vaults: Sequence[str] | None = None
    baseline: Mapping[str, Run] | None = None
    save: Path | None = None


def names_of(transforms: Sequence[str] | None) -> list[str] | None:
    """Return the transforms of a request as pipelines take them; none is not those of settings."""
    return None if transforms is None else list(transforms)
