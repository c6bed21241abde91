"""`rag config`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from rag.cli.framework.options import ConfigFile, Json
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import print_line, print_report, to_json_text
from rag.config import RAGConfig, default_toml, settings, values


def config(
    defaults: Annotated[
        bool,
        typer.Option(
            "--defaults",
            help="Print a configuration file with every setting; with --json, each default.",
        ),
    ] = False,
    json: Json = False,
    config_file: ConfigFile = None,
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
        from rag.app.settings import SettingsReport

        print_report(SettingsReport(found))
        return
    width = max(map(len, settings()))
    for name, value in shown.items():
        text = value if isinstance(value, str) else to_json_text(value)
        print_line(f"{name:{width}}  {text}  ({found.origins.get(name, 'default')})")
        if one := found.left_out.get(name):
            print_line(f"{'':{width}}  left out: {one.value} ({one.reason}). {one.hint}")
