"""The documentation is made from the program, and cannot drift from it."""

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


def test_the_makefile_has_the_targets_that_the_readme_names():
    makefile = (REPO / "Makefile").read_text("utf-8")
    readme = (REPO / "README.md").read_text("utf-8")
    for target in ("demo", "test", "bench", "crash", "cron", "timer", "launchd", "search", "ask"):
        assert f"make {target}" in readme
        assert f"\n{target}:" in makefile
