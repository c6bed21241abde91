"""From a query to its intent: the plan that is made of it, and how that is searched."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from rag.clients.factory import chat_provider
from rag.config import RAGConfig
from rag.exceptions import RAGError
from rag.query.llm import Asked, LiveAsker, Outcome, Prompt, RawResponse, Stage, name_of
from rag.query.metadata import MetadataTransformer
from rag.query.planner.audit_log import AuditRecord, AuditTrail
from rag.query.planner.plan import (
    FullTransformationResult,
    MetadataExtraction,
    Route,
    TimeWindow,
    WindowName,
)
from rag.query.planner.query_text import without_unwanted
from rag.query.syntax import parse_query
from rag.search.filters import plain_tags
from rag.search.query import HYDE, shown, weighed
from rag.search.results import MEANING, QueryFilters, SearchedVariant
from rag.stores.base.document_store import BaseDocumentStore
from rag.support.unicode_forms import with_few_marks
from rag.text.messages import brief, without_halves
from rag.text.tokenizer import has_words, normalize


class PlannerModels(LiveAsker):
    """Asks the configured models, all of them together for `ollama.transform_timeout` at most.

    :param config: the settings; no server is asked before `has` is.
    """

    def __init__(self, config: RAGConfig) -> None:
        super().__init__({})
        self._config, self._until = config, 0.0  # by the monotonic clock; 0: not yet looked for

    def has(self, stage: Stage) -> bool:
        """Return whether there is a model for a stage."""
        if not self._until:
            planner, seconds = self._config.planner, self._config.ollama.transform_timeout
            chat = chat_provider(self._config)
            with suppress(RAGError):
                chat.check_listening()
                names: dict[Stage, str] = {
                    "route": planner.router_model or chat.model,
                    "metadata": planner.extractor_model or chat.model,
                    "hyde": planner.hyde_model or chat.model,
                }
                by_name = {name: chat.generator(name, seconds) for name in {*names.values()} - {""}}
                self._generators = {s: by_name[name] for s, name in names.items() if name}
            self._until = time.monotonic() + seconds
        return super().has(stage)

    def ask(self, stage: Stage, prompt: Prompt, schema: dict[str, Any]) -> Asked:
        """Ask the stage's model."""
        if self.has(stage):
            generator = self._generators[stage]
            self._timeout = left = round(self._until - time.monotonic(), 1)
            if left <= 0:
                name, failure = name_of(generator), "no time was left (ollama.transform_timeout)"
                response = RawResponse(stage=stage, model=name, failure=failure)
                self.trace.responses.append(response)
                return Asked("", name, failure)
            generator.timeout = left
        return super().ask(stage, prompt, schema)

    def call(self, use: Callable[[float], Outcome]) -> Outcome:
        """Use a tool, within the time that is left."""
        self._timeout = max(round(self._until - time.monotonic(), 1), 0.0)
        return super().call(use)

    def close(self) -> None:
        """Close all connections."""
        for generator in self._generators.values():
            generator.close()


_NOT_PLANNED = "the query is searched as typed, for it could not be planned: {}"
_PLAN = "plan"  # what units of a plan are reported as in `found_by`


@dataclass(frozen=True)
class Intent:
    """What a query means, and how it is searched."""

    plan: FullTransformationResult
    flags: QueryFilters  # that the user gave beside the query; those always hold
    filters: QueryFilters  # these and the plan's together
    variants: tuple[SearchedVariant, ...] = ()  # what a model wrote to search for
    milliseconds: float = 0.0
    audit: str = ""  # the id of its record, empty without one
    today: date = field(default_factory=date.today)

    @property
    def narrows(self) -> bool:
        """Whether the plan leaves out notes that the flags let through."""
        alone = _filters(self.flags, extraction_of(self.flags))
        return self.filters != alone or self.typed != self.plan.query

    @property
    def is_plain(self) -> bool:
        """Whether the rules found no word of the query that filters, or would if it were known."""
        plan, given = self.plan, extraction_of(self.flags)
        is_read = plan.in_scope or self.names_time or plan.metadata.values != given.values
        return plan.confidence == 1 and not is_read and self.typed == plan.query

    @property
    def names_time(self) -> bool:
        """Whether words of the query say of when the notes are, and no flag says otherwise."""
        window = self.plan.metadata.time_window
        return bool(window.text and not window.is_open)

    @property
    def text(self) -> str:
        """What is searched for: the query as typed, when nothing of it filters."""
        return self.plan.text if self.plan.metadata.filters_anything else self.typed

    @property
    def typed(self) -> str:
        """The query as typed, but for words of which it says that they are not wanted."""
        return without_unwanted(self.plan.query)

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
        """Whether the query is searched only semantically."""
        return not self.lists and self.plan.intent.primary_route is Route.VECTOR_ONLY


