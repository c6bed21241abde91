"""The models of a plan take what people and models write, and hold nothing that cannot be."""

from __future__ import annotations

from datetime import date

import pytest
from pydantic import ValidationError

from rag.config import WINDOWS
from rag.query.planner.guardrails import DefaultTimeWindow
from rag.query.planner.plan import (
    FullTransformationResult,
    MetadataExtraction,
    QueryIntent,
    Route,
    TimeWindow,
    WindowName,
)


def test_the_settings_know_every_named_window():
    assert {*WINDOWS, "DATES"} == {*WindowName.__members__}


@pytest.mark.parametrize(
    ("said", "route"),
    [
        ("metadata_only", Route.METADATA_ONLY),
        ("sql_only", Route.METADATA_ONLY),
        ("Vector-Only", Route.VECTOR_ONLY),
        ("hybrid_both", Route.HYBRID_BOTH),
        ("graph_only", Route.HYBRID_BOTH),
        (None, Route.HYBRID_BOTH),
    ],
)
def test_a_route_may_be_written_in_several_ways_and_in_doubt_it_is_hybrid(said, route):
    assert QueryIntent(primary_route=said).primary_route is route


@pytest.mark.parametrize("name", ["LAST_MONTH", "last month", " Last_Month "])
def test_a_window_may_be_given_by_name_and_the_guardrail_finds_its_days(name):
    read = MetadataExtraction(time_window=name)
    assert read.time_window.name is WindowName.LAST_MONTH
    plan = FullTransformationResult(query="x", metadata=read)
    window = DefaultTimeWindow("ALL_TIME", date(2026, 11, 21))(plan).metadata.time_window
    assert (window.first, window.last) == (date(2026, 10, 1), date(2026, 10, 31))


@pytest.mark.parametrize("nothing", [None, "", "whenever", "DATES"])
def test_a_window_that_is_none_is_all_time(nothing):
    assert MetadataExtraction(time_window=nothing).time_window == TimeWindow()


def test_a_window_does_not_end_before_it_begins():
    with pytest.raises(ValidationError, match="before it begins"):
        TimeWindow(name=WindowName.DATES, first=date(2026, 2, 1), last=date(2026, 1, 1))


def test_a_window_of_dates_has_one():
    with pytest.raises(ValidationError, match="needs a date"):
        TimeWindow(name=WindowName.DATES)
