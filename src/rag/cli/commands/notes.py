"""`rag get` and `rag related`: a note, and those near it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.options import Given, argument, flag, shared, value
from rag.cli.render.console import print_line, print_report, print_text, say, say_notice, show
from rag.cli.render.formats import chosen_output
from rag.exceptions import NotFoundError, UsageError
from rag.text.messages import brief, plural, visible

if TYPE_CHECKING:
    from rag.app.related import RelatedNote, RelatedReport
    from rag.index.catalog import Link


def get(
    notes: list[str] = argument(
        "NOTE",
        "Path, vault/path, title, alias, id or [[link]]; `#heading` picks a section,"
        " `:10-20` or `:10:5` lines; a pattern such as `daily/2026-11-*` several notes.",
        complete=opt.complete_notes,
    ),
    given: Given = shared("vaults json output_format paths config_file"),
    max_lines: int | None = value("--max-lines", "N", "At most N lines of each.", min=0),
    max_bytes: int | None = value("--max-bytes", "N", "At most N bytes, in whole lines.", min=0),
) -> None:
    """Print a note, or several, each under a line that names it.

    A path may begin at the vault or at the working folder. A name that no note has is told, and
    the others are printed; the exit code is then 1.

    \b
    rag get "On-call handover"
    rag get engineering/Glossary.md:10-20
    rag get "Glossary#Error budget"      print a section
    rag get '[[Glossary#Holds|holds]]'   as a link has it
    rag get 'daily/2026-11-*' Glossary --max-lines 40
    rag get 用語集 --paths               print where it is
    """
    from rag.app.notes import Limits, get_notes

    out, config = chosen_output(given), given.config
    if not all(note.strip() for note in notes):
        raise UsageError("no note named", hint='Name one: `rag get "title"`')
    limits = Limits(max_lines, max_bytes)
    report = get_notes(config, notes, given.vaults, Path.cwd(), limits)
    for unknown in report.unknown:
        say(f"rag: {unknown.message}")
        for suggestion in unknown.suggestions:
            say(f"  {suggestion}")
    if out.as_json:  # which has the file too, as with a search
        print_report(report if report.several else report.notes[0])
    elif out.names_files:
        out.print_files(note.file for note in report.notes)
    else:
        for number, entry in enumerate(report.notes):
            if number:
                print_text("")
            if report.several:
                print_line(f"==> {entry.vault}/{entry.path}{entry.part} <==")
            if entry.notice:
                say(f"rag: {entry.notice}")
            for line in entry.lines:
                print_text(line)
            if entry.more:
                print_line(f"… {plural(entry.more, 'more line')}")
    if report.unknown:
        raise typer.Exit(NotFoundError.exit_code)


_LONGEST = 160  # characters of a passage
_SOURCES = 3  # notes that link to both, that are named
_LIMIT = 10  # notes; of links all are given


def related(
    note: str = argument("NOTE", "Its name, as of `rag get`.", complete=opt.complete_notes),
    given: Given = shared(f"vaults tags {opt.OUTPUT}"),
    top_k: int | None = value("--top-k -k -n", "N", "How many (10; all links).", min=1, max=1000),
    include_linked: bool = flag("--include-linked", "Also what is linked with it."),
    all_vaults: bool = flag("--all-vaults", "Look in all vaults, not in its own alone."),
    min_score: float | None = value(
        "--min-score", "X", "Leave out what scores less.", min=0, max=1
    ),
    links: str = value("--links", "out|in|both", "Walk its links instead: out, in, both.", ""),
    depth: int | None = value("--depth", "N", "With --links: how far, 1 to 3.", min=1, max=3),
) -> None:
    """Find notes of its vault that are related to one.

    They are compared by meaning where there are embeddings, by rare words, and by what front
    matter names. Each comes with its two best passages, the reasons, and a link to paste; notes
    that are linked with it already are left out.

    \b
    rag related "Error budgets"
    rag related runbooks/Rollback.md --include-linked -k 5
    rag related 用語集 --vault エンジニア --json
    rag related Glossary --links in      what links to it, with the lines
    """
    from rag.app.related import related as find_related
    from rag.app.requests import RelatedRequest
    from rag.app.workspace import Workspace

    out, config = chosen_output(given), given.config
    if not note.strip():
        raise UsageError("no note named", hint='Name one: `rag related "title"`')
    wrong = {"--vault": given.vaults, "--tag": given.tags, "--include-linked": include_linked}
    wrong |= {"--all-vaults": all_vaults, "--min-score": min_score is not None}
    opt.exclude("--links", links, wrong | {"--paths": out.names_files})
    opt.exclude("--all-vaults", all_vaults, {"--vault": given.vaults})
    if links:
        from rag.app.notes import walk_links

        walked = walk_links(config, note, links, depth or 1, top_k, folder=Path.cwd())
        steps = (f"{'  ' * (step.depth - 1)}{link_line(step.link)}" for step in walked.links)
        show(walked, out.as_json, steps, f"{walked.note.title!r} has no such links")
        if (more := walked.total - len(walked.links)) and not out.as_json:
            say(f"{plural(more, 'more link')} left out by --top-k")
        return
    if depth:
        raise UsageError("--depth goes with --links", hint="`rag related --help` has examples.")
    request = opt.make_request(RelatedRequest, given, top_k=top_k or _LIMIT, folder=Path.cwd())
    with Workspace(config) as workspace:
        report = find_related(workspace, request)
    if not out.quiet:
        opt.warn_if_stale(report.index)
        for notice in report.notices:
            say_notice(notice)
    if out.as_json:
        print_report(report)
    elif out.names_files:
        out.print_files(note.file for note in report.results)
    else:
        _print_related(report)
    if not report.results:
        if not out.as_json:
            left_out = f"; {plural(report.left_out, 'linked note')} left out"
            about = f"{report.note.title!r}{left_out if report.left_out else ''}"
            say(f"no note is clearly related to {about} (--min-score 0 shows the nearest)")
        raise typer.Exit(1)


def _print_related(report: RelatedReport) -> None:
    from rich.text import Text

    from rag.app.index_state import link_to
    from rag.cli.render.results import linked
    from rag.cli.render.terminal import make_console, print_styled
    from rag.search.results import place_of

    console = make_console()
    for note in report.results:
        title, score = (visible(note.title), "bold"), (f"  {note.score:.2f}", "dim")
        head = Text.assemble((f"{note.rank:>2}  ", "dim"), title, score, f"  {visible(note.link)}")
        print_styled(console, head)
        for passage in note.passages:
            line, page = passage.line, passage.page
            link = link_to(report.index.uri, Path(note.file), line, page=page)
            where = linked(place_of(f"{note.vault}/{note.path}", line, page), link)
            print_styled(console, where, indent=4)
            print_styled(console, visible(brief(passage.text, _LONGEST)), indent=4)
        if reasons := "; ".join(_reasons(note)):
            print_styled(console, visible(f"why: {reasons}"), "dim", indent=4)


def _reasons(note: RelatedNote) -> Iterator[str]:
    why = note.reasons
    sources, more = why.linked_by[:_SOURCES], len(why.linked_by) - _SOURCES
    also = [f"{', '.join(sources)}{f' and {more} more' if more > 0 else ''}"] if sources else []
    named = {"words": why.words, "tags": [f"#{tag}" for tag in why.tags], "names": why.names}
    named["linked by"] = also
    yield from (f"{kind} {', '.join(names)}" for kind, names in named.items() if names)
    if note.linked:
        yield "already linked"


def link_line(link: Link) -> str:
    """Return where a link stands, what it says, and where it leads."""
    where = f"{link.source.vault}/{link.source.path}:{link.line}: [[{link.target}]]"
    if not link.notes:
        return f"{where} leads nowhere"
    names = ", ".join(f"{note.vault}/{note.path}" for note in link.notes)
    return f"{where} → {names}" if link.is_clear else f"{where} may be any of {names}"
