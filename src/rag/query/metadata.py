"""The whole plan of a query: read by rules, by a model as far as that is wanted, and let through
the guardrails.

    transformer = MetadataTransformer(PlannerConfig(), LiveAsker({"metadata": generator}))
    plan = transformer.transform("notes tagged k8s from last month", catalogue)

Filters come from the words of the query and from flags; a model can only name what such words
mean where the rules cannot tell. So the filters, the route and the text are the same whether it
answers well, badly or not at all. `fallbacks` says what a plan had to do without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from functools import partial
from typing import Any

from haystack import component, default_from_dict

from rag.config import PlannerConfig
from rag.exceptions import RAGError
from rag.query.llm import same_text
from rag.query.models import QueryBundle, as_bundle
from rag.query.planner.catalog import Catalogue
from rag.query.planner.guardrails import (
    allow,
    cap_tags,
    in_time_window,
    merge_flags,
    with_paragraph,
    with_rerank_query,
)
from rag.query.planner.names import Resolver
from rag.query.planner.plan import (
    Extraction,
    FullTransformationResult,
    HyDEGeneration,
    MetadataExtraction,
    Named,
    Route,
)
from rag.query.planner.query_text import wanted_words
from rag.query.planner.rules import extract
from rag.query.planner.slots import mentioned_fields
from rag.query.planner.stages import LiveAsker, Trace, hypothesis
from rag.query.router import IntentRouter
from rag.query.serialization import QueryComponent, with_callables
from rag.query.syntax import parse_query, plain_words
from rag.support.settings_repr import with_settings_repr
from rag.text.messages import brief, without_halves
from rag.text.tokenizer import has_words, name_key

_MOST_UNITS = 4
_MOST_EXPANSIONS = 8
_NEAR_A_TAG = 5
_MARKS = " #＃\"'“”「」『』"


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
        asker: LiveAsker | None = None,
        router: IntentRouter | None = None,
    ) -> None:
        self.config, self.asker = config or PlannerConfig(), asker or LiveAsker({})
        self.router = router or IntentRouter(self.config.router)

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
        config, today, flags = self.config, today or date.today(), flags or MetadataExtraction()
        self.asker.trace = Trace(raw=config.raw_replies)
        bundle = as_bundle(query)
        resolver = Resolver(catalogue, config.aliases)
        near = partial(near_tags, resolver, config.neighbours)
        plan = FullTransformationResult(query=without_halves(bundle.query_str))
        try:
            failed = self._read(plan, resolver, today, full)
        except RAGError:
            raise
        except Exception as error:  # better a search without filters than none
            plan.text, plan.confidence, failed = plan.query, 0.0, True
            plan.fallbacks.append(brief(f"metadata: the rules failed: {error or type(error)}"))
        plan = allow(merge_flags(plan, flags), resolver, flags)
        plan = in_time_window(plan, config.time_window, today)
        required = [*flags.tags, *flags.all_tags]
        plan = cap_tags(plan, config.tag_cap, config.tag_keep, required)
        parsed, read = parse_query(plan.text), plan.metadata
        if not (has_words(parsed.text) or parsed.has_filters):
            # What neither filters nor ranks is ranked by itself; what only filters, by nothing.
            plan.text = "" if read.filters_anything else plan.query
        rerank = plan.hyde.rerank_query or plain_words(plan.text)
        plan.hyde = plan.hyde.model_copy(update={"rerank_query": rerank})
        left = Extraction(metadata=read, text=plan.text)
        plan.intent = intent = self.router.classify(bundle, left, self.asker)
        if intent.by == "default" and intent.reason:
            plan.fallbacks.append(f"route: {intent.reason}")
        if intent.by == "model":
            plan.models["route"] = self.asker.trace.responses[-1].model
        expansions = near([*read.all_tags, *read.tags])
        plan.expansions = [tag for tag in expansions if tag not in read.excluded_tags]
        columns = mentioned_fields(resolver, wanted_words(plan.query), config.fields)
        plan.mapped_physical_columns = _once([*read.fields, *read.values, *columns])
        is_ranked = plan.intent.primary_route != Route.METADATA_ONLY
        if full and is_ranked and config.extractor != "rules":
            plan = hypothesis(plan, self.asker)
        if full:  # a text is made only where it is searched with, if filters must go at the latest
            plan = with_paragraph(plan)
        return with_rerank_query(plan, failed, near)

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
        data = QueryComponent.to_dict(self)  # `@component` makes another class of this one
        data["init_parameters"]["config"] = asdict(self.config)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the transformer from what `to_dict` gave."""
        data = with_callables(data, *cls._callables)
        data["init_parameters"]["config"] = PlannerConfig(**data["init_parameters"]["config"])
        return default_from_dict(cls, data)

    def _read(
        self, plan: FullTransformationResult, resolver: Resolver, today: date, full: bool
    ) -> bool:
        """Put into a plan what rules, and a model where it is asked, read in its query; return
        whether the model gave nothing."""
        config, failed = self.config, False
        settings: dict[str, Any] = {"aliases": config.aliases, "fields": config.fields}
        read_again = partial(extract, plan.query, resolver.catalogue, today=today, **settings)
        read = read_again()
        is_timed = not read.metadata.time_window.is_open
        known, unknown = len(read.found) + is_timed, len(read.open) + bool(read.time_slot)
        plan.confidence = round(known / (known + unknown), 2) if unknown else 1.0
        if config.extractor == "model" or (full and config.extractor == "auto"):
            from rag.query.planner.llm_planner import (  # most queries do without a model
                QueryTransformerFactory,
            )

            answer = QueryTransformerFactory.create_from_config(config).transform(
                plan.query,
                resolver.catalogue,
                open_slots=read.open,
                time_slot=read.time_slot,
                today=today,
                asker=self.asker,
            )
            failed = bool(answer.fallback)
            reasons = [*answer.metadata.get("unusable_tools", ()), answer.fallback]
            plan.fallbacks += [f"metadata: {reason}" for reason in reasons if reason]
            if not failed:
                meant = _fillings(read.open, answer.matches, resolver)
                window = answer.time_window if read.time_slot else None
                if meant or window:
                    # The rules know best what such words stand for, such as a tag that is not
                    # wanted, and which words go with them.
                    read = read_again(meant=meant, time=window)
                metadata = read.metadata
                metadata.event_keyword = answer.event_keyword or metadata.event_keyword
                metadata.logical_reasoning = answer.reasoning or metadata.logical_reasoning
                texts = [answer.transformed_query, *(unit.query for unit in answer.units)]
                for text in filter(has_words, map(plain_words, texts)):
                    if not any(same_text(text, o) for o in (plan.query, read.text, *plan.units)):
                        plan.units = [*plan.units, text][:_MOST_UNITS]
                plan.hyde = HyDEGeneration(rerank_query=plain_words(answer.rerank_query))
                plan.confidence = answer.confidence
                plan.models["metadata"] = answer.metadata["model"]
        if read.time_slot:
            plan.fallbacks.append(brief(f"time: when “{read.time_slot}” was is not known"))
        plan.text = " ".join(filter(None, [read.text, *read.unwanted]))
        plan.metadata, plan.in_scope, plan.out_of_scope = read.metadata, read.found, read.open
        return failed


