"""What each route takes, as types: by them pydantic checks requests, and OpenAPI describes them.

Filters are words here, as people type them, and nothing names a file or a folder of this machine.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from starlette.datastructures import QueryParams

from rag.app.filter_text import FilterText
from rag.app.requests import (
    AskRequest,
    ChatRequest,
    RelatedRequest,
    SearchRequest,
    SyncRequest,
)
from rag.exceptions import UsageError

if TYPE_CHECKING:
    from rag.search.results import QueryFilters

T = TypeVar("T")
R = TypeVar("R", SearchRequest, RelatedRequest, AskRequest, ChatRequest)
Text = Annotated[str, Field(max_length=10_000)]
Name = Annotated[str, Field(min_length=1, max_length=1_000)]
Names = Annotated[list[Name], Field(max_length=50)]
Count = Annotated[int, Field(ge=1, le=100)]


class _Request:
    __pydantic_config__ = ConfigDict(extra="forbid")


@dataclass
class _Filters(_Request):
    vault: Annotated[Names | None, Field(description="any of these")] = None
    tag: Annotated[Names | None, Field(description="all of these")] = None
    path: Annotated[Names | None, Field(description="globs, any of these: projects/**")] = None
    where: Annotated[
        Names | None, Field(description="front matter: `status: done`, `price: >200`")
    ] = None
    since: Annotated[
        Text, Field(alias="from", description="created since: 2026-01-31, 2026-01, last week, 先週")
    ] = ""
    until: Annotated[Text, Field(alias="to", description="created until")] = ""
    modified_from: Annotated[Text, Field(description="modified since")] = ""
    modified_to: Annotated[Text, Field(description="modified until")] = ""

    def filters(self) -> QueryFilters | None:
        """Return the filters as a request of the application has them; `None` for none.

        :raises UsageError: for a condition that is none, and as `FilterText.read`.
        """
        where = {}
        for one in self.where or ():
            field, colon, value = one.partition(":")
            if not (colon and field.strip() and value.strip()):
                raise UsageError(f"where: {one!r} is no condition", hint="Write `status: done`.")
            where[field] = value
        return FilterText(
            vaults=tuple(self.vault or ()),
            tags=tuple(self.tag or ()),
            from_=self.since,
            to=self.until,
            modified_from=self.modified_from,
            modified_to=self.modified_to,
            paths=tuple(self.path or ()),
            where=where,
        ).read()

    def as_request(self, kind: type[R], **more: Any) -> R:
        """Return a request of the application: its fields that have a name here too, the filters,
        and `more`."""
        named = {one.name for one in fields(kind)} & {one.name for one in fields(self)}
        own = {name: getattr(self, name) for name in named}
        return kind(**own, filters=self.filters(), **more)


@dataclass
class Search(_Filters):
    """Find notes by words and meaning, best first. Without a query the filters list notes, the
    newest first."""

    query: Text = ""
    top_k: Count = 10
    mode: Literal["auto", "lexical", "dense", "hybrid"] | None = None
    order: Literal["", "score", "created", "modified", "title"] = ""
    plan: Annotated[bool | None, Field(description="read filters and dates out of the query")] = (
        None
    )
    chunks: Annotated[bool, Field(description="list chunks, not notes")] = False
    explain: bool = False
    context: Annotated[
        int | None, Field(ge=0, le=50, description="lines before and after the best one")
    ] = None
    min_score: Annotated[float, Field(ge=0, le=1)] = 0.0

    def request(self) -> SearchRequest:
        """Return the request of the application."""
        return self.as_request(SearchRequest)


@dataclass
class Note(_Request):
    """Read a note, or a part of it: `{id}` is its id, `vault/path`, a title or an alias, with
    `#heading` or `:10-20` behind it. A slash in it may be written `%2F`."""


@dataclass
class Related(_Filters):
    """Notes related to a note in words or meaning, with passages and why; those that it is linked
    with are left out, and other vaults unless `all_vaults`."""

    limit: Count = 10
    include_linked: bool = False
    all_vaults: bool = False
    min_score: Annotated[float | None, Field(ge=0, le=1)] = None

    def request(self, note: str) -> RelatedRequest:
        """Return the request of the application, for one note."""
        return self.as_request(RelatedRequest, note=note)


@dataclass
class Status(_Request):
    """What the index holds, how old it is, and what was wrong with notes."""

    links: Annotated[bool, Field(description="list links that lead to no one note too")] = False
    vectors: Annotated[bool, Field(description="count chunks without a vector too")] = False


@dataclass
class Batch(_Request):
    """Read several notes, each once; a name may be a glob of paths (`daily/2026-11-*`)."""

    notes: Annotated[list[Name], Field(min_length=1, max_length=50)]
    lines: Annotated[int, Field(ge=1, le=10_000, description="of each note at most")] = 2_000


@dataclass(kw_only=True)
class _Question(_Filters):
    question: Annotated[str, Field(min_length=1, max_length=10_000)]
    top_k: Annotated[int | None, Field(ge=1, le=100)] = None
    model: Annotated[Text, Field(description="a chat model; without, that of the settings")] = ""
    no_model: Annotated[bool, Field(description="ask none, and quote")] = False
    plan: bool | None = None
    explain: bool = False


@dataclass
class Ask(_Question):
    """Answer a question from the notes. Events: `sentence` (its text, `verdict`, `sources`),
    `citation` (a source), `notice`, and last `done` (the report) or `error`."""

    def request(self) -> AskRequest:
        """Return the request of the application."""
        return self.as_request(AskRequest)


@dataclass
class Chat(_Question):
    """Ask a question of a conversation, which may lean on what was said before. The events are
    those of `/v1/ask`; `done` names the `session` to go on with."""

    session: Annotated[Text, Field(description="the conversation to go on with")] = ""

    def request(self) -> ChatRequest:
        """Return the request of the application."""
        return self.as_request(ChatRequest)


@dataclass
class Index(_Request):
    """Bring the index up to date with the notes."""

    prune: Annotated[bool, Field(description="forget notes of empty or missing folders")] = False

    def request(self) -> SyncRequest:
        """Return the request of the application."""
        return SyncRequest(prune=self.prune)


def from_query(kind: type[T], params: QueryParams) -> T:
    """Return the request that the query of an address is: `tag=a&tag=b` are two of a list.

    :raises UsageError: where it is none.
    """
    lists = {field.name for field in fields(kind) if "Names" in str(field.type)}  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for name in params:
        values = params.getlist(name)
        if name not in lists and len(values) > 1:
            raise UsageError(f"{name} is given more than once")
        given[name] = values if name in lists else values[0]
    return _checked(kind, given)


def from_body(kind: type[T], body: bytes) -> T:
    """Return the request that a body is.

    :raises UsageError: where it is none.
    """
    try:
        given = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise UsageError("the body is not JSON", str(error)[:200]) from error
    if not isinstance(given, dict):
        raise UsageError("the body must be a JSON object")
    return _checked(kind, given)


def _checked(kind: type[T], given: dict[str, Any]) -> T:
    checker: TypeAdapter[T] = adapter(cast("Any", kind))
    try:
        return checker.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"]))[:100]
        names = ", ".join(checker.json_schema()["properties"]) or "none"
        raise UsageError(f"{name}: {first['msg']}", hint=f"The arguments are: {names}.") from error


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Return what checks requests of a kind."""
    return TypeAdapter(kind)
