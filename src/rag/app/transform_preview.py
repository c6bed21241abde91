"""What a search would look for, without searching."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

from rag.config import RAGConfig
from rag.exceptions import QueryError
from rag.query.limits import bounded
from rag.query.syntax import ParsedQuery, parse_query
from rag.search.components.query_expander import (
    VariantMaker,
    configured_transforms,
    wanted_transforms,
)
from rag.search.components.query_router import QueryRouter
from rag.search.modes import SearchMode
from rag.search.query_variants import told
from rag.search.results import SearchedVariant
from rag.search.understanding.query_understanding import Understood, understand
from rag.stores import get_document_store
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.tokenizer import has_words


@dataclass
class TransformReport:
    """What would be searched: the words of the query, what is added to them and what it filters
    by, the route it takes, and its variants. `notices` say why not as wanted."""

    query: str
    text: str
    filters: list[str] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    corrections: dict[str, str] = field(default_factory=dict)
    route: str = ""
    mode: str = ""
    variants: list[SearchedVariant] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def plan_search(
    config: RAGConfig, query: str, transforms: Sequence[str] | None = None
) -> TransformReport:
    """Find out what a search would look for; nothing is searched, and no index is needed.

    :param transforms: without them those of the query's route, or of `search.transforms`.
    :raises QueryError: when the query is empty or too long.
    :raises UsageError: for a transform, or a vault in the query, that does not exist.
    :raises ConfigError: for a route with a vault or transform that does not exist.
    """
    parsed = parse_query(bounded(query))
    if not parsed:
        raise QueryError("the query is empty", hint='Say what to look for: `rag transform "words"`')
    names = None if transforms is None else wanted_transforms(transforms)
    plan = TransformReport(query, parsed.text, _filters(parsed), mode=config.search.mode)
    with get_document_store(config) as store:
        is_indexed = store.is_readable
        understood = understand(store, query) if is_indexed else _unindexed(query, parsed)
        plan.also, plan.corrections = understood.also, understood.corrections
        plan.notices += understood.notices
        if understood.text and config.routes.classifier:
            names = _route(plan, config, store, understood, names)
        dense = plan.mode != SearchMode.LEXICAL and (
            not is_indexed or store.embedding_dim is not None
        )
    if names is None:
        names = configured_transforms(config.search.transforms, "search.transforms")
    made, notices = VariantMaker(config).make(understood.meant, names, dense)
    plan.variants = [told(variant) for variant in made]
    plan.notices += notices
    return plan


def _unindexed(query: str, parsed: ParsedQuery) -> Understood:
    """Understand what can be without an index."""
    text = parsed.text if has_words(parsed.text) else ""
    return Understood(query, text, vaults=parsed.values("vault"), notices=[*parsed.beyond])


def _route(
    plan: TransformReport,
    config: RAGConfig,
    store: BaseDocumentStore,
    understood: Understood,
    names: list[str] | None,
) -> list[str] | None:
    """Note the route of a query, and return the transforms that come of it."""
    with closing(QueryRouter(store, config.routes, config)) as router:
        keep = bool(understood.vaults)
        routed = router.run(understood.meant, plan.mode, keep_vaults=keep, transforms=names)
    plan.route, plan.mode = routed["route"], routed["mode"]
    plan.notices += filter(None, [routed["notice"]])
    if routed["where"]:
        vaults = config.routes.rules[plan.route]["vaults"]
        plan.filters += [f"vault:{name}" for name in vaults]
    found: list[str] | None = routed["transforms"]
    return found


def _filters(parsed: ParsedQuery) -> list[str]:
    """Return the conditions that a query states, as they are written."""
    stated = [f"{'-' if f.negated else ''}{f.field}:{f.value}" for f in parsed.fields]
    stated += [f'"{phrase}"' for phrase in parsed.phrases]
    stated += [f"-{text}" for text in parsed.excluded]
    return stated + [f"-{prefix}*" for prefix in parsed.excluded_prefixes]
