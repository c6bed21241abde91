"""The requests of `rag.app` with bounds, and filters in words, for agents' tools and the HTTP API.

Nothing in them names a file or a folder of this machine. pydantic takes longer to import than a
client waits: this module is imported with the first request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, cast, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

from rag.app.requests import (
    AskRequest,
    RelatedRequest,
    SearchRequest,
    read_conditions,
    read_filters,
)
from rag.exceptions import ArgumentError, UsageError
from rag.query.syntax import MAX_LENGTH
from rag.support.file_kinds import KINDS
from rag.text.messages import refusal

T = TypeVar("T")
Text = Annotated[str, Field(max_length=10_000)]
Name = Annotated[str, Field(min_length=1, max_length=1_000)]
Names = Annotated[tuple[Name, ...], Field(max_length=50)]
Count = Annotated[int, Field(ge=1, le=100)]
Question = Annotated[str, Field(min_length=1, max_length=MAX_LENGTH)]


def _conditions(where: Any) -> Any:
    """Return conditions as an object, where they are texts such as `status: done`."""
    if not isinstance(where, list):
        return where
    try:
        return read_conditions(map(str, where), "where")
    except UsageError as error:
        raise ValueError(str(error)) from error


Where = Annotated[Mapping[Text, Text] | None, Field(max_length=20), BeforeValidator(_conditions)]


class Arguments:
    """What may be given: the fields that classes below this one declare, and no others."""


@dataclass(frozen=True)
class Filters(Arguments):
    """Filters that are not read yet; what is empty filters nothing."""

    vaults: Annotated[Names, Field(description="any of these")] = ()
    tags: Annotated[Names, Field(description="all of these")] = ()
    from_: Annotated[
        Text, Field(alias="from", description="created since: 2026-01-31, 2026-01, last week")
    ] = ""
    to: Annotated[Text, Field(description="created until")] = ""
    modified_from: Annotated[Text, Field(description="modified since")] = ""
    modified_to: Text = ""
    paths: Annotated[Names, Field(description="globs, any of these: projects/**")] = ()
    where: Annotated[Where, Field(description="front matter: status: done, price: >200")] = None
    type: Annotated[Text, Field(description=f"files of this kind: {', '.join(KINDS)}")] = ""


@dataclass(frozen=True)
class Search(Filters, SearchRequest):
    """A search; without a query the filters list notes."""

    query: Annotated[str, Field(max_length=MAX_LENGTH)] = ""
    order: Literal["", "score", "created", "modified", "title"] = ""
    top_k: Count = 10
    mode: Annotated[
        Literal["auto", "lexical", "dense", "hybrid"] | None,
        Field(description="dense: by meaning alone"),
    ] = None
    plan: Annotated[bool | None, Field(description="read filters and dates out of the query")] = (
        None
    )


@dataclass(frozen=True)
class Related(Arguments, RelatedRequest):
    """The notes related to one."""

    top_k: Count = 10
    include_linked: bool = False
    all_vaults: bool = False
    min_score: Annotated[float | None, Field(ge=0, le=1, description="a probability")] = None


@dataclass(frozen=True, kw_only=True)
class Ask(Filters, AskRequest):
    """A question."""

    question: Question


def check(kind: type[T], given: Mapping[str, Any], **more: Any) -> T:
    """Return the request that arguments are, with its filters read; `None` is not given.

    :param more: fields that are no arguments.
    :raises ArgumentError: where they do not fit, in words from which the asker learns what to send.
    """
    model = model_of(cast("Any", kind))
    try:
        taken = model.model_validate({k: v for k, v in given.items() if v is not None})
    except ValidationError as error:
        names = [field.alias or name for name, field in model.model_fields.items()]
        raise _refusal(error.errors(include_url=False)[0], names) from error
    request: Any = kind(**{name: getattr(taken, name) for name in taken.model_fields_set}, **more)
    if getattr(request, "model", "") and getattr(request, "no_model", False):
        raise ArgumentError("model and no_model exclude each other", hint="Leave one out.")
    if issubclass(kind, Filters):
        texts = {field.name: getattr(request, field.name) for field in fields(Filters)}
        try:
            request = replace(request, filters=read_filters(**texts))
        except UsageError as error:
            raise ArgumentError(str(error), hint=error.hint) from error
    return cast("T", request)


@cache
def model_of(kind: Any) -> type[BaseModel]:
    """Return what checks and describes the arguments of a request."""
    of_others = {"QueryFilters": Any, "Path": Any}  # types of fields that nobody gives
    hints = get_type_hints(kind, localns=of_others, include_extras=True)
    defaults = {f.name: ... if f.default is MISSING else f.default for f in fields(kind)}
    parts = [part for part in reversed(kind.__mro__) if issubclass(part, Arguments)]
    parts.sort(key=lambda part: part is Filters)  # which stand last
    declared = (name for part in parts for name in vars(part).get("__annotations__", {}))
    taken = {name: (hints[name], defaults[name]) for name in declared if name in defaults}
    config = ConfigDict(extra="forbid")
    return create_model(kind.__name__, __config__=config, **taken)  # type: ignore[call-overload, no-any-return]


def _refusal(error: Mapping[str, Any], names: list[str]) -> ArgumentError:
    name = ".".join(map(str, error["loc"]))[:100]
    hint = f"The arguments are: {', '.join(names) or 'none'}."
    if error["type"] == "extra_forbidden":
        near = get_close_matches(name, names, 1, 0.7)
        meant = f"; did you mean {near[0]}?" if near else ""
        return ArgumentError(f"unknown argument {name!r}{meant}", hint=hint)
    given = f", not {error['input']!r}" if isinstance(error["input"], int | float) else ""
    return ArgumentError(refusal(error) + given, hint=hint)
