"""What a query means, as deterministic controls of retrieval: route, typed metadata, time, texts.

These are the data models; `rag.query.planner.rules` reads a query without a chat model,
`rag.query.planner.llm_planner` with one, `rag.query.metadata` makes the whole plan and
lets nothing past its guardrails.
"""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rag.query.values import days_ago, shifted

Kind = Literal["vault", "tag", "title", "field"]


class Route(StrEnum):
    """Where a query is answered: by filters alone, by semantic search, or by all of them."""

    METADATA_ONLY = "metadata_only"
    VECTOR_ONLY = "vector_only"
    HYBRID_BOTH = "hybrid_both"

    @classmethod
    def named(cls, label: object) -> Route | None:
        """Return the route that a label names, in any spelling or as `sql_only`."""
        name = str(label).strip().lower().replace("-", "_").replace(" ", "_")
        name = "metadata_only" if name == "sql_only" else name
        return next((route for route in cls if route == name), None)

    @classmethod
    def _missing_(cls, value: object) -> Route:
        return cls.named(value) or cls.HYBRID_BOTH  # what is unknown is in doubt


class QueryIntent(BaseModel):
    """The route of a query, and who chose it: `rules`, `model`, a classifier's name or `default`.

    Every route that is none becomes `hybrid_both`.
    """

    primary_route: Route = Route.HYBRID_BOTH
    by: str = "default"
    reason: str = ""


class WindowName(StrEnum):
    """A span of time by name; `DATES` is any other."""

    ALL_TIME = "ALL_TIME"
    TODAY = "TODAY"
    THIS_WEEK = "THIS_WEEK"
    LAST_WEEK = "LAST_WEEK"
    THIS_MONTH = "THIS_MONTH"
    LAST_MONTH = "LAST_MONTH"
    PAST_SIX_MONTHS = "PAST_SIX_MONTHS"
    THIS_YEAR = "THIS_YEAR"
    LAST_YEAR = "LAST_YEAR"
    DATES = "DATES"


class TimeWindow(BaseModel):
    """From the first to the last day, both included; `None` is an open end.

    :param field: which date of a note is meant.
    :param text: the words of the query that say so.
    """

    model_config = ConfigDict(frozen=True)

    name: WindowName = WindowName.ALL_TIME
    first: date | None = None
    last: date | None = None
    field: Literal["created", "modified"] = "created"
    text: str = ""

    @model_validator(mode="after")
    def _in_order(self) -> TimeWindow:
        if self.first and self.last and self.last < self.first:
            raise ValueError(f"the window ends on {self.last}, before it begins on {self.first}")
        if self.name == WindowName.DATES and not (self.first or self.last):
            raise ValueError("a window of dates needs a date")
        return self

    @property
    def is_open(self) -> bool:
        """Whether it leaves no note out."""
        return self.first is None and self.last is None


class Named(BaseModel):
    """Something that a query names: `words` as written, `name` as the index has it, if it does."""

    model_config = ConfigDict(frozen=True)

    kind: Kind
    words: str
    name: str = ""


