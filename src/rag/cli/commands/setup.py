"""`rag init`, `rag config`, `rag trust` and `rag vault`: settings and vaults."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.lazy_group import group
from rag.cli.framework.options import Given, argument, flag, shared, value
from rag.cli.render.console import plural, say, show, to_json_text
from rag.config import RAGConfig, default_toml, new_project_file, user_file
from rag.exceptions import UsageError

if TYPE_CHECKING:
    from rag.app.settings import SettingsReport
    from rag.app.setup import SetupReport
    from rag.app.vaults import VaultChange

_HEADING = "Written by `rag init`: what is not as by default. `rag config` lists all."
_MEANING = {
    "ollama": "by Ollama's embedding model",
    "builtin": "by the built-in model, with nothing else running",
    "": "no: search is by words",
}


def init(
    folder: Path | None = argument("[FOLDER]", "Look for vaults only here.", None),
    user: bool = flag("--user", "Write your own file, which counts in every folder."),
    force: bool = flag("--force", "Replace the file if there is one."),
    dry_run: bool = flag("--dry-run", "Say what would be written, and write nothing."),
    given: Given = shared("json"),
) -> None:
    """Look for vaults and models, and write a configuration of them.

    Vaults are folders that hold a `.obsidian` folder. They are registered, and `rag index` reads
    them.

    \b
    rag init                       then `rag index`
    rag init ~/notes               look only there
    rag init --dry-run
    """
    from rag.app.setup import carry_out, plan
    from rag.support.files import strange_kind

    file = user_file() if user else new_project_file(Path.cwd())
    if kind := strange_kind(file):
        raise UsageError(f"{file} is {kind}, and should be a file", hint=f"Move {file} away.")
    if file.exists() and not (force or dry_run):
        hint = "`rag init --force` replaces it; `rag init --dry-run` shows with what."
        raise UsageError(f"there is a configuration already: {file}", hint=hint)
    config = given.config
    report = plan(config, file, folder, Path.cwd(), _HEADING)
    if not dry_run:
        report = carry_out(config, report)
    show(report, given.json, _setup_lines(report))


def _setup_lines(report: SetupReport) -> Iterator[str]:
    early = "" if report.whole else ", then time was up: name a FOLDER to look in"
    yield f"vaults    {len(report.vaults)}{early}"
    for vault in report.vaults:
        yield f"  {vault.name}  {vault.path}{'  (known already)' if vault.known else ''}"
        if vault.problem:
            yield f"    left out: {vault.problem}"
    ollama = report.ollama
    yield f"Ollama    {ollama.error or f'{ollama.version} at {ollama.url}'}"
    if not ollama.error:
        yield f"  embedding model  {ollama.embedding_model or 'none'}"
        yield f"  chat model       {ollama.chat_model or 'none'}"
    yield f"answers   {f'by {report.chat_model}' if report.chat_model else 'are quotations'}"
    yield f"meaning   {_MEANING.get(report.embedding, report.embedding)}"
    yield f"{'wrote' if report.written else 'would write'} {report.file}"
    yield from (f"  {line}".rstrip() for line in report.content.splitlines())
    yield ""
    yield from (f"next: {step}" for step in report.next)


def config(
    key: str = argument("[KEY]", "Only this setting, or this section of them.", ""),
    defaults: bool = flag("--defaults", "Print a file with every setting."),
    given: Given = shared("json config_file"),
) -> None:
    """Show settings, their values and where the values came from.

    \b
    rag config
    rag config search.top_k
    rag config --defaults > rag.toml     start a file of your own
    """
    if defaults and not given.json:
        sys.stdout.write(default_toml())
        return
    from rag.app.settings import settings_report

    report = settings_report(RAGConfig() if defaults else given.config, key)
    show(report, given.json, _config_lines(report))


def _config_lines(report: SettingsReport) -> Iterator[str]:
    width = max(map(len, report.settings))
    for name, setting in report.settings.items():
        text = setting.value if isinstance(setting.value, str) else to_json_text(setting.value)
        yield f"{name:{width}}  {text}  ({setting.origin})"
        if ignored := setting.left_out:
            yield f"{'':{width}}  left out: {ignored.value} ({ignored.reason}). {ignored.hint}"


def trust(
    place: Path | None = argument(
        "[FOLDER]", "A project's folder, or its file; by default here.", None
    ),
    list_all: bool = flag("--list", "List the files that you trust."),
    remove: bool = flag("--remove", "Trust the file no more."),
    given: Given = shared("json"),
) -> None:
    """Trust what a project's `rag.toml` asks for, and show it.

    Without it such a file says only how to search, plan, chunk and print, and which folders below
    it are vaults. Addresses, models, plug-ins, keys, and folders outside are left out.
    Trust is for the file as it is: a file that was changed is not trusted.

    \b
    rag trust                      the file that is read here
    rag trust ~/notes/rag.toml
    rag trust --list
    rag trust --remove
    """
    from rag.app import settings as app

    opt.exclude("--list", list_all, {"FOLDER": place, "--remove": remove})
    json, lines = given.json, list[str]()
    if list_all:
        listed = app.trusted_files()
        for entry in listed.files:
            gone = "" if os.path.lexists(entry.file) else "  (gone)"
            how = "trusted" if entry.trusted else "refused"
            lines.append(f"{how}  {entry.since}  {entry.file}{gone}")
        show(listed, json, lines or ["no file is trusted"])
    elif remove:
        removed = app.trust_no_more(place or Path())
        done = "is trusted no more" if removed.removed else "was not in the list"
        show(removed, json, [f"{removed.file} {done}"])
        if not removed.removed:
            raise typer.Exit(1)
    else:
        report = app.trust_project(place or Path())
        lines = [f"{report.file} is trusted, as it is now, with"]
        lines += [f"  {ask.name} = {ask.value}" for ask in report.asks]
        nothing = [f"{report.file} asks for nothing that takes trust"]
        show(report, json, lines if report.trusted else nothing)


vault = group("List, add, rename and remove vaults.")


@opt.command(vault, "list")
def list_vaults(given: Given = shared("json config_file")) -> None:
    """List the vaults, with their folders and how many notes are indexed.

    \b
    rag vault list
    rag vault list --json
    """
    from rag.app import vaults

    report = vaults.list_vaults(given.config)
    for notice in report.notices:
        say(f"rag: {notice}")
    lines = []
    for name, entry in report.vaults.items():
        notes = "notes unknown" if entry.notes is None else plural(entry.notes, "note")
        lines.append(f"{name}  {notes}  {entry.path}")
    show(report, given.json, lines or ["no vaults yet: `rag index FOLDER` makes one"])


@opt.command(vault, "add")
def add(
    folder: Path = argument("FOLDER", "A folder that holds .md files."),
    name: str = value("--name", "NAME", "Its name; by default the folder's.", ""),
    given: Given = shared("json config_file"),
) -> None:
    """Register a folder; the next `rag index` reads it.

    \b
    rag vault add ~/notes
    rag vault add ~/notes --name work
    """
    from rag.app.vaults import add_vault

    added = add_vault(given.config, folder, name)
    _print_change(added, f"vault {added.vault!r} is registered; `rag index` reads it", given)


@opt.command(vault, "rename")
def rename(
    name: str = argument("OLD", "The vault's name.", complete=opt.complete_vaults),
    wanted: str = argument("NEW", "The name it gets."),
    given: Given = shared("quiet json config_file"),
) -> None:
    """Give a vault another name; its notes are indexed again under it.

    \b
    rag vault rename notes work
    """
    from rag.app.vaults import rename_vault

    renamed = rename_vault(given.config, name, wanted)
    message = f"vault {name!r} is {renamed.vault!r} now ({plural(renamed.notes, 'note')})"
    _print_change(renamed, "" if given.quiet else message, given)


@opt.command(vault, "remove")
def remove(
    name: str = argument("NAME", "The vault's name.", complete=opt.complete_vaults),
    given: Given = shared("quiet json config_file"),
) -> None:
    """Take a vault out of the index; its files are left alone.

    \b
    rag vault remove work
    """
    from rag.app.vaults import remove_vault

    gone = remove_vault(given.config, name)
    notes = plural(gone.notes, "note")
    message = f"vault {gone.vault!r} is removed ({notes}); its files are untouched"
    _print_change(gone, "" if given.quiet else message, given)


def _print_change(report: VaultChange, message: str, given: Given) -> None:
    if report.notice:
        say(f"rag: {report.notice}")
    show(report, given.json, [message] if message else [])
