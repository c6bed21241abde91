"""How related notes look on a terminal, and off it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from rag.app.index_state import link_to
from rag.cli.render.console import print_line, visible
from rag.cli.render.terminal import make_console, print_between_words, print_indented
from rag.text.messages import brief

if TYPE_CHECKING:
    from rag.app.notes.links import LinksReport
    from rag.app.related import Reasons, RelatedNote, RelatedReport
    from rag.index.links.tables import Link

_LONGEST = 160  # characters of a passage
_SOURCES = 3  # notes that link to both, that are named


def print_related(report: RelatedReport, explain: bool = False) -> None:
    """Print each related note with its link, its best passages and the reasons.

    :param explain: print what each passage scores, and all reasons.
    """
    console = make_console()
    for rank, found in enumerate(report.results, 1):
        head = Text().append(f"{rank:>2}  ", style="dim")
        head.append(visible(found.title), style="bold")
        head.append(f"  {found.score:.2f}", style="dim")
        head.append(f"  {visible(found.link)}")
        print_between_words(console, head)
        for passage in found.passages:
            where = Text(visible(f"{found.vault}/{found.path}:{passage.line}"), style="cyan")
            where.stylize(Style(link=link_to(report.index.uri, Path(found.file), passage.line)))
            if explain:
                where.append(f"  {passage.score:.2f}", style="dim")
            print_indented(console, where, 4)
            print_indented(console, Text(visible(brief(passage.text, _LONGEST))), 4)
        for reason in _reasons(found, explain):
            print_indented(console, Text(visible(reason), style="dim"), 4)


def _reasons(found: RelatedNote, explain: bool) -> Iterator[str]:
    why: Reasons = found.reasons
    parts = [f"words {', '.join(why.words)}"] if why.words else []
    if explain and why.likeness:
        parts.append(f"meaning {why.likeness:.2f}")
    parts += [f"tags {', '.join(f'#{tag}' for tag in why.tags)}"] if why.tags else []
    parts += [f"names {', '.join(why.names)}"] if why.names else []
    if why.linked_by:
        named = why.linked_by if explain else why.linked_by[:_SOURCES]
        more = len(why.linked_by) - len(named)
        also = f" and {more} more" if more else ""
        parts.append(f"linked by {', '.join(named)}{also}")
    if found.linked:
        parts.append("already linked")
    if parts:
        yield "why: " + "; ".join(parts)


def print_links(report: LinksReport) -> None:
    """Print a line for each link that was walked, further in the further away it is."""
    for step in report.steps:
        print_line(f"{'  ' * (step.depth - 1)}{link_line(step.link)}")


def link_line(link: Link) -> str:
    """Return where a link stands, what it says, and where it leads."""
    where = f"{link.source.vault}/{link.source.path}:{link.line}: [[{link.target}]]"
    if not link.notes:
        return f"{where} leads nowhere"
    names = ", ".join(f"{note.vault}/{note.path}" for note in link.notes)
    return f"{where} → {names}" if link.is_clear else f"{where} may be any of {names}"