def near_tags(
    resolver: Resolver, neighbours: Mapping[str, Sequence[str]], tags: Sequence[str]
) -> list[str]:
    """Return tags of the index near others: first those the settings name, then those that notes
    have beside them; at most 8."""
    configured = {name_key(tag): names for tag, names in neighbours.items()}
    near: list[str] = []
    for tag in tags:
        named = (resolver.tag(name, alike=False) for name in configured.get(name_key(tag), ()))
        near += filter(None, named)
    for tag in tags:
        near += resolver.catalogue.neighbours(tag, _NEAR_A_TAG)[:_NEAR_A_TAG]
    return [tag for tag in _once(near) if tag not in tags][:_MOST_EXPANSIONS]


def _once(items: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(items))


def _fillings(slots: Sequence[Named], matches: Sequence[Named], resolver: Resolver) -> list[Named]:
    """Return the open slots for which a model names something that the index has."""
    find = {"vault": resolver.vault, "tag": resolver.tag, "title": resolver.title}
    filled = []
    for slot in slots:
        words = name_key(slot.words).strip(_MARKS)
        for match in matches:
            is_same = match.kind == slot.kind and name_key(match.words).strip(_MARKS) == words
            if name := find[slot.kind](match.name, alike=False) if is_same else "":
                filled.append(slot.model_copy(update={"name": name}))
                break
    return filled
