"""What stands before retrieval where it is wanted: a query's route, and its variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from haystack import Pipeline

from rag.config import RAGConfig
from rag.index.background import Background
from rag.search.query_variants import HYDE_IDLE, Variants
from rag.search.results import SearchMode
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.scored_chunk import Candidate

ANALYZER, ROUTER, EXPANDER = "query_analyzer", "router", "expander"


def add_planning(
    pipeline: Pipeline,
    store: BaseDocumentStore,
    config: RAGConfig,
    transforms: list[str],
    chosen: bool = False,
) -> set[str]:
    """Put an expander before the query embedder where variants may be wanted, and a router before
    both where there are routes.

    :param transforms: those of queries that no route gives others.
    :param chosen: whether the user chose them, so that no route changes them.
    :returns: the names of what was added.
    :raises UsageError: for a transform that the user chose and that does not exist.
    :raises ConfigError: for a transform or classifier of the settings that does not exist.
    """
    is_routed = bool(config.routes.classifier)
    if not (is_routed or transforms):
        return set()
    # A search without it need not wait for its imports.
    from rag.search.components.query_expander import (
        QueryExpander,
        configured_transforms,
        wanted_transforms,
    )

    if chosen:
        names = wanted_transforms(transforms)
    else:
        names = configured_transforms(transforms, "search.transforms")
    may_expand = bool(names)
    if is_routed:
        from rag.search.components.query_router import QueryRouter

        pipeline.add_component(ROUTER, QueryRouter(store, config.routes, config))
        pipeline.connect(f"{ROUTER}.mode", "query_embedder.mode")
        pipeline.connect(f"{ROUTER}.embedding", "query_embedder.embedding")
        for name in ("retriever", "forms"):
            pipeline.connect(f"{ROUTER}.where", f"{name}.where")
        if not chosen:
            rules = config.routes.rules.values()
            may_expand |= any(wanted_transforms(rule.get("transforms", [])) for rule in rules)
    if may_expand:
        pipeline.add_component(EXPANDER, QueryExpander(store, names, config))
        pipeline.connect(f"{EXPANDER}.variants", "query_embedder.variants")
        if is_routed:
            pipeline.connect(f"{ROUTER}.mode", f"{EXPANDER}.mode")
            if not chosen:
                pipeline.connect(f"{ROUTER}.transforms", f"{EXPANDER}.transforms")
    return {*([ROUTER] if is_routed else []), *([EXPANDER] if may_expand else [])}


class Planned(NamedTuple):
    """What there is to tell of how a query was searched.

    `embedding` is the query's, where it was searched by meaning, and `background` what its model
    makes of texts on anything. `plain` are the finds of the query
    itself, where it has variants; `timings` the milliseconds that its `transforms` took, if it has
    any.
    """

    mode: str
    route: str = ""
    variants: Variants = Variants()
    plain: Sequence[Candidate] = ()
    notices: Sequence[str] = ()
    timings: Mapping[str, float] = MappingProxyType({})
    embedding: list[float] | None = None
    background: Background | None = None


LISTED = Planned(SearchMode.LEXICAL.value)  # a query without words


def planned(outputs: Mapping[str, Mapping[str, Any]]) -> Planned:
    """Return what the components of a search tell of a query."""
    embedder, router = outputs["query_embedder"], outputs.get(ROUTER, {})
    expander = outputs.get(EXPANDER, {})
    variants, took = embedder["variants"], expander.get("milliseconds")
    idle = embedder["mode"] == SearchMode.LEXICAL and any(not variant.words for variant in variants)
    notices = [
        router.get("notice"),
        *expander.get("notices", []),
        embedder["notice"],
        HYDE_IDLE if idle else "",
    ]
    return Planned(
        mode=embedder["mode"],
        route=router.get("route", ""),
        variants=variants,
        plain=outputs.get("retriever", {}).get("plain", ()),
        notices=[notice for notice in notices if notice],
        timings={"transforms": took} if took else {},
        embedding=embedder["embedding"],
        background=embedder["background"],
    )
