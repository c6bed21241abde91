"""What a plan must hold to, whoever made it: rules, a model, or the flags of a command.

Each guardrail takes a plan and returns one that holds to it. They run in the order in which they
stand here; the last two after a model had its say about the texts. What the flags say always
counts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import partial
from typing import Any

from rag.query.planner.names import Resolver
from rag.query.planner.plan import (
    FullTransformationResult,
    Kind,
    MetadataExtraction,
    Named,
    named_window,
    window_of,
)
from rag.query.planner.query_text import subject_words
from rag.query.syntax import plain_words
from rag.text.messages import without_controls
from rag.text.scripts import is_japanese
from rag.text.tokenizer import has_words, name_key

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
    read, required = plan.metadata, _once([*flags.all_tags, *flags.tags, *plan.metadata.all_tags])
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


_ENGLISH = (
    "A note about {}.",
    "A note.",
    "Tags: {}.",
    "Vault: {}.",
    "Title: {}.",
    "Time: {} – {}.",
)
_JAPANESE = (
    *("{}についてのノート。", "ノート。", "タグ: {}。", "保管庫: {}。", "題名: {}。"),
    "期間: {}〜{}。",
)


def with_paragraph(plan: FullTransformationResult) -> FullTransformationResult:
    """Make a paragraph of the query and its metadata where no model wrote one: what a note that
    answers the query would say of itself."""
    if has_words(plan.hyde.hyde_paragraph):
        return plan
    read, japanese = plan.metadata, is_japanese(plan.query)
    about, nothing, *listed, time = _JAPANESE if japanese else _ENGLISH
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
    keyword, titles, tags and the tags near them, filled up to three words.

    :param failed: whether nothing could be read in the query, by whoever was to do it.
    :param expand: gives the tags near others.
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
    """Return in words what a plan is about, empty when it says nothing."""
    texts = (plain_words(plan.text[:_LONGEST]), plan.metadata.event_keyword, plan.query)
    subjects = (_plain(text).rstrip("?!.。？！ ") for text in texts)
    return next(filter(has_words, subjects), "")


def _plain(text: str) -> str:
    return " ".join(without_controls(text[:_LONGEST]).split())
