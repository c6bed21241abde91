"""How results look on a terminal, and off it, and how their query was read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.style import Style
from rich.table import Table
from rich.text import Text

from rag.cli.render.console import clean, print_line, say
from rag.cli.render.terminal import make_console, print_styled
from rag.search.matching_line import excerpt
from rag.search.results import SearchedVariant, SearchResult, TermScore
from rag.text.matches import match_spans
from rag.text.messages import visible

if TYPE_CHECKING:
    from rag.app.index_state import IndexState
    from rag.app.search import SearchReport
    from rag.search.planned_query import Intent

_LINES = 2  # of a snippet
# Terms of other fields look as they do in the text: these are named.
_NAMED_FIELDS = ("exact", "properties", "addresses")
_GONE = "  (gone; run rag index)"
_MATCH = "bold yellow"


def print_results(report: SearchReport, full: bool = False) -> None:
    """Print each result with its place, headings and a snippet with the matches marked, or with
    the full chunk."""
    console = make_console()
    for result in report.results:
        head = Text.assemble((f"{result.rank:>2}  ", "dim"), (visible(result.title), "bold"))
        if result.score:  # notes that were only filtered have none
            head.append(f"  {result.score:.2f}", style="dim")
        print_styled(console, head)
        where = place(result, report.index)
        for part in result.heading:
            if part != result.title:
                where.append(visible(f" › {part}"), style="dim")
        where.append(_GONE if result.gone else "", style="yellow")
        print_styled(console, where, indent=4)
        for body in _body(result, report.searched, full, console.width):
            print_styled(console, body, indent=4)
        for line in _notes(result):
            print_styled(console, visible(line), "dim", indent=4)


def print_table(report: SearchReport) -> None:
    """Print the results as a table."""
    table = Table("#", "score", "title", "where", box=None, pad_edge=False)
    for result in report.results:
        score = f"{result.score:.2f}" if result.score else ""  # a list of notes has none
        where = place(result, report.index).append(_GONE if result.gone else "", "yellow")
        table.add_row(str(result.rank), score, visible(result.title), where)
    for column in table.columns:
        column.overflow = "fold"
    make_console().print(table)


def place(result: SearchResult, state: IndexState, line: int = 0) -> Text:
    """Return `vault/path:line`, a link to that line, or the best one, where the terminal knows
    links."""
    line = line or result.line
    return linked(result.place(line), state.link(result, line))


def linked(text: str, address: str) -> Text:
    """Return a text that is a link where the terminal knows links."""
    return Text(visible(text), style=Style.parse("cyan") + Style(link=address))


def marked(text: str, spans: list[tuple[int, int]], style: str = _MATCH) -> Text:
    """Return a text with some of it in a style."""
    styled = Text(text)
    for start, end in spans:
        styled.stylize(style, start, end)
    return styled


def _body(result: SearchResult, query: str, full: bool, columns: int) -> Iterator[Text]:
    if around := result.context:
        digits = len(str(around.line_start + len(around.lines)))
        for number, line in enumerate(around.lines, around.line_start):
            yield Text().append(f"{number:>{digits}}  ", "dim").append_text(_line(line, query))
    elif full:
        yield from (_line(line, query) for line in clean(result.content).split("\n"))
    else:
        width = (columns - 4) * _LINES - 12  # words wrap before the edge
        # A Japanese character fills two columns.
        head = result.content[:400]
        is_wide = sum(char > "\u2e80" for char in head) * 2 > len(head)
        text, spans = excerpt(result, query, width // 2 if is_wide else width)
        if text:
            yield marked(text, spans)


def _line(line: str, query: str) -> Text:
    shown = clean(line)
    return marked(shown, match_spans(shown, query))


def _notes(result: SearchResult) -> Iterator[str]:
    if result.duplicates:
        first, more = result.duplicates[:2], len(result.duplicates) - 2
        yield f"= says the same as {', '.join(first)}{f' and {more} more' if more > 0 else ''}"
    why = result.explanation
    if why is None:
        return
    if result.found_by:
        best = " (the best of the original)" if why.kept else ""
        yield f"found by {', '.join(result.found_by)}{best}"
    parts = [f"{why.bonus:.2f} (called so)"] if why.bonus else []
    parts += [
        f"{chunk.weight:g} × {chunk.score:.2f} (line {chunk.line_start})" for chunk in why.chunks
    ]
    if not parts:
        return
    if reading := why.fields.get("reading"):
        parts.append(f"{reading:.2f} (reading)")
    yield f"{why.total:.2f} = {' + '.join(parts)}"
    yield "of it " + ", ".join(f"{name} {score:.2f}" for name, score in why.fields.items())
    for chunk in why.chunks:
        terms = [_term(term) for term in chunk.terms]
        if chunk.meaning:
            near = f"cosine {chunk.cosine:.2f}" if chunk.cosine else "no embedding: the average"
            terms.append(f"meaning={chunk.meaning:.2f} ({near})")
        terms += [f"{label}={gain:.2f}" for label, gain in chunk.variants.items()]
        yield f"line {chunk.line_start}: {' '.join(terms)}"


def _term(term: TermScore) -> str:
    """Say what a term adds: of a word, what its form in the text is; of others, the field."""
    if term.field in _NAMED_FIELDS:
        return f"{term.field}:{term.term}={term.score:.2f}"
    written = f"({','.join(term.forms)})" if term.forms else ""
    return f"{term.term}{written}={term.score:.2f}"


_ROUTES = {
    "hybrid_both": "by words, and by meaning where there are embeddings",
    "vector_only": "by meaning alone",
    "metadata_only": "none: the notes that fit are listed, newest first",
}


def print_interpretation(intent: Intent, state: IndexState, wanted: bool) -> None:
    """Say what was understood of a query, where that changes something or was asked for, and what
    of it the index does not have."""
    from rag.app.results import interpretation_line, missing_names

    if wanted and not (intent.narrows or intent.plan.metadata.filters_anything):
        say("no filters were recognised in the query")
    elif intent.narrows or wanted:
        say(f"{interpretation_line(intent)} (--no-plan searches the words as typed)")
    for text in missing_names(intent, state):
        say(text)
    for text in intent.plan.fallbacks:
        if text.startswith("flags: "):
            say(text.removeprefix("flags: "))
    if intent.plan.dropped:
        say(f"too many tags; left out: {', '.join(f'#{tag}' for tag in intent.plan.dropped)}")


def print_plan(intent: Intent, indent: str = "") -> None:
    """Print what there is to tell of a plan, a line each, the names in a column of their own."""
    for name, text in _plan_rows(intent):
        print_line(f"{indent}{name:9}  {' '.join(text.split())}")


def _plan_rows(intent: Intent) -> Iterator[tuple[str, str]]:
    """Yield what there is to tell of a plan, by name; JSON has the planner's own terms, and all."""
    from rag.app.results import time_range_text

    plan, read = intent.plan, intent.plan.metadata
    chooser = "" if plan.intent.by == "rules" else f", chosen by {plan.intent.by}"
    yield "search", f"{_ROUTES[plan.intent.primary_route.value]}{chooser}"
    any_of = " (any of these)" if read.tag_match == "any" and len(read.tags) > 1 else ""
    window = read.time_window
    models = [f"{name} ({stage})" for stage, name in plan.models.items()]
    named = {
        "vault": read.vaults,
        "tag": [*(f"#{tag}{any_of}" for tag in read.tags), *(f"#{tag}" for tag in read.all_tags)],
        "without": [f"#{tag}" for tag in read.excluded_tags],
        "title": read.titles,
        "property": [f"{name}: {value}" for name, value in read.values.items()],
        "path": intent.flags.paths or [],
        "time": [] if window.is_open else [f"{window.field} {time_range_text(window)}"],
        "words": [] if intent.lists else [intent.text],
        "found": [f"{name.kind} {name.name} ({name.words})" for name in plan.in_scope],
        "not found": [f"{name.kind} {name.words}" for name in plan.out_of_scope],
        "left out": [f"#{tag}, of too many tags" for tag in plan.dropped],
        "near tags": [", ".join(f"#{tag}" for tag in plan.expansions)] * bool(plan.expansions),
        "also": plan.units,
        "example": [f"{plan.hyde.hyde_paragraph} ({plan.hyde.by})"] if plan.hyde.by else [],
        "model": models or ["none: read by rules"],
        "note": [text for text in plan.fallbacks if not text.endswith("there is no model")],
        "took": [f"{intent.milliseconds:,.1f} ms"],
        "record": [intent.audit] if intent.audit else [],
    }
    for name, texts in named.items():
        yield from ((name, text) for text in texts)


def searched_lines(route: str, variants: list[SearchedVariant]) -> Iterator[str]:
    """Yield a line for the route that a query took, and one for each of its variants."""
    if route:
        yield f"route {route}"
    for variant in variants:
        sides = "" if len(variant.sides) == 2 else f", by {variant.sides[0]} only"
        made = " [made without a model]" if variant.fallback else ""
        yield f"{variant.label} ({variant.weight:.2f}{sides}): {variant.text}{made}"
