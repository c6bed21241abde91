"""`rag get` and `rag related`: a note, and those near it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.formats import NOTE_FORMATS, NoteFormat, chosen_output
from rag.cli.framework.options import make_filters, warn_if_stale
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import (
    plural,
    print_file,
    print_line,
    print_report,
    print_text,
    say,
    say_notice,
    visible,
)
from rag.exceptions import NotFoundError, UsageError
from rag.text.messages import brief

if TYPE_CHECKING:
    from rag.app.notes import NoteReport
    from rag.app.notes.links import LinksReport
    from rag.app.related import Reasons, RelatedNote, RelatedReport
    from rag.index.links.tables import Link


def get(
    notes: Annotated[
        list[str],
        typer.Argument(
            metavar="NOTE",
            autocompletion=opt.complete_notes,
            help="Path, vault/path, title, alias, id or [[link]]; `#heading` picks a section,"
            " `:10-20` or `:10:5` lines; a pattern such as `daily/2026-11-*` several notes.",
        ),
    ],
    vaults: opt.Vaults = None,
    max_lines: Annotated[
        int | None,
        opt.value("--max-lines", "N", "At most N lines of each note.", min=0),
    ] = None,
    max_bytes: Annotated[
        int | None,
        opt.value("--max-bytes", "N", "At most N bytes of each note, in whole lines.", min=0),
    ] = None,
    json: opt.Json = False,
    output_format: NoteFormat = "text",
    paths: opt.Paths = False,
    config_file: opt.ConfigFile = None,
) -> None:
    """Print a note, or several, each under a line that names it.

    A path may begin at the vault or at the working folder. What a limit leaves out is counted in
    a last line. With --json several notes are one object with the list `notes`; so are those of a
    pattern, however many they are. A name that no note has is told, and the others are printed;
    the exit code is then 1.

    \b
    rag get "On-call handover"
    rag get engineering/Glossary.md:10-20
    rag get "Glossary#Error budget"      print a section
    rag get '[[Glossary#Holds|holds]]'   as a link has it
    rag get 'daily/2026-11-*' Glossary --max-lines 40
    rag get 用語集 --paths               print where it is
    """
    from rag.app.notes import Limits, get_notes

    out = chosen_output(output_format, json=json, paths=paths, among=NOTE_FORMATS)
    config = load_settings(config_file)
    if not all(note.strip() for note in notes):
        raise UsageError("no note named", hint='Name one: `rag get "title"`')
    report = get_notes(config, notes, vaults, Path.cwd(), Limits(max_lines, max_bytes))
    for unknown in report.unknown:
        say(f"rag: {unknown.message}")
        for suggestion in unknown.suggestions:
            say(f"  {suggestion}")
    if out.as_json:  # which has the file too, as with a search
        print_report(report if report.several else report.notes[0])
    elif out.names_files:
        for file in dict.fromkeys(one.file for one in report.notes):
            print_file(file, nul=out.format == "paths0")
    else:
        for number, one in enumerate(report.notes):
            if number:
                print_text("")
            _print_note(one, is_headed=report.several)
    if report.unknown:
        raise typer.Exit(NotFoundError.exit_code)


def _print_note(report: NoteReport, *, is_headed: bool) -> None:
    if is_headed:
        print_line(f"==> {report.vault}/{report.path}{report.part} <==")
    if report.notice:
        say(f"rag: {report.notice}")
    for line in report.lines:
        print_text(line)
    if report.more:
        print_line(f"… {plural(report.more, 'more line')}")


# -- related -------------------------------------------------------------------------------

_LONGEST = 160  # characters of a passage
_SOURCES = 3  # notes that link to both, that are named
_LIMIT = 10  # notes; of links all are given


def related(
    note: Annotated[
        str,
        typer.Argument(
            metavar="NOTE",
            autocompletion=opt.complete_notes,
            help="Path, vault/path, title, alias, id or [[link]].",
        ),
    ],
    vaults: opt.Vaults = None,
    tags: opt.Tags = None,
    top_k: Annotated[
        int | None,
        opt.value("--top-k -k -n", "N", "How many notes (10), or links (all).", min=1, max=1000),
    ] = None,
    include_linked: Annotated[
        bool,
        opt.flag("--include-linked", "Also notes that it links to, or that link to it."),
    ] = False,
    all_vaults: Annotated[
        bool, opt.flag("--all-vaults", "Look in all vaults, not in its own alone.")
    ] = False,
    min_score: Annotated[
        float | None,
        opt.value(
            "--min-score", "X", "Leave out what scores less (.5); 0 shows all.", min=0, max=1
        ),
    ] = None,
    links: Annotated[
        str,
        opt.value("--links", "out|in|both", "Walk its links instead: out, in, both."),
    ] = "",
    depth: Annotated[
        int | None,
        opt.value("--depth", "N", "With --links: how far, 1 to 3.", min=1, max=3),
    ] = None,
    explain: Annotated[
        bool, opt.flag("--explain", "Show what each passage scores, and all reasons.")
    ] = False,
    json: opt.Json = False,
    output_format: NoteFormat = "text",
    paths: opt.Paths = False,
    quiet: opt.Quiet = False,
    config_file: opt.ConfigFile = None,
) -> None:
    """Find notes of its vault that are related to one.

    Notes with embeddings are compared sentence by sentence, all by words that are frequent in the
    note and rare elsewhere, and by people, places and notes that front matter names; what repeats
    in many notes counts next to nothing. Notes that are linked with it already are left out. Each
    comes with its two best passages, the reasons, and a link to paste. The score is the
    probability that it is related; where none is, the nearest are named.

    \b
    rag related "Error budgets"
    rag related runbooks/Rollback.md --include-linked -k 5
    rag related 用語集 --vault エンジニア --json
    rag related Glossary --links in      what links to it, with the lines
    """
    from rag.app.related import related as find_related
    from rag.app.requests import RelatedRequest
    from rag.app.workspace import Workspace

    out = chosen_output(output_format, json=json, paths=paths, among=NOTE_FORMATS)
    if not note.strip():
        raise UsageError("no note named", hint='Name one: `rag related "title"`')
    if links:
        from rag.app.notes.links import walk_links

        for option, is_given in (
            ("--vault", vaults),
            ("--tag", tags),
            ("--include-linked", include_linked),
            ("--all-vaults", all_vaults),
            ("--min-score", min_score is not None),
            ("--explain", explain),
            ("--paths", out.names_files),
        ):
            _refuse(option if is_given else "", "does not go with --links")
        walked = walk_links(
            load_settings(config_file), note, links, depth or 1, top_k, folder=Path.cwd()
        )
        _print_links(walked, out.as_json)
        return
    _refuse("--depth" if depth else "", "goes with --links")
    _refuse("--vault" if vaults and all_vaults else "", "does not go with --all-vaults")
    request = RelatedRequest(
        note,
        make_filters(vaults, tags, None, None, None),
        top_k=top_k or _LIMIT,
        include_linked=include_linked,
        min_score=min_score,
        all_vaults=all_vaults,
        folder=Path.cwd(),
    )
    with Workspace(load_settings(config_file)) as workspace:
        report = find_related(workspace, request)
    if not quiet:
        warn_if_stale(report.index)
        for notice in report.notices:
            say_notice(notice)
    if out.as_json:
        print_report(report)
    elif out.names_files:
        for one in report.results:
            print_file(Path(one.file), nul=out.format == "paths0")
    else:
        _print_related(report, explain)
    if not report.results:
        if not out.as_json:
            _print_nothing(report)
        raise typer.Exit(1)


def _refuse(option: str, how: str) -> None:
    """:raises UsageError: for an option that does not fit the others."""
    if option:
        raise UsageError(f"{option} {how}", hint="`rag related --help` has examples.")


def _print_links(report: LinksReport, json: bool) -> None:
    if json:
        print_report(report)
    else:
        for step in report.links:
            print_line(f"{'  ' * (step.depth - 1)}{link_line(step.link)}")
        if more := report.total - len(report.links):
            say(f"{plural(more, 'more link')} left out by --top-k")
    if not report.links:
        if not json:
            say(f"{report.note.title!r} has no such links")
        raise typer.Exit(1)


def _print_nothing(report: RelatedReport) -> None:
    linked = f"; {plural(report.left_out, 'linked note')} left out" if report.left_out else ""
    say(f"no note is clearly related to {report.note.title!r}{linked}")


def _print_related(report: RelatedReport, explain: bool = False) -> None:
    """Print each related note with its link, its best passages and the reasons.

    :param explain: print what each passage scores, and all reasons.
    """
    from rich.style import Style
    from rich.text import Text

    from rag.app.index_state import link_to
    from rag.cli.render.terminal import make_console, print_between_words, print_indented

    console = make_console()
    for rank, note in enumerate(report.results, 1):
        head = Text().append(f"{rank:>2}  ", style="dim")
        head.append(visible(note.title), style="bold")
        head.append(f"  {note.score:.2f}", style="dim")
        head.append(f"  {visible(note.link)}")
        print_between_words(console, head)
        for passage in note.passages:
            where = Text(visible(f"{note.vault}/{note.path}:{passage.line}"), style="cyan")
            where.stylize(Style(link=link_to(report.index.uri, Path(note.file), passage.line)))
            if explain:
                where.append(f"  {passage.score:.2f}", style="dim")
            print_indented(console, where, 4)
            print_indented(console, visible(brief(passage.text, _LONGEST)), 4)
        for reason in _reasons(note, explain):
            print_indented(console, visible(reason), 4, "dim")


def _reasons(note: RelatedNote, explain: bool) -> Iterator[str]:
    why: Reasons = note.reasons
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
    if note.linked:
        parts.append("already linked")
    if parts:
        yield "why: " + "; ".join(parts)


def link_line(link: Link) -> str:
    """Return where a link stands, what it says, and where it leads."""
    where = f"{link.source.vault}/{link.source.path}:{link.line}: [[{link.target}]]"
    if not link.notes:
        return f"{where} leads nowhere"
    names = ", ".join(f"{note.vault}/{note.path}" for note in link.notes)
    return f"{where} → {names}" if link.is_clear else f"{where} may be any of {names}"
