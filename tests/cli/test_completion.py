"""What a shell is offered: vaults, notes, modes."""

from __future__ import annotations

import pytest

from rag.cli.framework.options import completing


@pytest.fixture
def offers(program, environment):
    """Complete the last word of a line as fish does, or another shell."""

    def run(line: str, shell: str = "fish") -> list[str]:
        words, last = line.split(), "" if line.endswith(" ") else line.split()[-1]
        typed = {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
        if shell == "bash":
            index = len(words) - (0 if not last else 1)
            typed = {"COMP_WORDS": line, "COMP_CWORD": str(index)}
        env = {**environment, "_RAG_COMPLETE": f"complete_{shell}", **typed}
        rows = program(env=env).out.splitlines()
        return [row.split("\t")[0] for row in rows if row]

    return run


@pytest.mark.parametrize(
    "line", ["rag search x -v ", "rag ask x --vault wo", "rag vault remove ", "rag vault rename w"]
)
def test_vaults_are_offered_wherever_one_is_named(indexed, offers, line):
    assert offers(line) == ["work"]


def test_titles_of_notes_are_offered(indexed, offers):
    assert offers("rag get Rol") == ["Rolling back"]
    assert offers("rag get 証明") == ["証明書の更新"]


def test_bash_gets_titles_as_they_are_typed(indexed, offers):
    assert offers("rag get Roll", "bash") == ["Rolling\\ back"]


def test_paths_are_offered_once_a_slash_is_typed(indexed, offers):
    assert offers("rag get work/run") == ["work/runbooks/Rollback.md"]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("search x --sort m", ["modified"]),
        ("search x --format js", ["json", "jsonl"]),
        ("ask x --format j", ["json"]),
    ],
)
def test_the_values_of_options_are_offered(offers, typed, offered):
    assert offers(f"rag {typed}") == offered


def test_no_name_that_steers_a_terminal_is_offered():
    assert completing(lambda: ["x\x1b[2J", "x\u202ey", "xavier", "y"])("x") == ["xavier"]
