"""How results look on a terminal, and off it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from rag.cli.render.console import clean, make_console, print_between_words, print_whole, visible
from rag.search.matching_line import excerpt
from rag.search.results import SearchedVariant, SearchResponse, SearchResult, TermScore
from rag.text.snippets import match_spans

if TYPE_CHECKING:
    from rag.app.index_state import IndexState
    from rag.app.search import SearchReport

_LINES = 2  # of a snippet
# Terms of other fields look as they do in the text: these are named.
_NAMED_FIELDS = ("exact", "properties", "addresses")
_GONE = "  (gone; run rag index)"


def place(result: SearchResult, facts: IndexState, line: int = 0, is_linked: bool = True) -> Text:
    """Return `vault/path:line`, a link to that line where the terminal knows links.

    :param line: another line than the one that matches best.
    :param is_linked: whether it is for a terminal at all.
    """
    line = line or result.line
    text = Text(visible(f"{result.vault}/{result.file_path}:{line}"), style="cyan")
    if is_linked:
        text.stylize(Style(link=facts.link(result, line)))
    return text


def print_results(report: SearchReport, full: bool = False) -> None:
    """Print each result with its place, headings and a snippet with the matches marked.

    :param full: print the whole chunk instead.
    """
    console, facts = make_console(), report.index
    for rank, result in enumerate(report.response.results, 1):
        head = Text().append(f"{rank:>2}  ", style="dim")
        head.append(visible(result.title), style="bold")
        if result.score:  # notes that were only filtered have none
            head.append(f"  {result.score:.2f}", style="dim")
        print_between_words(console, head)
        where = place(result, facts, is_linked=console.is_terminal)
        heading = [part for part in result.heading if part != result.title]
        if heading:
            where.append(visible(" › " + " › ".join(heading)), style="dim")
        if result.gone:
            where.append(_GONE, style="yellow")
        print_indented(console, where, 4)
        for body in _body(report, rank, full, console.width):
            print_indented(console, body, 4)
        for line in _notes(result):
            print_indented(console, Text(visible(line), style="dim"), 4)


def _body(report: SearchReport, rank: int, full: bool, columns: int) -> Iterator[Text]:
    """Yield what is shown of the text of a result, line by line."""
    result, query = report.response.results[rank - 1], report.response.searched
    if report.excerpts:
        around = report.excerpts[rank - 1]
        wide = len(str(around.first + len(around.lines)))
        for number, line in enumerate(around.lines, around.first):
            yield (
                Text().append(f"{number:>{wide}}  ", style="dim").append_text(_marked(line, query))
            )
        return
    if full:
        yield from (_marked(line, query) for line in clean(result.content).split("\n"))
        return
    width = (columns - 4) * _LINES - 12  # words wrap before the edge
    # A Japanese character fills two columns.
    wide = sum(char > "\u2e80" for char in result.content[:400]) * 2 > len(result.content[:400])
    body = snippet_text(result, query, width // 2 if wide else width)
    if body.plain:
        yield body


def _marked(line: str, query: str) -> Text:
    """Return a line of a note with its matches marked."""
    shown = clean(line)
    text = Text(shown)
    for start, end in match_spans(shown, query):
        text.stylize("bold yellow", start, end)
    return text


def print_plan(response: SearchResponse) -> None:
    """Print which route a query took, what was searched for besides it, and what that took."""
    console = make_console()
    for line in plan_lines(response.route, response.variants):
        print_between_words(console, Text(visible(line), style="dim"))
    if took := response.timings.get("transforms"):
        console.print(Text(f"transforms took {took:,.0f} ms", style="dim"))


def plan_lines(route: str, variants: list[SearchedVariant]) -> Iterator[str]:
    """Yield a line for the route that a query took, and one for each of its variants."""
    if route:
        yield f"route {route}"
    for variant in variants:
        sides = "" if len(variant.sides) == 2 else f", by {variant.sides[0]} only"
        made = " [made without a model]" if variant.fallback else ""
        yield f"{variant.label} ({variant.weight:.2f}{sides}): {variant.text}{made}"


def _notes(result: SearchResult) -> Iterator[str]:
    """Yield what else there is to say of a result: what it stands for, and why it stands there."""
    if result.duplicates:
        first, more = result.duplicates[:2], len(result.duplicates) - 2
        also = ", ".join(first) + (f" and {more} more" if more > 0 else "")
        yield f"= says the same as {also}"
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


def print_indented(console: Console, text: Text, indent: int) -> None:
    """Print the lines of a text some columns in: wrapped on a terminal, as they are off it."""
    if console.is_terminal:
        from rag.cli.render.wrapping import wrapped_text

        lines = wrapped_text(text, console.width - indent)
        console.print(Padding(lines, (0, 0, 0, indent)))
    else:
        for line in text.split("\n", allow_blank=True):
            print_whole(console, Text(" " * indent).append_text(line))


def snippet_text(result: SearchResult, query: str, width: int) -> Text:
    """Return the stretch of a result that speaks most of the query, matches in bold."""
    shown, spans = excerpt(result, query, width)
    text = Text(shown)
    for start, end in spans:
        text.stylize("bold yellow", start, end)
    return text


def print_table(results: list[SearchResult], facts: IndexState) -> None:
    """Print the results as a table."""
    console = make_console()
    table = Table(box=None, pad_edge=False)
    for name, style in (("#", "dim"), ("score", "dim"), ("title", "bold"), ("where", "")):
        table.add_column(name, style=style, no_wrap=name in ("#", "score"), overflow="fold")
    for rank, result in enumerate(results, 1):
        table.add_row(
            str(rank),
            f"{result.score:.2f}" if result.score else "",  # a list of notes has none
            visible(result.title),
            place(result, facts).append(_GONE if result.gone else "", style="yellow"),
        )
    console.print(table)
