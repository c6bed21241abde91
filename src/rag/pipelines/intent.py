"""From a query to its intent: the plan that is made of it, and how that is searched."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import NamedTuple

from rag.config import RAGConfig
from rag.exceptions import ConfigError
from rag.pipelines.catalogue import ManifestCatalogue
from rag.pipelines.models import QueryFilters
from rag.pipelines.planner_models import PlannerModels
from rag.pipelines.variants import HYDE, Variant, Variants, weighed
from rag.plugins import canonical, unknown_name
from rag.query.audit import AuditRecord, AuditTrail
from rag.query.metadata import MetadataTransformer
from rag.query.plan import (
    FullTransformationResult,
    MetadataExtraction,
    Route,
    TimeWindow,
    WindowName,
)
from rag.query.registry import classifier_names
from rag.query.router import IntentRouter
from rag.query.syntax import parse_query
from rag.stores.protocol import NoteStore
from rag.text.normalize import normalize
from rag.text.tokens import has_words
from rag.text.wording import brief
from rag.vault import normalize_tags

_PLAN = "plan"  # what units of a plan are told as in `found_by`
_ROUTERS = ("rules", "model")  # any other is a plug-in
_LONGEST = 4_000  # characters of a variant


@dataclass(frozen=True)
class Intent:
    """What a query means, and how it is searched.

    :param flags: the filters that the user gave beside the query; those always hold.
    :param filters: these and the plan's together.
    :param variants: what a model wrote to search for besides.
    :param audit: the id of its record, empty without one.
    """

    plan: FullTransformationResult
    flags: QueryFilters
    filters: QueryFilters
    variants: Variants = field(default_factory=Variants)
    milliseconds: float = 0.0
    audit: str = ""
    today: date = field(default_factory=date.today)

    @property
    def narrows(self) -> bool:
        """Whether the plan leaves out notes that the flags let through."""
        return self.filters != self.flags

    @property
    def text(self) -> str:
        """What is searched for: the query as typed, when nothing of it filters."""
        return self.plan.text if self.plan.metadata.filters_anything else self.plan.query

    @property
    def has_words(self) -> bool:
        """Whether there is anything in the text to rank notes by."""
        return has_words(parse_query(self.text).text)

    @property
    def lists(self) -> bool:
        """Whether notes are listed by filters alone."""
        alone = self.plan.intent.primary_route is Route.METADATA_ONLY or not self.text.strip()
        return alone and self.plan.metadata.filters_anything

    @property
    def by_meaning(self) -> bool:
        """Whether the query is searched by meaning alone."""
        return not self.lists and self.plan.intent.primary_route is Route.VECTOR_ONLY


def find_intent(
    store: NoteStore,
    config: RAGConfig,
    query: str,
    flags: QueryFilters | None = None,
    *,
    full: bool = False,
    today: date | None = None,
) -> tuple[Intent | None, list[str]]:
    """Plan a query, and return its intent and notices for the user.

    Whatever goes wrong is told: the intent is then `None`, and the query searched as typed.

    :param flags: the filters that the user gave beside the query.
    :param full: ask the models that there are for all that they may say.
    :raises ConfigError: for settings of the planner that cannot be, such as an unknown router.
    """
    query = query.encode("utf-8", "replace").decode("utf-8")  # a shell may pass any bytes
    models = PlannerModels(config)
    router = _router(config, models)
    try:
        with store.pinned():
            manifest = store.manifest()
            if manifest is None:
                return None, []
            asking = _Asking(query, flags or QueryFilters(), full, today or date.today())
            dense = store.embedding_dim is not None
            return _planned(config, asking, ManifestCatalogue(manifest), models, router, dense)
    except Exception as error:  # a plan is a help; whatever keeps it from being made
        why = brief(f"{error or type(error).__name__}")
        return None, [f"the query is searched as typed, for it could not be planned: {why}"]
    finally:
        models.close()


class _Asking(NamedTuple):
    """What is to be planned."""

    query: str
    flags: QueryFilters
    full: bool
    today: date


def _planned(
    config: RAGConfig,
    asking: _Asking,
    catalogue: ManifestCatalogue,
    models: PlannerModels,
    router: IntentRouter,
    dense: bool,
) -> tuple[Intent, list[str]]:
    """Make a plan, and keep a record of it."""
    started, flags, today = time.monotonic(), asking.flags, asking.today
    given = _extraction(flags)
    plan = MetadataTransformer(config.planner, models, router).transform(
        asking.query, catalogue, flags=given, today=today, full=asking.full
    )
    took = round((time.monotonic() - started) * 1000, 1)
    merged, variants = _merged(flags, plan.metadata), _variants(plan, dense)
    intent = Intent(plan, flags, merged, variants, took, today=today)
    if not config.planner.audit:
        return intent, []
    record = AuditRecord.of(
        asking.query,
        plan,
        models.trace,
        flags=given if given.filters_anything else None,
        today=today,
        full=asking.full,
        latency_ms=took,
        settings=config.planner,
        catalogue=catalogue.digest(),
    )
    trail = AuditTrail(config.data_dir, days=config.planner.audit_days)
    intent = replace(intent, audit=trail.record(record))
    return intent, [trail.problem] if asking.full and trail.problem else []


def _router(config: RAGConfig, models: PlannerModels) -> IntentRouter:
    """Make the router.

    :raises ConfigError: for one that does not exist.
    """
    name = config.planner.router
    if name in _ROUTERS:
        return IntentRouter(name)
    known = classifier_names()
    if canonical(name) not in known:
        error = unknown_name("router", name, [*_ROUTERS, *known])
        raise ConfigError(f"planner.router: {error.message}", hint=error.hint)
    return IntentRouter(name, models.generator_of("route"))


def _extraction(flags: QueryFilters) -> MetadataExtraction:
    """Return filters in the words of a plan; paths have none."""
    window = TimeWindow()
    if flags.date_from or flags.date_to:
        window = TimeWindow(
            name=WindowName.DATES,
            first=flags.date_from,
            last=flags.date_to,
            field=flags.date_field,
        )
    return MetadataExtraction(
        vaults=flags.vaults or [],
        tags=_tags(flags.tags),
        excluded_tags=_tags(flags.excluded_tags),
        titles=flags.titles or [],
        values=flags.values or {},
        time_window=window,
    )


def _tags(tags: Sequence[str] | None) -> list[str]:
    return [names[0] for tag in tags or () if (names := normalize_tags([tag]))]


def _merged(flags: QueryFilters, read: MetadataExtraction) -> QueryFilters:
    """Return the filters of the flags and of a plan together; where both say something of the
    same kind that cannot both hold, the flags count."""
    own = _tags(flags.tags)
    further = [tag for tag in read.tags if tag not in own]
    any_of = read.tag_match == "any" and len(further) > 1
    excluded = [tag for tag in read.excluded_tags if tag not in _tags(flags.excluded_tags)]
    merged = replace(
        flags,
        vaults=flags.vaults or read.vaults or None,
        tags=[*(flags.tags or []), *([] if any_of else further)] or None,
        any_tags=flags.any_tags or (further if any_of else None),
        excluded_tags=[*(flags.excluded_tags or []), *excluded] or None,
        titles=flags.titles or read.titles or None,
        values={**read.values, **(flags.values or {})} or None,
    )
    window = read.time_window
    if flags.date_from or flags.date_to or window.is_open:
        return merged
    return replace(merged, date_from=window.first, date_to=window.last, date_field=window.field)


def _variants(plan: FullTransformationResult, dense: bool) -> Variants:
    """Return what a model wrote to search for besides the query, of each text the first."""
    found: dict[str, Variant] = {}
    for variant in _written(plan, dense):
        found.setdefault(normalize(variant.text), variant)
    same = (normalize(plan.query), normalize(plan.text))
    return weighed([variant for key, variant in found.items() if key not in same])


def _written(plan: FullTransformationResult, dense: bool) -> Iterator[Variant]:
    for number, unit in enumerate(plan.units, 1):
        if has_words(unit):
            label = _PLAN if len(plan.units) == 1 else f"{_PLAN} {number}"
            yield Variant(label, _PLAN, " ".join(unit.split())[:_LONGEST], 0.0)
    if dense and plan.hyde.by and has_words(plan.hyde.hyde_paragraph):
        paragraph = " ".join(plan.hyde.hyde_paragraph.split())[:_LONGEST]
        yield Variant(HYDE, HYDE, paragraph, 0.0, words=False)
