"""`rag config`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from rag.cli.options import ConfigFile, Json
from rag.cli.output import print_json, print_line, to_json_text
from rag.config import default_toml, load_config, settings, values


def config(
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Print a configuration file with every setting.")
    ] = False,
    json: Json = False,
    config_file: ConfigFile = None,
) -> None:
    """Show every setting, its value and where the value came from.

    \b
    rag config
    rag config --defaults > rag.toml     start a file of your own
    """
    if defaults:
        sys.stdout.write(default_toml())
        return
    found = load_config(config_file)
    shown = values(found)
    if json:
        print_json(
            {
                "settings": {
                    name: {"value": value, "origin": found.origins.get(name, "default")}
                    for name, value in shown.items()
                }
            }
        )
        return
    width = max(map(len, settings()))
    for name, value in shown.items():
        text = value if isinstance(value, str) else to_json_text(value)
        print_line(f"{name:{width}}  {text}  ({found.origins.get(name, 'default')})")
