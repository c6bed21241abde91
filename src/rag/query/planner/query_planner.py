"""The whole plan of a query: read by rules, by a model as far as that is wanted, and let through
the guardrails.

    transformer = MetadataTransformer(PlannerConfig(), LiveAsker({"metadata": generator}))
    plan = transformer.transform("notes tagged k8s from last month", catalogue)

Filters come from the words of the query and from flags; a model can only name what such words
mean where the rules cannot tell. So the filters, the route and the text are the same whether it
answers well, badly or not at all. `fallbacks` says what a plan had to do without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import date
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

from haystack import component, default_from_dict, default_to_dict

from rag.config import PlannerConfig
from rag.exceptions import RAGError
from rag.query.llm import same_text
from rag.query.models import QueryBundle, as_bundle
from rag.query.planner.audit_log import Asker, LiveAsker, Trace
from rag.query.planner.catalog import Catalogue
from rag.query.planner.guardrails import (
    Allowlist,
    DefaultTimeWindow,
    EmptyHyDE,
    MergeFlags,
    RerankOverride,
    TagExplosionCap,
)
from rag.query.planner.hyde import hypothesis
from rag.query.planner.intent_router import IntentRouter
from rag.query.planner.llm_result import QueryTransformationResult
from rag.query.planner.plan import (
    Extraction,
    FullTransformationResult,
    HyDEGeneration,
    MetadataExtraction,
    Named,
    Route,
    TimeWindow,
)
from rag.query.planner.rules.extractor import extract, filled, supported
from rag.query.planner.rules.fields import Normaliser
from rag.query.planner.rules.names import Resolver
from rag.query.serialization import QueryComponent, to_serialised, with_callables
from rag.query.syntax import parse_query, plain_words
from rag.support.settings_repr import with_settings_repr
from rag.text.messages import brief, plural, without_halves
from rag.text.tokenizer import has_words

if TYPE_CHECKING:
    from rag.query.planner.llm_planner import QueryTransformer

T = TypeVar("T")
_MOST_UNITS = 4


@with_settings_repr
@component
class MetadataTransformer(QueryComponent):
    """Makes plans.

    :param asker: asks the models of the stages `metadata`, `hyde` and `route`, and keeps what
        they said; without one there are no models.
    :param router: chooses the route; without one it is made of `config.router`.
    """

    _callables = ("asker", "router")

    def __init__(
        self,
        config: PlannerConfig | None = None,
        asker: Asker | None = None,
        router: IntentRouter | None = None,
    ) -> None:
        self.config, self.asker = config or PlannerConfig(), asker or LiveAsker({})
        self.router = router or IntentRouter(self.config.router)
        self._planners: dict[tuple[str, str], QueryTransformer] = {}

    def planner(self) -> QueryTransformer:
        """Return the transformer of the configured mode and model, made once for each."""
        key = self.config.mode, self.asker.model_of("metadata")
        if key not in self._planners:
            from rag.query.planner.llm_planner import (
                QueryTransformerFactory,  # most queries do without a model
            )

            self._planners[key] = QueryTransformerFactory.create_from_config(self.config)
        return self._planners[key]

    def transform(
        self,
        query: QueryBundle | str,
        catalogue: Catalogue,
        *,
        flags: MetadataExtraction | None = None,
        today: date | None = None,
        full: bool = False,
    ) -> FullTransformationResult:
        """Return the plan of a query.

        :param flags: what the command line says; it counts more than the query's words.
        :param today: the day that words such as "last week" are counted from.
        :param full: whether to ask every model there is, for its own words too; otherwise none is
            asked, but with `extractor = "model"`.
        """
        config, today = self.config, today or date.today()
        self.asker.trace = Trace(raw=config.raw_replies)
        bundle = as_bundle(query)
        text = without_halves(bundle.query_str)
        resolver = Resolver(catalogue, config.aliases)
        normaliser = Normaliser(resolver, config.neighbours, config.fields)
        required = [*flags.tags, *flags.all_tags] if flags else []
        plan, failed = self._read(text, catalogue, resolver, today, full)
        guardrails: tuple[Callable[[FullTransformationResult], FullTransformationResult], ...] = (
            MergeFlags(flags),
            Allowlist(resolver, flags),
            DefaultTimeWindow(config.time_window, today),
            TagExplosionCap(config.tag_cap, config.tag_keep, required),
        )
        plan = reduce(lambda made, guardrail: guardrail(made), guardrails, plan)
        plan = normaliser(self._routed(_searchable(plan), bundle))
        ranked = plan.intent.primary_route != Route.METADATA_ONLY
        if full and ranked and config.extractor != "rules":
            plan = hypothesis(plan, self.asker)
        if full:  # a text is made only where it is searched with, if filters must go at the latest
            plan = EmptyHyDE()(plan)
        return RerankOverride(failed, normaliser.expand)(plan)

    @component.output_types(plan=FullTransformationResult, route=str)
    def run(
        self,
        query: QueryBundle | str,
        catalogue: Catalogue,
        flags: MetadataExtraction | None = None,
        full: bool = False,
    ) -> dict[str, FullTransformationResult | str]:
        """Return the `plan`, and its `route`."""
        plan = self.transform(query, catalogue, flags=flags, full=full)
        return {"plan": plan, "route": plan.intent.primary_route.value}

    def to_dict(self) -> dict[str, Any]:
        """Serialise the transformer with its models and its router."""
        return default_to_dict(
            self,
            config=asdict(self.config),
            asker=to_serialised(self.asker),
            router=to_serialised(self.router),
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the transformer from what `to_dict` gave."""
        data = with_callables(data, *cls._callables)
        data["init_parameters"]["config"] = PlannerConfig(**data["init_parameters"]["config"])
        return default_from_dict(cls, data)

    def _read(
        self, query: str, catalogue: Catalogue, resolver: Resolver, today: date, full: bool
    ) -> tuple[FullTransformationResult, bool]:
        """Return what rules, and a model where it is asked, read in a query; and whether that
        failed."""

        def by_rules(meant: Sequence[Named] = (), time: TimeWindow | None = None) -> Extraction:
            return extract(
                query,
                catalogue,
                aliases=self.config.aliases,
                fields=self.config.fields,
                meant=meant,
                time=time,
                today=today,
            )

        plan, failed = FullTransformationResult(query=query), False
        known, why = _tried(by_rules)
        if known is None:
            plan.fallbacks.append(why)
            return plan.model_copy(update={"text": query, "confidence": 0.0}), True
        read: Extraction = known
        plan.confidence = _confidence(read)
        if self._asks(full):
            made = self.planner().transform(
                query,
                catalogue,
                open_slots=read.open,
                time_slot=read.time_slot,
                today=today,
                asker=self.asker,
            )
            failed = bool(made.fallback)
            plan = _told(plan, made)
            if not failed:
                more, why = _tried(lambda: filled(read, made, resolver, by_rules))
                plan.fallbacks += filter(None, [why])
                read, useless = more or (read, 0)
                tagged, why = _tried(lambda: supported(read, made, resolver))
                plan.fallbacks += filter(None, [why])
                plan = _worded(plan, read, made, useless, tagged or [])
        return _with(plan, read), failed

    def _asks(self, full: bool) -> bool:
        """Return whether a model is asked: a plan that nobody asked for waits for none."""
        return self.config.extractor == "model" or (full and self.config.extractor == "auto")

    def _routed(
        self, plan: FullTransformationResult, query: QueryBundle
    ) -> FullTransformationResult:
        left = Extraction(metadata=plan.metadata, text=plan.text)
        intent = self.router.classify(query, left, self.asker)
        if intent.by == "default" and intent.reason:
            plan.fallbacks.append(f"route: {intent.reason}")
        if intent.by == "model":
            plan.models["route"] = self.asker.trace.responses[-1].model
        return plan.model_copy(update={"intent": intent})


