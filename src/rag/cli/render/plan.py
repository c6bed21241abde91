"""Telling how a query was planned: above its results, in JSON, and in full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rag.cli.render.console import make_console, print_between_words, say, visible

if TYPE_CHECKING:
    from rag.app.index_state import IndexState
    from rag.search.planned_query import Intent

_WAY_BACK = "--no-plan"
_NAME = 9  # columns
TEXT_COLUMN = _NAME + 2  # of a row, where its text begins
_NO_MODEL = "there is no model"
_ROUTES = {
    "hybrid_both": "by words, and by meaning where there are embeddings",
    "vector_only": "by meaning alone",
    "metadata_only": "none: the notes that fit are listed, newest first",
}


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
            print_between_words(console, visible(line), "dim")
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
    """Yield what there is to tell of a plan, by name; JSON has the planner's own terms."""
    from rag.app.interpretation_text import time_range_text

    plan, read = intent.plan, intent.plan.metadata
    route = plan.intent
    chooser = "" if route.by == "rules" else f", chosen by {route.by}"
    yield "search", f"{_ROUTES[route.primary_route.value]}{chooser}"
    yield from (("vault", name) for name in read.vaults)
    any_of = " (any of these)" if read.tag_match == "any" and len(read.tags) > 1 else ""
    yield from (("tag", f"#{tag}{any_of}") for tag in read.tags)
    yield from (("tag", f"#{tag}") for tag in read.all_tags)
    yield from (("without", f"#{tag}") for tag in read.excluded_tags)
    yield from (("title", title) for title in read.titles)
    yield from (("property", f"{name}: {value}") for name, value in read.values.items())
    yield from (("path", path) for path in intent.flags.paths or [])
    window = read.time_window
    if not window.is_open:
        days = f"{window.first or '…'} to {window.last or '…'}"
        words = time_range_text(window, intent.today)
        yield "time", f"{words}: {window.field} {days}"
    if not intent.lists:
        yield "words", intent.text
    yield from (("found", f"{n.kind} {n.name} ({n.words})") for n in plan.in_scope)
    yield from (("not found", f"{n.kind} {n.words}") for n in plan.out_of_scope)
    yield from (("left out", f"#{tag}, of too many tags") for tag in plan.dropped)
    if plan.expansions:
        yield "near tags", ", ".join(f"#{tag}" for tag in plan.expansions)
    yield from (("also", unit) for unit in plan.units)
    if plan.hyde.by:
        yield "example", f"{plan.hyde.hyde_paragraph} ({plan.hyde.by})"
    if not intent.lists and plan.hyde.rerank_query not in ("", intent.text):
        wanted = plan.hyde.rerank_query
        yield "order", f"where a model orders the results, first what is nearest to “{wanted}”"
    if read.logical_reasoning:
        yield "because", read.logical_reasoning
    yield from _of_models(intent)
    yield "took", f"{intent.milliseconds:,.1f} ms"
    if intent.audit:
        yield "record", intent.audit


def _of_models(intent: Intent) -> Iterator[tuple[str, str]]:
    """Yield which models were asked, and what was done without them."""
    plan = intent.plan
    if plan.models:
        yield "sure", f"{plan.confidence:.0%}"
    yield from (("model", f"{name} ({stage})") for stage, name in plan.models.items())
    without = [text for text in plan.fallbacks if text.endswith(_NO_MODEL)]
    if without and not plan.models:
        yield "model", "none: read by rules"
    yield from (("note", text) for text in plan.fallbacks if text not in without)


def plan_lines(intent: Intent) -> Iterator[str]:
    """Yield the rows of a plan as lines, the names in a column of their own."""
    for name, text in plan_rows(intent):
        yield f"{name:{_NAME}}  {' '.join(text.split())}"
