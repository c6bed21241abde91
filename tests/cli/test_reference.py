"""The documentation is made from the program, and cannot drift from it."""

import re
from pathlib import Path

import typer

from rag.cli.app import app
from rag.cli.framework.reference import reference

REPO = Path(__file__).resolve().parents[2]


def test_the_command_reference_is_what_the_program_says():
    written = (REPO / "docs" / "commands.md").read_text("utf-8")
    assert written == reference(), "run `make docs`"


def test_the_readme_names_every_command():
    readme = (REPO / "README.md").read_text("utf-8")
    for name in typer.main.get_command(app).commands:
        assert f"`rag {name}" in readme


def test_every_option_has_help():
    for name, command in typer.main.get_command(app).commands.items():
        for parameter in getattr(command, "params", []):
            assert parameter.help or parameter.name == "help", f"rag {name}: {parameter.name}"


def test_the_page_for_contributors_names_every_make_target():
    makefile = (REPO / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    page = (REPO / "CONTRIBUTING.md").read_text("utf-8")
    named = set(re.findall(r"`make ([a-z-]+)", page))
    aliases = {target for target in targets if target.startswith("rag-")}
    assert named == targets - aliases


def test_the_readme_names_make_targets_that_are_there():
    makefile = (REPO / "Makefile").read_text("utf-8")
    readme = (REPO / "README.md").read_text("utf-8")
    named = re.findall(r"(?:^|`)make ([a-z][a-z-]*)", readme, re.MULTILINE)
    assert {"demo", "test"} < set(named)
    assert [target for target in named if f"\n{target}:" not in makefile] == []
