"""What a plan must hold to, whoever made it: rules, a model, or the flags of a command.

Each guardrail takes a plan and returns one that holds to it. They run in the order in which they
stand here; `EmptyHyDE` and `RerankOverride` after a model had its say about the texts. What the
flags say always counts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import partial
from typing import Any, NamedTuple

from rag.query.planner.plan import (
    FullTransformationResult,
    Kind,
    MetadataExtraction,
    Named,
    TimeWindow,
    named_window,
    window_of,
)
from rag.query.planner.rules.names import Resolved, Resolver
from rag.query.syntax import plain_words
from rag.query.transforms.llm_callbacks import subject_words
from rag.text.messages import without_controls
from rag.text.scripts import is_japanese
from rag.text.tokenizer import has_words, name_key

_LEAST_WORDS = 3  # of a rerank query
_LONGEST = 1500  # characters of a text that is made here
_WORDING = {
    "en": {
        "about": "A note about {}.",
        "nothing": "A note.",
        "tags": "Tags: {}.",
        "vaults": "Vault: {}.",
        "titles": "Title: {}.",
        "time": "Time: {} – {}.",
    },
    "ja": {
        "about": "{}についてのノート。",
        "nothing": "ノート。",
        "tags": "タグ: {}。",
        "vaults": "保管庫: {}。",
        "titles": "題名: {}。",
        "time": "期間: {}〜{}。",
    },
}


def paragraph_of(plan: FullTransformationResult) -> str:
    """Return what a note that answers the query would say of itself; never nothing."""
    read, japanese = plan.metadata, is_japanese(plan.query)
    words = _WORDING["ja" if japanese else "en"]
    subject = _subject(plan)
    parts = [words["about"].format(subject)] if subject else [words["nothing"]]
    for key, names in (("tags", read.tags), ("vaults", read.vaults), ("titles", read.titles)):
        if names:
            parts.append(words[key].format(", ".join(map(_plain, names))))
    window = read.time_window
    if not window.is_open:
        parts.append(words["time"].format(window.first or "", window.last or ""))
    return ("" if japanese else " ").join(parts)[:_LONGEST].strip()


def rerank_query_of(plan: FullTransformationResult, near: Sequence[str] = ()) -> str:
    """Return text, event keyword, titles, tags and the tags near them, each once; filled up to
    three words."""
    read = plan.metadata
    tags = [tag.replace("/", " ") for tag in (*read.tags, *near)]
    parts: dict[str, str] = {}
    text = plain_words(plan.text[:_LONGEST])
    said = {*name_key(text).split()} >= {*name_key(read.event_keyword).split()}
    keyword = "" if said else read.event_keyword
    for part in (text, keyword, *read.titles, *tags):
        if has_words(part):
            parts.setdefault(name_key(part), _plain(part))
    made = (" ".join(parts.values()) or _subject(plan))[:_LONGEST].strip()
    if is_short(made):
        made = f"{made} ノート 記録 メモ" if is_japanese(made) else f"notes about {made}"
    return made if not is_short(made) else "notes in all vaults"


def is_short(rerank_query: str) -> bool:
    """Return whether a query has fewer than three words; of a Japanese one, three content words."""
    if is_japanese(rerank_query):
        return len(subject_words(rerank_query)) < _LEAST_WORDS
    return sum(map(has_words, rerank_query.split())) < _LEAST_WORDS


def _subject(plan: FullTransformationResult) -> str:
    """Return in words what a plan is about, empty when it says nothing."""
    given = (plain_words(plan.text[:_LONGEST]), plan.metadata.event_keyword, plan.query)
    return next(
        (plain for text in given if has_words(plain := _plain(text).rstrip("?!.。？！ "))), ""
    )


def _plain(text: str) -> str:
    return " ".join(without_controls(text[:_LONGEST]).split())


_log = logging.getLogger(__name__)


class MergeFlags:
    """Put what the command line says into a plan, before anything is checked.

    Vaults, titles and time replace what the query says; tags and values are added to it, tags in
    front. Where any of the query's tags would do, those of the flags must be there besides. Only
    where any of either would do, which no search can tell, the query's become words to rank by.

    :param flags: `None` for none.
    """

    def __init__(self, flags: MetadataExtraction | None) -> None:
        self._flags = flags or MetadataExtraction()

    def __call__(self, plan: FullTransformationResult) -> FullTransformationResult:
        """Return the plan with the flags in it."""
        flags, read = self._flags, plan.metadata
        tags, dropped = _together(flags, read)
        metadata = read.model_copy(
            update={
                "vaults": flags.vaults or read.vaults,
                **tags,
                "excluded_tags": _once([*flags.excluded_tags, *read.excluded_tags]),
                "titles": flags.titles or read.titles,
                "fields": _once([*flags.fields, *read.fields]),
                "values": {**read.values, **flags.values},
                "time_window": read.time_window if flags.time_window.is_open else flags.time_window,
            }
        )
        if not dropped:
            return plan.model_copy(update={"metadata": metadata})
        told = f"flags: searched for as words: {', '.join(dropped)}"
        update = {
            "metadata": metadata,
            "text": " ".join(filter(None, [plan.text, *dropped])),
            "fallbacks": [*plan.fallbacks, told],
        }
        return plan.model_copy(update=update)


def _together(
    flags: MetadataExtraction, read: MetadataExtraction
) -> tuple[dict[str, Any], list[str]]:
    """Return the tags of flags and of a query together, and those that cannot be."""
    every, choices = [*flags.all_tags, *read.all_tags], []
    for side in (flags, read):
        if side.tag_match == "any" and len(side.tags) > 1:
            choices.append(side.tags)
        else:
            every += side.tags
    if not choices:
        return {"tags": _once(every), "tag_match": "all", "all_tags": []}, []
    any_of, *others = choices
    dropped = [tag for tags in others for tag in tags if tag not in any_of]
    return {"tags": any_of, "tag_match": "any", "all_tags": _once(every)}, dropped


class Allowlist:
    """Let through only what the index holds, under the name it has there.

    What is not there goes into `out_of_scope`. A flag is not dropped: a search for a tag that
    does not exist finds nothing.

    :param flags: whose names stay as they are.
    """

    def __init__(self, resolver: Resolver, flags: MetadataExtraction | None = None) -> None:
        self._resolver, self._flags = resolver, flags or MetadataExtraction()
        self._find: dict[Kind, Callable[[str], Resolved | None]] = {
            "vault": partial(resolver.vault, alike=False),
            "tag": partial(resolver.tag, alike=False),
            "title": resolver.title,
            "field": resolver.field,
        }

    def __call__(self, plan: FullTransformationResult) -> FullTransformationResult:
        """Return the plan with names of the index only, `in_scope` and `out_of_scope` told."""
        read, flags, scope = plan.metadata, self._flags, _Scope([], [*plan.out_of_scope])
        for named in plan.in_scope:
            is_held = self._holds(named)
            scope.tell(named if is_held else named.model_copy(update={"name": ""}))
        required = [*flags.tags, *flags.all_tags]
        update = {
            "vaults": self._names("vault", read.vaults, flags.vaults, scope),
            "tags": self._names("tag", read.tags, required, scope),
            "all_tags": self._names("tag", read.all_tags, required, scope),
            "excluded_tags": self._names("tag", read.excluded_tags, flags.excluded_tags, scope),
            "titles": self._names("title", read.titles, flags.titles, scope),
            "fields": self._names("field", read.fields, flags.fields, scope),
            "values": self._values(read.values, scope),
        }
        first: dict[tuple[str, str], Named] = {}
        for named in scope.found:
            first.setdefault((named.kind, named.name), named)
        told = {"in_scope": list(first.values()), "out_of_scope": _once(scope.missing)}
        return plan.model_copy(update={"metadata": read.model_copy(update=update), **told})

    def _holds(self, named: Named) -> bool:
        found = self._find[named.kind](named.name)
        return found is not None and found.name == named.name

    def _names(
        self, kind: Kind, names: Sequence[str], flags: Sequence[str], scope: _Scope
    ) -> list[str]:
        kept = []
        for name in names:
            found = self._find[kind](name)
            known = found.name if found and (found.how == "exact" or name not in flags) else ""
            scope.tell(Named(kind=kind, words=name, name=known))
            kept += [known or name] if known or name in flags else []
        return _once(kept)

    def _values(self, values: dict[str, str], scope: _Scope) -> dict[str, str]:
        kept = {}
        for field, value in values.items():
            found = self._value(field, value)
            scope.tell(
                Named(kind="field", words=f"{field}: {value}", name=found[0] if found else "")
            )
            if found or field in self._flags.values:
                name, held = found or (field, value)
                kept[name] = held
        return kept

    def _value(self, field: str, value: str) -> tuple[str, str] | None:
        named = self._resolver.field(field)
        if named is None:
            return None
        key = name_key(value)
        held = self._resolver.catalogue.values(named.name)
        return next(((named.name, one) for one in held if name_key(one) == key), None)


class _Scope(NamedTuple):
    """What an index has of what a plan names, and what not."""

    found: list[Named]
    missing: list[Named]

    def tell(self, named: Named) -> None:
        (self.found if named.name else self.missing).append(named)


class DefaultTimeWindow:
    """Give a plan a time: the one it has, or the configured one.

    :param default: the name of a window; another name is `ALL_TIME`.
    :param today: the day that names are counted from.
    """

    def __init__(self, default: str = "ALL_TIME", today: date | None = None) -> None:
        self._today = today or date.today()
        self._default = named_window(default, self._today)

    def __call__(self, plan: FullTransformationResult) -> FullTransformationResult:
        """Return the plan with a window that names its days."""
        given = plan.metadata.time_window
        window = given if given.is_open and given.text else self.window(given)
        return plan.model_copy(
            update={"metadata": plan.metadata.model_copy(update={"time_window": window})}
        )

    def window(self, given: Any) -> TimeWindow:
        """Return the window that is given in whatever form, the default for what is none.

        :param given: a window, its name, or a mapping such as a model writes:
            `{"first": "2026-10-01", "last": "2026-10-31"}`, `{"name": "LAST_MONTH"}`.
        """
        return window_of(given, self._today) or self._default


class TagExplosionCap:
    """Keep only the first tags of a plan that has too many; those of flags are never dropped.

    :param cap: more tags than this are too many.
    :param keep: how many are kept then.
    """

    def __init__(self, cap: int = 8, keep: int = 5, flags: Iterable[str] = ()) -> None:
        self._cap, self._keep = cap, min(keep, cap)
        self._flags = {name_key(tag) for tag in flags}

    def __call__(self, plan: FullTransformationResult) -> FullTransformationResult:
        """Return the plan with so many tags; the others are in `dropped`, and logged."""
        read = plan.metadata
        tags = [*read.all_tags, *read.tags]
        if len(tags) <= self._cap:
            return plan
        own = [tag for tag in tags if name_key(tag) in self._flags]
        others = [tag for tag in tags if name_key(tag) not in self._flags]
        room = max(self._keep - len(own), 0)
        _log.info("%d tags are more than %d; dropped: %s", len(tags), self._cap, others[room:])
        kept = {*own, *others[:room]}
        update = {
            "tags": [tag for tag in read.tags if tag in kept],
            "all_tags": [tag for tag in read.all_tags if tag in kept],
        }
        metadata = read.model_copy(update=update)
        dropped = [*plan.dropped, *others[room:]]
        return plan.model_copy(update={"metadata": metadata, "dropped": dropped})


class EmptyHyDE:
    """Make a paragraph of the query and its metadata where no model wrote one."""

    def __call__(self, plan: FullTransformationResult) -> FullTransformationResult:
        """Return the plan with a paragraph that is never empty."""
        if has_words(plan.hyde.hyde_paragraph):
            return plan
        update = {"hyde_paragraph": paragraph_of(plan), "by": ""}
        return plan.model_copy(update={"hyde": plan.hyde.model_copy(update=update)})


class RerankOverride:
    """Make a query to order results by where there is none worth it.

    :param failed: whether nothing could be read in the query, by whoever was to do it.
    :param expand: gives the tags near others.
    """

    def __init__(
        self, failed: bool = False, expand: Callable[[Sequence[str]], Sequence[str]] | None = None
    ) -> None:
        self._failed, self._expand = failed, expand

    def __call__(self, plan: FullTransformationResult) -> FullTransformationResult:
        """Return the plan with a rerank query that is never short."""
        if not (self._failed or is_short(plan.hyde.rerank_query)):
            return plan
        near = self._expand(plan.metadata.tags) if self._expand else ()
        hyde = plan.hyde.model_copy(update={"rerank_query": rerank_query_of(plan, near)})
        return plan.model_copy(update={"hyde": hyde})


def _once(items: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(items))
