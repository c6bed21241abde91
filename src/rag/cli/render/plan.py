"""Telling how a query was planned: above its results, in JSON, and in full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rag.cli.render.console import make_console, say, visible

if TYPE_CHECKING:
    from rag.app.index_state import IndexState
    from rag.search.planned_query import Intent

_WAY_BACK = "--no-plan"


def print_interpretation(intent: Intent, state: IndexState, *, wanted: bool, data: bool) -> None:
    """Print what was understood, as a dim line above the results on a terminal and on stderr off
    it, and say what the index does not have.

    :param wanted: whether the user asked for a plan; without it nothing is said of one that
        changes nothing.
    :param data: whether stdout is for programs.
    """
    from rag.app.interpretation_text import interpretation_line, missing, words_for

    words = words_for(intent.plan.query)
    if wanted and not (intent.narrows or intent.plan.metadata.filters_anything):
        say(words["nothing"])
    elif intent.narrows or wanted:
        line = f"{interpretation_line(intent)} ({_WAY_BACK} {words['way_back']})"
        console = make_console()
        if console.is_terminal and not data:
            console.print(visible(line), style="dim")
        else:
            say(line)
    for text in missing(intent, state):
        say(text)
    for text in intent.plan.fallbacks:
        if text.startswith("flags: "):
            say(text.removeprefix("flags: "))
    if intent.plan.dropped:
        say(words["too_many"].format(", ".join(f"#{tag}" for tag in intent.plan.dropped)))


def plan_rows(intent: Intent) -> Iterator[tuple[str, str]]:
    """Yield what there is to tell of a plan, by name."""
    from rag.app.interpretation_text import time_range_text

    plan, read = intent.plan, intent.plan.metadata
    route = plan.intent
    why = ", ".join(filter(None, [f"by {route.by}", route.reason]))
    yield "route", f"{route.primary_route.value} ({why})"
    yield from (("vault", name) for name in read.vaults)
    any_of = " (any of these)" if read.tag_match == "any" and len(read.tags) > 1 else ""
    yield from (("tag", f"#{tag}{any_of}") for tag in read.tags)
    yield from (("tag", f"#{tag}") for tag in read.all_tags)
    yield from (("without", f"#{tag}") for tag in read.excluded_tags)
    yield from (("title", title) for title in read.titles)
    yield from (("value", f"{name}: {value}") for name, value in read.values.items())
    yield from (("path", path) for path in intent.flags.paths or [])
    window = read.time_window
    if not window.is_open:
        days = f"{window.first or '…'} to {window.last or '…'}"
        words = time_range_text(window, intent.today)
        yield "time", f"{words}: {window.field} {days} ({window.name.value})"
    yield "text", intent.text if not intent.lists else "(none: the notes are listed, newest first)"
    yield from (("in scope", f"{n.kind} {n.name} ({n.words})") for n in plan.in_scope)
    yield from (("not there", f"{n.kind} {n.words}") for n in plan.out_of_scope)
    yield from (("dropped", f"#{tag}") for tag in plan.dropped)
    if plan.expansions:
        yield "near tags", ", ".join(f"#{tag}" for tag in plan.expansions)
    if plan.mapped_physical_columns:
        yield "fields", ", ".join(plan.mapped_physical_columns)
    yield from (("also", unit) for unit in plan.units)
    yield "hyde", f"{plan.hyde.hyde_paragraph} ({plan.hyde.by or 'made without a model'})"
    yield "rerank by", plan.hyde.rerank_query
    if read.logical_reasoning:
        yield "because", read.logical_reasoning
    yield "confidence", f"{plan.confidence:.2f}"
    yield from (("fallback", text) for text in plan.fallbacks)
    yield from (("model", f"{name} ({stage})") for stage, name in plan.models.items())
    yield "took", f"{intent.milliseconds:,.1f} ms"
    if intent.audit:
        yield "audit", intent.audit


def plan_lines(intent: Intent) -> Iterator[str]:
    """Yield the rows of a plan as lines, the names in a column of their own."""
    rows = [*plan_rows(intent)]
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        yield f"{name:{width}}  {' '.join(text.split())}"
