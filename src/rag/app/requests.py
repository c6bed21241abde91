"""What front-ends ask for; a request is a use case's only argument beside the notes. And filters
as people and programs write them: names, globs, days in words, conditions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from unicodedata import normalize

from rag.exceptions import RAGError, UsageError
from rag.support.file_kinds import KINDS

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from rag.config import RAGConfig
    from rag.search.results import QueryFilters

_CONDITION = "([^=:<>≤≥]*)(?:[=:]|(?=[<>≤≥]))(.*)"  # name=value, name: value, name>value


@dataclass(frozen=True)
class SearchRequest:
    """A query, and how it is searched; what is `None` is as the settings say.

    :param plan: whether the query is planned; `None` where that is for its words to decide.
    :param min_score: leave out results that score less; notes that are only listed have no score.
    :param context: give so many lines before and after the matching line of each result.
    :param order: of the results: `score`, `created`, `modified` or `title`; "" for the usual one.
    :param refresh: index what changed first, where it is little, and no snapshot is open yet.
    :param everything: give results too that neither words nor nearness bear.
    """

    query: str
    filters: QueryFilters | None = None
    top_k: int | None = None
    mode: str | None = None
    transforms: list[str] | None = None
    plan: bool | None = None
    chunks: bool = False
    explain: bool = False
    rerank: bool | None = None
    min_score: float = 0.0
    context: int | None = None
    order: str = ""
    refresh: bool = False
    everything: bool = False


@dataclass(frozen=True)
class RelatedRequest:
    """A note, as `rag.app.notes.get_note` takes it, and which of those related to it are wanted.

    :param include_linked: give those too that it links to, or that link to it.
    :param min_score: leave out what scores less; `None` for what is not clearly related.
    :param all_vaults: look in all vaults; else, where the filters name none, in the note's own.
    """

    note: str
    filters: QueryFilters | None = None
    top_k: int = 10
    include_linked: bool = False
    min_score: float | None = None
    all_vaults: bool = False
    folder: Path | None = None


@dataclass(frozen=True, kw_only=True)
class _Answering:
    """How questions are answered; what is not told here is as in a `SearchRequest`.

    :param model: a chat model, which must answer; "" for that of the settings.
    """

    filters: QueryFilters | None = None
    top_k: int | None = None
    transforms: list[str] | None = None
    plan: bool | None = None
    model: str = ""
    no_model: bool = False
    think: bool = False
    explain: bool = False


@dataclass(frozen=True)
class AskRequest(_Answering):
    """A question."""

    question: str


@dataclass(frozen=True)
class ChatRequest(_Answering):
    """A conversation: that with the id `session`, the latest (`go_on`), or a new one."""

    session: str = ""
    go_on: bool = False


def with_model(config: RAGConfig, no_model: bool, think: bool = False) -> RAGConfig:
    """Return the settings with what was chosen for a question; see `AskRequest`."""
    if no_model:
        from rag.clients.factory import chat_provider  # a list of conversations does without

        config = chat_provider(config).with_model(config, "")
    return replace(config, ask=replace(config.ask, think=think or config.ask.think))


@dataclass(frozen=True)
class SyncRequest:
    """How an index is brought up to date.

    :param folders: which become vaults and are read; none for all vaults that are known.
    :param prune: forget the notes of empty or missing folders.
    :param embed: require embeddings, those of another model rebuilt; or make none; `None` to
        make what lacks, where a model answers.
    :param quiet: leave out that there are no embeddings, unless the settings name who makes them.
    :param take_over: write an index on a server that another machine has written.
    :param seconds: how long a model may embed that is not required to; `None` for no limit.
    """

    folders: Sequence[Path] = ()
    name: str = ""
    prune: bool = False
    rebuild: bool = False
    embed: bool | None = None
    wait: bool = False
    quiet: bool = False
    take_over: bool = False
    seconds: float | None = None


def read_filters(
    vaults: Sequence[str] = (),
    tags: Sequence[str] = (),
    from_: str = "",
    to: str = "",
    modified_from: str = "",
    modified_to: str = "",
    paths: Sequence[str] = (),
    where: Mapping[str, str] | Sequence[str] | None = None,
    type: str = "",
    *,
    as_options: bool = False,
) -> QueryFilters | None:
    """Return the filters that are written; what is empty filters nothing, and `None` is for none.

    :param type: a kind of files, as `rag.support.file_kinds` names them.
    :param as_options: let errors name fields as a command line does: `--modified-from`.
    :raises UsageError: for what is no name, day, span or condition.
    """
    from rag.search.results import QueryFilters

    def named(field: str) -> str:
        return f"--{field.rstrip('s').replace('_', '-')}" if as_options else field

    for field, values in (("vaults", vaults), ("tags", tags), ("paths", paths)):
        if any(not value.strip("#/ \t") for value in values):
            raise UsageError(f"{named(field)} has an empty item", hint="Leave it out.")
    conditions = read_conditions(where or {}, named("where"))
    if type:
        if type.lower() not in KINDS:
            raise UsageError(f"unknown kind {type!r}", hint=f"Kinds are {', '.join(KINDS)}.")
        conditions["type"] = type.lower()
    created = _days(named("from"), from_, named("to"), to)
    modified = _days(named("modified_from"), modified_from, named("modified_to"), modified_to)
    filters = QueryFilters(
        [*vaults] or None,
        [*tags] or None,
        *created,
        [*paths] or None,
        values=conditions or None,
        modified_from=modified[0],
        modified_to=modified[1],
    )
    return None if filters == QueryFilters() else filters


def read_conditions(where: Mapping[str, str] | Iterable[str], called: str) -> dict[str, str]:
    """Return the condition of each property; comparisons of one are joined.

    :param where: the conditions by property, or texts: `status=done`, `status: done`, `price>200`.
    :param called: what errors call them.
    """
    from rag.query.values import is_comparison

    pairs: Iterable[tuple[str, str]]
    if isinstance(where, Mapping):
        pairs = where.items()
    else:
        parts = ((text, re.fullmatch(_CONDITION, text, re.DOTALL)) for text in where)
        pairs = [(part[1], part[2]) if part else (text, "") for text, part in parts]
    conditions: dict[str, str] = {}
    for field, condition in pairs:
        name = normalize("NFC", field).strip().lower()
        value = normalize("NFC", condition).strip()
        if not name or not value:
            what = f"{field + condition!r} is not a filter: it needs a property and a value"
            hint = "Name a property and its value: status=done, or compare it: 'price>200'."
            raise UsageError(what, hint=hint)
        earlier = conditions.get(name)
        if earlier and not (is_comparison(earlier) and is_comparison(value)):
            raise UsageError(f"{called} names {name!r} twice", hint="Leave one out.")
        conditions[name] = f"{earlier} {value}" if earlier else value
    return conditions


def _days(start: str, since: str, end: str, until: str) -> tuple[date | None, date | None]:
    """Return the first and the last day of a span, `None` where that end, so named, is open."""
    from rag.query import parse_date_range

    days: list[date | None] = []
    for name, words in ((start, since), (end, until)):
        try:
            span = parse_date_range(words) if words else None
        except RAGError as error:
            raise UsageError(f"{name}: {error}", hint=error.hint) from error
        days.append(span and (span.first if name == start else span.last))
    first, last = days
    if first and last and last < first:
        raise UsageError(f"{end} {last} lies before {start} {first}", hint="Swap them?")
    return first, last
