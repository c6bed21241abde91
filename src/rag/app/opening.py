"""How a search and a question begin: the vaults are checked, the query is planned."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.app.index_state import IndexState, check_vaults
from rag.app.requests import AskRequest, SearchRequest, names_of
from rag.app.snapshot import Snapshot
from rag.config import RAGConfig
from rag.search.relaxation import intent_of
from rag.search.results import QueryFilters

if TYPE_CHECKING:
    from haystack import Pipeline

    from rag.search.planned_query import Intent


@dataclass(frozen=True)
class Opening:
    """What a request is run with.

    :param plan: how its words were planned, if they were; `notices` say why not.
    """

    state: IndexState
    pipeline: Pipeline
    filters: QueryFilters
    plan: Intent | None
    notices: list[str]


def begin(
    snapshot: Snapshot,
    config: RAGConfig,
    request: SearchRequest | AskRequest,
    words: str,
    make_pipeline: Callable[[list[str] | None], Pipeline],
    *key: Hashable,
) -> Opening:
    """Check a request, open its pipeline and plan its words.

    :param words: the query, or the question.
    :param make_pipeline: is given the names of the transforms that were chosen, if any were.
    :param key: what pipelines of this kind differ by, transforms aside.
    :raises UsageError: for a vault or a transform that does not exist.
    """
    filters = request.filters or QueryFilters()
    check_vaults(filters.vaults, snapshot.state.roots)
    transforms = names_of(request.transforms)
    chosen = (None,) if transforms is None else transforms
    pipeline = snapshot.pipeline(lambda: make_pipeline(transforms), *key, *chosen)
    plan, notices = intent_of(snapshot.store, config, words, filters, request.plan)
    return Opening(snapshot.state, pipeline, filters, plan, notices)
