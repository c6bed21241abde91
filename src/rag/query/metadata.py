"""The whole plan of a query: read by rules, by a model as far as that is wanted, and let through
the guardrails.

    transformer = MetadataTransformer(PlannerConfig(), LiveAsker({"metadata": generator}))
    plan = transformer.transform("notes tagged k8s from last month", catalogue)

Filters come from the words of the query and from flags; a model can only name what such words mean
where the rules cannot tell. So filters, route and text are the same whether it answers well, badly
or not at all; `fallbacks` says what a plan had to do without. The guardrails, which each plan must
hold to, run in the order in which they stand here. What the flags say always counts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any

from rag.config import PlannerConfig
from rag.query.llm import LiveAsker, Trace, hypothesis, same_text
from rag.query.models import QueryBundle, as_bundle
from rag.query.planner.names import Catalogue, Resolver
from rag.query.planner.plan import (
    FullTransformationResult,
    HyDEGeneration,
    Kind,
    MetadataExtraction,
    Named,
    Route,
    named_window,
    window_of,
)
from rag.query.planner.query_text import subject_words, wanted_words
from rag.query.planner.rules import extract, mentioned_fields
from rag.query.router import IntentRouter
from rag.query.syntax import parse_query, plain_words
from rag.text.messages import brief, without_controls, without_halves
from rag.text.scripts import is_japanese
from rag.text.tokenizer import has_words, name_key

_MOST_UNITS = 4
_MOST_EXPANSIONS = 8
_NEAR_A_TAG = 5
_MARKS = " #＃\"'“”「」『』"


class MetadataTransformer:
    """Makes plans.

    :param asker: asks the models of the stages `metadata`, `hyde` and `route`; without it there are
        none.
    """

    def __init__(
        self,
        config: PlannerConfig | None = None,
        asker: LiveAsker | None = None,
    ) -> None:
        self.config, self.asker = config or PlannerConfig(), asker or LiveAsker({})
        self.router = IntentRouter(self.config.router)

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
        :param full: ask every model there is, for its own words too; else only `extractor =
            "model"`.
        """
        config, today, flags = self.config, today or date.today(), flags or MetadataExtraction()
        self.asker.trace = Trace(raw=config.raw_replies)
        bundle = as_bundle(query)
        resolver = Resolver(catalogue, config.aliases)
        near = partial(near_tags, resolver, config.neighbours)
        plan = FullTransformationResult(query=without_halves(bundle.query_str))
        failed = self._read(plan, resolver, today, full)
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
        plan.intent = intent = self.router.classify(bundle, plan, self.asker)
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
        understood, unknown = len(read.found) + is_timed, len(read.open) + bool(read.time_slot)
        plan.confidence = round(understood / (understood + unknown), 2) if unknown else 1.0
        if config.extractor == "model" or (full and config.extractor == "auto"):
            # Most queries do without a model.
            from rag.query.planner.llm_planner import QueryTransformer

            answer = QueryTransformer(config=config).transform(
                plan.query,
                resolver.catalogue,
                open_slots=read.open,
                time_slot=read.time_slot,
                today=today,
                asker=self.asker,
            )
            failed = bool(answer.fallback)
            if failed:
                plan.fallbacks.append(f"metadata: {answer.fallback}")
            else:
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


def _fillings(slots: Sequence[Named], matches: Sequence[Named], resolver: Resolver) -> list[Named]:
    """Return the open slots for which a model names something that the index has."""
    find = {"vault": resolver.vault, "tag": resolver.tag, "title": resolver.title}
    filled = []
    for slot in slots:
        words = name_key(slot.words).strip(_MARKS)
        names = (
            find[slot.kind](match.name, alike=False)
            for match in matches
            if match.kind == slot.kind and name_key(match.words).strip(_MARKS) == words
        )
        if name := next(filter(None, names), ""):
            filled.append(slot.model_copy(update={"name": name}))
    return filled


_log = logging.getLogger(__name__)
_LEAST_WORDS = 3  # of a rerank query
_LONGEST = 1500  # characters of a text that is made here


