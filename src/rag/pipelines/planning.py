"""What stands before retrieval where it is wanted: a query's route, and its variants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from haystack import Pipeline

from rag.config import RAGConfig
from rag.pipelines.expanding import HYDE_IDLE, QueryExpander, wanted_transforms
from rag.pipelines.meaning import LEXICAL
from rag.pipelines.models import QueryFilters
from rag.pipelines.routing import QueryRouter
from rag.pipelines.understanding import Understood
from rag.pipelines.variants import Variants
from rag.query.syntax import parse_query
from rag.stores.candidates import Candidates
from rag.stores.protocol import NoteStore

ROUTER, EXPANDER = "router", "expander"


def add_planning(
    pipeline: Pipeline,
    store: NoteStore,
    config: RAGConfig,
    transforms: list[str],
    chosen: bool = False,
) -> None:
    """Put an expander before the query embedder where variants may be wanted, and a router before
    both where there are routes.

    :param transforms: those of queries that no route gives others.
    :param chosen: whether the user chose them, so that no route changes them.
    :raises UsageError: for a transform that does not exist.
    :raises ConfigError: for a transform or classifier of `[routes]` that does not exist.
    """
    is_routed = bool(config.routes.classifier)
    names = wanted_transforms(transforms)
    may_expand = bool(names)
    if is_routed:
        pipeline.add_component(ROUTER, QueryRouter(store, config.routes, config.ollama))
        pipeline.connect(f"{ROUTER}.mode", "query_embedder.mode")
        pipeline.connect(f"{ROUTER}.embedding", "query_embedder.embedding")
        pipeline.connect(f"{ROUTER}.where", "retriever.where")
        if not chosen:
            may_expand |= any(rule.get("transforms") for rule in config.routes.rules.values())
    if may_expand:
        pipeline.add_component(EXPANDER, QueryExpander(store, names, config.ollama))
        pipeline.connect(f"{EXPANDER}.variants", "query_embedder.variants")
        pipeline.connect("query_embedder.variants", "retriever.variants")
        pipeline.connect("retriever.plain", "ranker.plain")
        if is_routed:
            pipeline.connect(f"{ROUTER}.mode", f"{EXPANDER}.mode")
            if not chosen:
                pipeline.connect(f"{ROUTER}.transforms", f"{EXPANDER}.transforms")


def plan_inputs(
    pipeline: Pipeline,
    inputs: dict[str, dict[str, Any]],
    understood: Understood,
    filters: QueryFilters | None = None,
    keep_mode: bool = False,
) -> set[str]:
    """Add to what a pipeline is run with what its router and expander need.

    :param keep_mode: let no route change the mode.
    :returns: the names of the components whose outputs `planned` reads.
    """
    text, read = understood.meant, {"query_embedder"}
    if EXPANDER in pipeline.graph:
        inputs[EXPANDER] = {"text": text}
        read |= {EXPANDER, "retriever"}
    if ROUTER in pipeline.graph:
        stated = parse_query(understood.query).values("vault")
        keep_vaults = bool((filters and filters.vaults) or stated)
        mode = inputs["query_embedder"].pop("mode")
        inputs[ROUTER] = {
            "text": text,
            "mode": mode,
            "keep_mode": keep_mode,
            "keep_vaults": keep_vaults,
        }
        read.add(ROUTER)
    elif EXPANDER in pipeline.graph:
        inputs[EXPANDER]["mode"] = inputs["query_embedder"]["mode"]
    return read


def planned(outputs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what there is to tell of how a query was searched: the `mode`, the `route`, the
    `variants`, the `plain` finds of the query itself, and `notices`."""
    embedder, router = outputs["query_embedder"], outputs.get(ROUTER, {})
    variants = embedder["variants"]
    idle = embedder["mode"] == LEXICAL and any(not variant.words for variant in variants)
    notices = [
        router.get("notice"),
        *outputs.get(EXPANDER, {}).get("notices", []),
        embedder["notice"],
        HYDE_IDLE if idle else "",
    ]
    return {
        "mode": embedder["mode"],
        "route": router.get("route", ""),
        "variants": variants,
        "plain": outputs.get("retriever", {}).get("plain", Candidates()),
        "notices": [notice for notice in notices if notice],
    }


LISTED: dict[str, Any] = {  # of a query without words
    "mode": LEXICAL,
    "route": "",
    "variants": Variants(),
    "plain": Candidates(),
    "notices": [],
}