def _tried(read: Callable[[], T]) -> tuple[T | None, str]:
    """Return what the rules read, or why they could not: better a search without filters than
    none."""
    try:
        return read(), ""
    except RAGError:
        raise
    except Exception as error:
        return None, brief(f"metadata: the rules failed: {error or type(error)}")


def _confidence(read: Extraction) -> float:
    """Return the share of what a query asks to filter by that is known."""
    window = not read.metadata.time_window.is_open
    known, unknown = len(read.found) + window, len(read.open) + bool(read.time_slot)
    return round(known / (known + unknown), 2) if unknown else 1.0


def _with(plan: FullTransformationResult, read: Extraction) -> FullTransformationResult:
    """Put what was read into a plan."""
    if read.time_slot:
        plan.fallbacks.append(brief(f"time: when “{read.time_slot}” was is not known"))
    update = {
        "text": " ".join(filter(None, [read.text, *read.unwanted])),
        "metadata": read.metadata,
        "in_scope": read.found,
        "out_of_scope": read.open,
    }
    return plan.model_copy(update=update)


def _told(
    plan: FullTransformationResult, made: QueryTransformationResult
) -> FullTransformationResult:
    """Say what a model, and its tools, did not do."""
    reasons = [*made.metadata.get("unusable_tools", ()), *filter(None, [made.fallback])]
    told = [f"metadata: {why}" for why in reasons]
    return plan.model_copy(update={"fallbacks": [*plan.fallbacks, *told]})


def _worded(
    plan: FullTransformationResult,
    read: Extraction,
    made: QueryTransformationResult,
    useless: int,
    tagged: list[str],
) -> FullTransformationResult:
    """Take a model's own words into a plan, and into what was read.

    :param useless: how many names it gave that filled nothing.
    :param tagged: texts with tags that it proposed and the query's words support.
    """
    fallbacks = list(plan.fallbacks)
    if useless:
        fallbacks.append(f"metadata: {plural(useless, 'name')} of the model filled no open slot")
    read.metadata.event_keyword = made.event_keyword or read.metadata.event_keyword
    read.metadata.logical_reasoning = made.reasoning or read.metadata.logical_reasoning
    texts = [*tagged[:1], made.transformed_query, *(unit.query for unit in made.units)]
    update = {
        "units": _units(texts, (plan.query, read.text)),
        "hyde": HyDEGeneration(rerank_query=plain_words(made.rerank_query)),
        "confidence": made.confidence,
        "models": {**plan.models, "metadata": made.metadata["model"]},
        "fallbacks": fallbacks,
    }
    return plan.model_copy(update=update)


def _units(texts: list[str], unlike: tuple[str, ...]) -> list[str]:
    units: list[str] = []
    for text in map(plain_words, texts):
        if has_words(text) and not any(same_text(text, other) for other in (*unlike, *units)):
            units.append(text)
    return units[:_MOST_UNITS]


def _searchable(plan: FullTransformationResult) -> FullTransformationResult:
    """Give a plan that would neither filter nor rank the query itself to rank by, and one that
    only filters nothing."""
    parsed = parse_query(plan.text)
    conditions = parsed.fields or parsed.either or parsed.excluded or parsed.excluded_prefixes
    text = plan.text
    if not has_words(parsed.text) and not conditions:
        text = "" if plan.metadata.filters_anything else plan.query
    rerank = plan.hyde.rerank_query or plain_words(text)
    hyde = plan.hyde.model_copy(update={"rerank_query": rerank})
    return plan.model_copy(update={"text": text, "hyde": hyde})
