"""`rag init`, `rag config` and `rag vault`: settings and vaults."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import plural, print_line, print_report, say, to_json_text
from rag.config import RAGConfig, default_toml, new_project_file, settings, user_file, values
from rag.exceptions import UsageError

if TYPE_CHECKING:
    from rag.app.setup import SetupReport

_HEADING = "Written by `rag init`: what is not as by default. `rag config` lists all."
_MEANING = {
    "ollama": "by Ollama's embedding model",
    "builtin": "by the built-in model, with nothing else running",
    "": "no: search is by words",
}


def init(
    folder: Annotated[
        Path | None,
        typer.Argument(help="Look for vaults only here; else here and in the usual places."),
    ] = None,
    user: Annotated[
        bool, opt.flag("--user", "Write your own file, which counts in every folder.")
    ] = False,
    force: Annotated[bool, opt.flag("--force", "Replace the file if there is one.")] = False,
    dry_run: Annotated[
        bool, opt.flag("--dry-run", "Say what would be written, and write nothing.")
    ] = False,
    json: opt.Json = False,
) -> None:
    """Look for vaults and for Ollama's models, and write a configuration of what was found.

    Vaults are folders that hold a `.obsidian` folder. They are registered, or, where several
    make up a folder of their own, that folder is written as `vaults_dir`; `rag index` reads
    them either way.

    \b
    rag init                       then `rag index`
    rag init ~/notes               look only there
    rag init --dry-run
    """
    from rag.app.setup import carry_out, plan
    from rag.support.regular_files import strange_kind

    file = user_file() if user else new_project_file(Path.cwd())
    if kind := strange_kind(file):
        raise UsageError(f"{file} is {kind}, and should be a file", hint=f"Move {file} away.")
    if file.exists() and not (force or dry_run):
        raise UsageError(
            f"there is a configuration already: {file}",
            hint="`rag init --force` replaces it; `rag init --dry-run` shows with what.",
        )
    config = load_settings(None, may_ask=False)
    report = plan(config, file, folder, Path.cwd(), _HEADING)
    if not dry_run:
        report = carry_out(config, report)
    if json:
        print_report(report)
    else:
        _print_setup(report)


def _print_setup(report: SetupReport) -> None:
    early = "" if report.whole else ", then time was up: name a FOLDER to look in"
    print_line(f"vaults    {len(report.vaults)}{early}")
    for vault in report.vaults:
        known = "  (known already)" if vault.known else ""
        print_line(f"  {vault.name}  {vault.path}{known}")
        if vault.problem:
            print_line(f"    left out: {vault.problem}")
    ollama = report.ollama
    if ollama.error:
        print_line(f"Ollama    {ollama.error}")
    else:
        print_line(f"Ollama    {ollama.version} at {ollama.url}")
        print_line(f"  embedding model  {ollama.embedding_model or 'none'}")
        print_line(f"  chat model       {ollama.chat_model or 'none'}")
    print_line(f"answers   {f'by {report.chat_model}' if report.chat_model else 'are quotations'}")
    print_line(f"meaning   {_MEANING.get(report.embedding, report.embedding)}")
    print_line(f"{'wrote' if report.written else 'would write'} {report.file}")
    for line in report.content.splitlines():
        print_line(f"  {line}".rstrip())
    print_line("")
    for step in report.next:
        print_line(f"next: {step}")


def config(
    defaults: Annotated[
        bool,
        opt.flag(
            "--defaults",
            "Print a configuration file with every setting; with --json, each default.",
        ),
    ] = False,
    json: opt.Json = False,
    config_file: opt.ConfigFile = None,
) -> None:
    """Show every setting, its value and where the value came from.

    \b
    rag config
    rag config --defaults > rag.toml     start a file of your own
    """
    if defaults and not json:
        sys.stdout.write(default_toml())
        return
    found = RAGConfig() if defaults else load_settings(config_file, may_ask=False)
    shown = values(found)
    if json:
        from rag.app.settings import settings_report

        print_report(settings_report(found))
        return
    width = max(map(len, settings()))
    for name, value in shown.items():
        text = value if isinstance(value, str) else to_json_text(value)
        print_line(f"{name:{width}}  {text}  ({found.origins.get(name, 'default')})")
        if one := found.left_out.get(name):
            print_line(f"{'':{width}}  left out: {one.value} ({one.reason}). {one.hint}")


# -- vaults --------------------------------------------------------------------------------

vault = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="List, add, rename and remove vaults."
)


@vault.command("list")
def list_vaults(json: opt.Json = False, config_file: opt.ConfigFile = None) -> None:
    """List the vaults, with their folders and how many notes are indexed.

    \b
    rag vault list
    rag vault list --json
    """
    from rag.app.vaults import list_vaults as known_vaults

    report = known_vaults(load_settings(config_file))
    for notice in report.notices:
        _say(notice)
    if json:
        print_report(report)
        return
    if not report.vaults:
        print_line("no vaults yet: `rag index FOLDER` makes one")
    for name, one in report.vaults.items():
        notes = "notes unknown" if one.notes is None else plural(one.notes, "note")
        print_line(f"{name}  {notes}  {one.path}")


@vault.command("add")
def add(
    folder: Annotated[Path, typer.Argument(help="A folder that holds .md files.")],
    name: Annotated[str, opt.value("--name", "NAME", "Its name; by default the folder's.")] = "",
    json: opt.Json = False,
    config_file: opt.ConfigFile = None,
) -> None:
    """Register a folder; the next `rag index` reads it.

    \b
    rag vault add ~/notes
    rag vault add ~/notes --name work
    """
    from rag.app.vaults import add_vault

    added = add_vault(load_settings(config_file), folder, name)
    _say(added.notice)
    if json:
        print_report(added)
        return
    print_line(f"vault {added.vault!r} is registered; `rag index` reads it")


@vault.command("rename")
def rename(
    name: Annotated[
        str,
        typer.Argument(metavar="OLD", help="The vault's name.", autocompletion=opt.complete_vaults),
    ],
    wanted: Annotated[str, typer.Argument(metavar="NEW", help="The name it gets.")],
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    config_file: opt.ConfigFile = None,
) -> None:
    """Give a vault another name; its notes are indexed again under it.

    \b
    rag vault rename notes work
    """
    from rag.app.vaults import rename_vault

    renamed = rename_vault(load_settings(config_file), name, wanted)
    _say(renamed.notice)
    if json:
        print_report(renamed)
    elif not quiet:
        notes = plural(renamed.notes, "note")
        print_line(f"vault {name!r} is {renamed.vault!r} now ({notes})")


@vault.command("remove")
def remove(
    name: Annotated[
        str, typer.Argument(help="The vault's name.", autocompletion=opt.complete_vaults)
    ],
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    config_file: opt.ConfigFile = None,
) -> None:
    """Take a vault out of the index; its files are left alone.

    \b
    rag vault remove work
    """
    from rag.app.vaults import remove_vault

    gone = remove_vault(load_settings(config_file), name)
    _say(gone.notice)
    if json:
        print_report(gone)
    elif not quiet:
        notes = plural(gone.notes, "note")
        print_line(f"vault {gone.vault!r} is removed ({notes}); its files are untouched")


def _say(notice: str) -> None:
    if notice:
        say(f"rag: {notice}")