class MetadataExtraction(BaseModel):
    """What a query filters by, and what it is about.

    :param vaults: any of which may hold a note.
    :param tags: all of which a note must have, or any of them as `tag_match` says.
    :param all_tags: all of which it must have besides, where `tag_match` is `any`.
    :param excluded_tags: none of which it may have.
    :param titles: any of which it may be called.
    :param fields: front matter fields that the query's words mean.
    :param values: what such a field must hold, by field.
    :param event_keyword: the query's subject in few words; `logical_reasoning`: why all this.
    """

    vaults: list[str] = Field(default_factory=list)
    tags: list[str] = Field(default_factory=list)
    tag_match: Literal["all", "any"] = "all"
    all_tags: list[str] = Field(default_factory=list)
    excluded_tags: list[str] = Field(default_factory=list)
    titles: list[str] = Field(default_factory=list)
    time_window: TimeWindow = TimeWindow()
    fields: list[str] = Field(default_factory=list)
    values: dict[str, str] = Field(default_factory=dict)
    event_keyword: str = ""
    logical_reasoning: str = ""

    @field_validator("time_window", mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        """Take the name of a window too; its days are for `in_time_window` to find. What is
        none is `ALL_TIME`."""
        if value is not None and not isinstance(value, str):
            return value
        name = WindowName.__members__.get(str(value).strip().upper(), WindowName.ALL_TIME)
        return TimeWindow() if name is WindowName.DATES else TimeWindow(name=name)

    @property
    def filters_anything(self) -> bool:
        """Whether it leaves some notes out."""
        named = self.vaults or self.tags or self.all_tags or self.excluded_tags or self.titles
        return bool(named or self.values) or not self.time_window.is_open


class HyDEGeneration(BaseModel):
    """A hypothetical note to search by its meaning, and the query that results are ordered by.

    :param by: the model that wrote the paragraph; empty: it is made of the query.
    """

    hyde_paragraph: str = ""
    rerank_query: str = ""
    by: str = ""


class Extraction(BaseModel):
    """What the rules read in a query.

    :param text: the query without the words that filter, which is what notes are ranked by.
    :param unwanted: words of the topic that are not wanted, as the query syntax has them: `-rust`.
    :param open: what the query asks to filter by and the index does not have; the words of such
        a slot stay in `text`, but for those that are not wanted.
    :param time_slot: words that speak of a time which the rules cannot tell.
    """

    metadata: MetadataExtraction = Field(default_factory=MetadataExtraction)
    text: str = ""
    unwanted: list[str] = Field(default_factory=list)
    found: list[Named] = Field(default_factory=list)
    open: list[Named] = Field(default_factory=list)
    time_slot: str = ""


class FullTransformationResult(BaseModel):
    """The plan of a query: every control of its retrieval, and how it came about.

    :param text: what notes are ranked by; empty lists those that the filters select.
    :param mapped_physical_columns: front matter fields of the index that the query's words mean.
    :param expansions: tags near those of the query; they never filter.
    :param units: further texts to search for, if a model gave some.
    :param in_scope: what the query named and the index has; `out_of_scope`: and has not.
    :param dropped: tags that were too many.
    :param confidence: from 0 to 1, the model's where one planned, else that of the rules.
    :param fallbacks: what had to be done without, in short words: `metadata: no model answered`.
    :param models: the model by stage (`route`, `metadata`, `hyde`).
    """

    query: str
    text: str = ""
    intent: QueryIntent = Field(default_factory=QueryIntent)
    metadata: MetadataExtraction = Field(default_factory=MetadataExtraction)
    hyde: HyDEGeneration = Field(default_factory=HyDEGeneration)
    mapped_physical_columns: list[str] = Field(default_factory=list)
    expansions: list[str] = Field(default_factory=list)
    units: list[str] = Field(default_factory=list)
    in_scope: list[Named] = Field(default_factory=list)
    out_of_scope: list[Named] = Field(default_factory=list)
    dropped: list[str] = Field(default_factory=list)
    confidence: float = Field(default=1.0, ge=0, le=1)
    fallbacks: list[str] = Field(default_factory=list)
    models: dict[str, str] = Field(default_factory=dict)


def window_of(given: Any, today: date) -> TimeWindow | None:
    """Return the window that a model or a plan gives, `None` for what is none or leaves no note
    out: empty, of nonsense, or ending before it begins. Its name is that of its days."""
    fields = given.model_dump() if isinstance(given, TimeWindow) else given
    if not isinstance(fields, dict):
        return None
    try:
        first, last = _day(fields.get("first")), _day(fields.get("last"))
        if first or last:
            window = {"name": window_name(first, last, today), "first": first, "last": last}
        else:
            window = named_window(str(fields.get("name", "")), today).model_dump()
        more = {key: fields[key] for key in ("field", "text") if fields.get(key)}
        made = TimeWindow.model_validate(window | more)
    except ValueError:
        return None
    return None if made.is_open else made


def _day(given: Any) -> date | None:
    if isinstance(given, date) or not given:
        return given or None
    return date.fromisoformat(str(given).strip()[:10])


def named_window(name: str, today: date) -> TimeWindow:
    """Return the days of a named window; `ALL_TIME`, `DATES` and what is no name have none."""
    wanted = "_".join(name.strip().upper().replace("-", " ").replace("_", " ").split())
    window = WindowName.__members__.get(wanted)
    if window in (None, WindowName.ALL_TIME, WindowName.DATES):
        return TimeWindow()
    try:
        if window is WindowName.PAST_SIX_MONTHS:
            first, last = days_ago(today, 6, "month").first, today
        elif window is WindowName.TODAY:
            first, last = today, today
        else:
            which, _, unit = window.lower().partition("_")
            first, last = shifted(today, -1 if which == "last" else 0, unit)
    except (ValueError, OverflowError):  # the calendar begins in year 1 and ends in 9999
        return TimeWindow()
    return TimeWindow(name=window, first=first, last=last)


def window_name(first: date | None, last: date | None, today: date) -> WindowName:
    """Return what these days are called: `DATES` where they have no name of their own."""
    windows = {name: named_window(name, today) for name in WindowName}
    days = (first, last)
    names = (name for name, w in windows.items() if (w.first, w.last) == days)
    return next(names, WindowName.DATES)