def _with(plan: FullTransformationResult, **read: Any) -> FullTransformationResult:
    return plan.model_copy(update={"metadata": plan.metadata.model_copy(update=read)})


def _once(items: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(items))


def merge_flags(
    plan: FullTransformationResult, flags: MetadataExtraction
) -> FullTransformationResult:
    """Put what the command line says into a plan, before anything is checked.

    Vaults, titles and time replace what the query says; tags and values are added to it, tags in
    front. Where any of the query's tags would do, those of the flags must be there besides.
    """
    read = plan.metadata
    required = _once([*flags.all_tags, *flags.tags, *read.all_tags])
    any_of = read.tag_match == "any" and len(read.tags) > 1
    return _with(
        plan,
        vaults=flags.vaults or read.vaults,
        tags=read.tags if any_of else _once([*required, *read.tags]),
        tag_match="any" if any_of else "all",
        all_tags=required if any_of else [],
        excluded_tags=_once([*flags.excluded_tags, *read.excluded_tags]),
        titles=flags.titles or read.titles,
        fields=_once([*flags.fields, *read.fields]),
        values={**read.values, **flags.values},
        time_window=read.time_window if flags.time_window.is_open else flags.time_window,
    )


def allow(
    plan: FullTransformationResult, resolver: Resolver, flags: MetadataExtraction
) -> FullTransformationResult:
    """Let through only what the index holds, under the name it has there.

    What is not there goes into `out_of_scope`. A flag is not dropped: a search for a tag that
    does not exist finds nothing.
    """
    find: dict[Kind, Callable[[str], str]] = {
        "vault": partial(resolver.vault, alike=False),
        "tag": partial(resolver.tag, alike=False),
        "title": resolver.title,
        "field": resolver.field,
    }
    scope = [*plan.in_scope]

    def names(kind: Kind, wanted: Sequence[str], required: Sequence[str]) -> list[str]:
        kept = []
        for name in wanted:
            held, is_flag = find[kind](name), name in required
            if is_flag and kind in ("tag", "vault") and name_key(held) != name_key(name):
                held = ""
            scope.append(Named(kind=kind, words=name, name=held))
            kept += [held or name] if held or is_flag else []
        return _once(kept)

    read, required = plan.metadata, [*flags.tags, *flags.all_tags]
    lists = {
        "vaults": names("vault", read.vaults, flags.vaults),
        "tags": names("tag", read.tags, required),
        "all_tags": names("tag", read.all_tags, required),
        "excluded_tags": names("tag", read.excluded_tags, flags.excluded_tags),
        "titles": names("title", read.titles, flags.titles),
        "fields": names("field", read.fields, flags.fields),
    }
    values = {}
    for field, value in read.values.items():
        name = resolver.field(field)
        held = resolver.catalogue.values(name) if name else ()
        same = next((other for other in held if name_key(other) == name_key(value)), None)
        scope.append(Named(kind="field", words=f"{field}: {value}", name=name if same else ""))
        if same is not None or field in flags.values:
            values[name if same else field] = same or value
    first: dict[tuple[str, str], Named] = {}
    for named in scope:
        first.setdefault((named.kind, named.name or f"? {named.words}"), named)
    allowed = _with(plan, **lists, values=values)
    allowed.in_scope = [named for named in first.values() if named.name]
    allowed.out_of_scope = _once([*plan.out_of_scope, *(n for n in first.values() if not n.name)])
    return allowed


def in_time_window(
    plan: FullTransformationResult, default: str, today: date
) -> FullTransformationResult:
    """Give a plan without a time the one of a name; an unknown name is `ALL_TIME`."""
    window = plan.metadata.time_window
    if not (window.is_open and window.text):
        window = window_of(window, today) or named_window(default, today)
    return _with(plan, time_window=window)


