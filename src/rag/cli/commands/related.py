"""`rag related`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework.formats import NOTE_FORMATS, NoteFormat, chosen_output
from rag.cli.framework.options import (
    ConfigFile,
    Json,
    Paths,
    Quiet,
    Tags,
    Vaults,
    complete_notes,
)
from rag.cli.framework.query import make_filters, warn_if_stale
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import plural, print_file, print_report, say, say_notice
from rag.exceptions import UsageError

if TYPE_CHECKING:
    from rag.app.related import RelatedReport
    from rag.app.requests import LinksRequest


_LIMIT = 10  # notes; of links all are given


def related(
    note: Annotated[
        str,
        typer.Argument(
            metavar="NOTE",
            autocompletion=complete_notes,
            help="Path, vault/path, title, alias, id or [[link]].",
        ),
    ],
    vaults: Vaults = None,
    tags: Tags = None,
    top_k: Annotated[
        int | None,
        typer.Option(
            *("--top-k", "-k", "-n"),
            min=1,
            max=1000,
            metavar="N",
            help="How many notes (10), or links (all).",
        ),
    ] = None,
    include_linked: Annotated[
        bool,
        typer.Option("--include-linked", help="Also notes that it links to, or that link to it."),
    ] = False,
    all_vaults: Annotated[
        bool, typer.Option("--all-vaults", help="Look in all vaults, not in its own alone.")
    ] = False,
    min_score: Annotated[
        float | None,
        typer.Option(
            "--min-score",
            min=0,
            max=1,
            metavar="X",
            help="Leave out what scores less (.5); 0 shows all.",
        ),
    ] = None,
    links: Annotated[
        str,
        typer.Option(
            "--links", metavar="out|in|both", help="Walk its links instead: out, in, both."
        ),
    ] = "",
    depth: Annotated[
        int | None,
        typer.Option("--depth", min=1, max=3, metavar="N", help="With --links: how far, 1 to 3."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each passage scores, and all reasons.")
    ] = False,
    json: Json = False,
    output_format: NoteFormat = "text",
    paths: Paths = False,
    quiet: Quiet = False,
    config_file: ConfigFile = None,
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
    from rag.app.requests import LinksRequest, RelatedRequest
    from rag.app.workspace import Workspace

    out = chosen_output(output_format, json=json, paths=paths, among=NOTE_FORMATS)
    if not note.strip():
        raise UsageError("no note named", hint='Name one: `rag related "title"`')
    if links:
        unfit = {"--vault": vaults, "--tag": tags, "--include-linked": include_linked}
        unfit |= {
            "--all-vaults": all_vaults,
            "--min-score": min_score is not None,
            "--explain": explain,
        }
        unfit |= {"--paths": out.names_files}
        _refuse(
            next((name for name, given in unfit.items() if given), ""), "does not go with --links"
        )
        _walk(LinksRequest(note, links, depth or 1, top_k, Path.cwd()), config_file, out.as_json)
        return
    _refuse("--depth" if depth else "", "goes with --links")
    _refuse("--vault" if vaults and all_vaults else "", "does not go with --all-vaults")
    request = RelatedRequest(
        note,
        make_filters(vaults, tags, None, None, None),
        limit=top_k or _LIMIT,
        include_linked=include_linked,
        min_score=min_score,
        all_vaults=all_vaults,
        folder=Path.cwd(),
    )
    with Workspace(load_settings(config_file)) as workspace:
        report = workspace.related(request)
    if not quiet:
        warn_if_stale(report.index)
        for notice in report.notices:
            say_notice(notice)
    if out.as_json:
        print_report(report)
    elif out.names_files:
        for found in report.results:
            print_file(Path(found.file), nul=out.format == "paths0")
    else:
        from rag.cli.render.related import print_related

        print_related(report, explain)
    if not report.results:
        if not out.as_json:
            _print_nothing(report)
        raise typer.Exit(1)


def _refuse(option: str, how: str) -> None:
    """:raises UsageError: for an option that does not fit the others."""
    if option:
        raise UsageError(f"{option} {how}", hint="`rag related --help` has examples.")


def _walk(request: LinksRequest, config_file: Path | None, json: bool) -> None:
    """Print the links of a note."""
    from rag.app.workspace import Workspace

    with Workspace(load_settings(config_file)) as workspace:
        report = workspace.links(request)
    if json:
        print_report(report)
    else:
        from rag.cli.render.related import print_links

        print_links(report)
        if more := report.total - len(report.steps):
            say(f"{plural(more, 'more link')} left out by --top-k")
    if not report.steps:
        if not json:
            say(f"{report.note.title!r} has no such links")
        raise typer.Exit(1)


def _print_nothing(report: RelatedReport) -> None:
    linked = f"; {plural(report.left_out, 'linked note')} left out" if report.left_out else ""
    say(f"no note is clearly related to {report.note.title!r}{linked}")
