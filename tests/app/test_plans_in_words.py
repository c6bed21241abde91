"""The line that says what was understood."""

from datetime import date

from rag.app.results import interpretation_line
from rag.query.planner.plan import FullTransformationResult, MetadataExtraction, TimeWindow
from rag.search.planned_query import Intent
from rag.search.results import QueryFilters
from tables import rows

TODAY = date(2026, 11, 20)


OCTOBER = TimeWindow(first=date(2026, 10, 1), last=date(2026, 10, 31))


@rows(
    "query, text, read, line",
    (
        "q",
        "rollbacks",
        {"vaults": ["work"], "tags": ["kubernetes"], "time_window": OCTOBER},
        "work vault · #kubernetes · 2026-10-01 – 2026-10-31 · rollbacks",
    ),
    (
        "先月の会議",
        "会議",
        {"vaults": ["work"], "tags": ["kubernetes"], "time_window": OCTOBER},
        "work vault · #kubernetes · 2026-10-01 – 2026-10-31 · 会議",
    ),
    ("q", "", {"vaults": ["a", "b"], "tags": ["x", "y"]}, "a, b vaults · #x · #y · newest first"),
    ("q", "t", {"tags": ["x", "y"], "tag_match": "any"}, "#x or #y · t"),
    ("q", "t", {"excluded_tags": ["x"], "titles": ["A", "B"]}, "not #x · “A” or “B” · t"),
    ("q", "t", {"values": {"status": "open"}}, "status: open · t"),
    (
        "q",
        "t",
        {"time_window": OCTOBER.model_copy(update={"field": "modified"})},
        "modified 2026-10-01 – 2026-10-31 · t",
    ),
    ("nothing in it", "t", {}, "nothing in it"),
)
def test_the_line_says_all_that_filters_and_what_is_left(query, text, read, line):
    metadata = MetadataExtraction(**read)
    plan = FullTransformationResult(query=query, text=text, metadata=metadata)
    filters = QueryFilters()
    assert interpretation_line(Intent(plan, filters, filters, today=TODAY)) == line
