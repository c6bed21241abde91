"""The documentation is made from the program, and cannot drift from it."""

import json
import re
from pathlib import Path

import typer

from rag.cli.app import app
from reference_pages import all_commands, command_reference, json_reference

REPO = Path(__file__).resolve().parents[2]


def test_the_command_reference_is_what_the_program_says():
    written = (REPO / "docs" / "commands.md").read_text("utf-8")
    assert written == command_reference(), "run `make docs`"


def test_the_page_of_json_fields_is_what_the_types_say():
    assert (REPO / "docs" / "json.md").read_text("utf-8") == json_reference(), "run `make docs`"


def fields_of(page: str, heading: str) -> set[str]:
    """Return the fields that stand under a heading, those of the types that it takes in as well."""
    section = page.partition(f"{heading}\n")[2]
    section = section.partition(f"\n{heading.partition(' ')[0]} ")[0]
    inner = (fields_of(page, f"### {name}") for name in re.findall(r"all of \[(\w+)\]", section))
    return set(re.findall(r"`(\w+)[?:`]", section)).union(*inner)


def test_the_page_of_json_fields_names_every_field_that_a_command_prints():
    page, golden = json_reference(), sorted((REPO / "tests" / "cli" / "golden").iterdir())
    for file in golden:
        command = file.stem.split("-")[0]
        described = fields_of(page, f"## rag {command}")
        for line in re.findall(r"^{.*", file.read_text("utf-8"), re.MULTILINE):
            printed = json.loads(re.sub(r": N\b", ": 0", line.replace("…", ""))).keys() - {
                "schema",
                "error",
            }
            if command != "doctor":  # whose report says in words what it holds
                assert printed <= described, file.name


def test_every_command_has_json_and_an_example():
    for name, command in all_commands():
        if name in ("serve", "watch"):  # print lines as they come, and go on
            continue
        options = {parameter.name for parameter in command.params}
        assert options & {"json", "output_format"}, name
        assert f"    rag {name.split()[0]}" in f"    {command.help}".replace("\n", "\n    "), name


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
    assert {"demo", "test"} <= set(named)
    assert [target for target in named if f"\n{target}:" not in makefile] == []