def cap_tags(
    plan: FullTransformationResult, cap: int, keep: int, flags: Iterable[str] = ()
) -> FullTransformationResult:
    """Keep only the first tags of a plan that has more than `cap`, and those of flags; the others
    are in `dropped`, and logged."""
    read, required = plan.metadata, {name_key(tag) for tag in flags}
    tags = [*read.all_tags, *read.tags]
    if len(tags) <= cap:
        return plan
    own = [tag for tag in tags if name_key(tag) in required]
    others = [tag for tag in tags if name_key(tag) not in required]
    room = max(min(keep, cap) - len(own), 0)
    _log.info("%d tags are more than %d; dropped: %s", len(tags), cap, others[room:])
    kept = {*own, *others[:room]}
    capped = _with(
        plan,
        tags=[tag for tag in read.tags if tag in kept],
        all_tags=[tag for tag in read.all_tags if tag in kept],
    )
    return capped.model_copy(update={"dropped": [*plan.dropped, *others[room:]]})


_ENGLISH = "A note about {}.|A note.|Tags: {}.|Vault: {}.|Title: {}.|Time: {} – {}."
_JAPANESE = "{}についてのノート。|ノート。|タグ: {}。|保管庫: {}。|題名: {}。|期間: {}〜{}。"


def with_paragraph(plan: FullTransformationResult) -> FullTransformationResult:
    """Make a paragraph of the query and its metadata where no model wrote one: what a note that
    answers the query would say of itself."""
    if has_words(plan.hyde.hyde_paragraph):
        return plan
    read, japanese = plan.metadata, is_japanese(plan.query)
    about, nothing, *listed, time = (_JAPANESE if japanese else _ENGLISH).split("|")
    subject = _subject(plan)
    parts = [about.format(subject) if subject else nothing]
    for wording, names in zip(listed, (read.tags, read.vaults, read.titles), strict=True):
        parts += [wording.format(", ".join(map(_plain, names)))] if names else []
    window = read.time_window
    parts += [] if window.is_open else [time.format(window.first or "", window.last or "")]
    text = ("" if japanese else " ").join(parts)[:_LONGEST].strip()
    hyde = plan.hyde.model_copy(update={"hyde_paragraph": text, "by": ""})
    return plan.model_copy(update={"hyde": hyde})


def with_rerank_query(
    plan: FullTransformationResult,
    failed: bool = False,
    expand: Callable[[Sequence[str]], Sequence[str]] = lambda tags: (),
) -> FullTransformationResult:
    """Make a query to order results by where there is none of three words: of the text, event
    keyword, titles, tags and those near them, which `expand` gives; or where all reading `failed`.
    """
    if not (failed or is_short(plan.hyde.rerank_query)):
        return plan
    read, text = plan.metadata, plain_words(plan.text[:_LONGEST])
    tags = [tag.replace("/", " ") for tag in (*read.tags, *expand(read.tags))]
    is_said = {*name_key(text).split()} >= {*name_key(read.event_keyword).split()}
    parts = [text, "" if is_said else read.event_keyword, *read.titles, *tags]
    words: dict[str, str] = {}
    for part in filter(has_words, parts):
        words.setdefault(name_key(part), _plain(part))
    rerank = (" ".join(words.values()) or _subject(plan))[:_LONGEST].strip()
    if is_short(rerank):
        rerank = f"{rerank} ノート 記録 メモ" if is_japanese(rerank) else f"notes about {rerank}"
    rerank = "notes in all vaults" if is_short(rerank) else rerank
    return plan.model_copy(update={"hyde": plan.hyde.model_copy(update={"rerank_query": rerank})})


def is_short(rerank_query: str) -> bool:
    """Return whether a query has fewer than three words; of a Japanese one, three content words."""
    if is_japanese(rerank_query):
        return len(subject_words(rerank_query)) < _LEAST_WORDS
    return sum(map(has_words, rerank_query.split())) < _LEAST_WORDS


def _subject(plan: FullTransformationResult) -> str:
    texts = (plain_words(plan.text[:_LONGEST]), plan.metadata.event_keyword, plan.query)
    subjects = (_plain(text).rstrip("?!.。？！ ") for text in texts)
    return next(filter(has_words, subjects), "")


def _plain(text: str) -> str:
    return " ".join(without_controls(text[:_LONGEST]).split())