def find_intent(
    store: BaseDocumentStore,
    config: RAGConfig,
    query: str,
    flags: QueryFilters | None = None,
    *,
    full: bool = False,
    plain: bool = True,
    today: date | None = None,
) -> tuple[Intent | None, list[str]]:
    """Plan a query, and return its intent and notices for the user. Any failure is reported: the
    intent is then `None`, and the query searched as typed.

    :param full: ask the models that there are for all that they may say.
    :param plain: whether a query in which nothing filters has an intent, and a record, too.
    """
    query = with_few_marks(without_halves(query))
    flags, today = flags or QueryFilters(), today or date.today()
    models = PlannerModels(config)
    try:
        with store.pinned():
            manifest = store.manifest()
            if manifest is None:
                return None, []
            catalogue, dense = manifest.catalogue, store.embedding_dim is not None
            started, given = time.monotonic(), extraction_of(flags)
            plan = MetadataTransformer(config.planner, models).transform(
                query, catalogue, flags=given, today=today, full=full
            )
            took = round((time.monotonic() - started) * 1000, 1)
            filters, variants = _filters(flags, plan.metadata), _variants(plan, dense)
            intent = Intent(plan, flags, filters, variants, took, today=today)
            if intent.is_plain and not plain:
                return None, []
            if not config.planner.audit:
                return intent, []
            record = AuditRecord.of(
                plan,
                models.trace,
                config.planner,
                flags=given if given.filters_anything else None,
                today=today,
                full=full,
                latency_ms=took,
                catalogue=catalogue.digest(),
            )
            trail = AuditTrail(config.data_dir, days=config.planner.audit_days)
            intent = replace(intent, audit=trail.record(record))
            return intent, [trail.problem] if full and trail.problem else []
    except Exception as error:  # a plan is a help; whatever keeps it from being made
        return None, [_NOT_PLANNED.format(brief(f"{error or type(error).__name__}"))]
    finally:
        models.close()


def extraction_of(flags: QueryFilters) -> MetadataExtraction:
    """Return filters in the words of a plan; paths and `any_tags` beside others have none."""
    window, (first, last) = TimeWindow(), (flags.date_from, flags.date_to)
    if first or last:
        window = TimeWindow(name=WindowName.DATES, first=first, last=last, field=flags.date_field)
    return MetadataExtraction(
        vaults=flags.vaults or [],
        tags=plain_tags(flags.tags),
        excluded_tags=plain_tags(flags.excluded_tags),
        titles=flags.titles or [],
        values=flags.values or {},
        time_window=window,
    )


def _filters(flags: QueryFilters, read: MetadataExtraction) -> QueryFilters:
    """Return the filters of a plan, in which the flags are merged, and those flags that a plan
    knows nothing of."""
    any_of = read.tag_match == "any" and len(read.tags) > 1
    window = read.time_window
    return replace(
        flags,
        vaults=read.vaults or None,
        tags=[*read.all_tags, *([] if any_of else read.tags)] or None,
        date_from=window.first,
        date_to=window.last,
        any_tags=flags.any_tags or (read.tags if any_of else None),
        excluded_tags=read.excluded_tags or None,
        titles=read.titles or None,
        values=read.values or None,
        date_field=window.field,
    )


def _variants(plan: FullTransformationResult, dense: bool) -> tuple[SearchedVariant, ...]:
    variants = [
        SearchedVariant(_PLAN if len(plan.units) == 1 else f"{_PLAN} {at}", _PLAN, shown(unit), 0.0)
        for at, unit in enumerate(plan.units, 1)
        if has_words(unit)
    ]
    if dense and has_words(plan.hyde.hyde_paragraph):
        text = shown(plan.hyde.hyde_paragraph)
        variants.append(SearchedVariant(HYDE, HYDE, text, 0.0, (MEANING,)))
    texts = {normalize(plan.query), normalize(plan.text)}
    by_text = {normalize(v.text): v for v in variants[::-1]}
    return weighed(
        [v for v in variants if by_text[normalize(v.text)] is v and normalize(v.text) not in texts]
    )
