"""What a shell is offered: vaults, notes, modes."""

import pytest

from rag.cli.app import program as commands
from rag.cli.framework.options import completing


@pytest.fixture
def offers(library, capsys, monkeypatch):
    """Complete the last word of a line as fish does."""

    def run(line: str) -> list[str]:
        with monkeypatch.context() as patch, pytest.raises(SystemExit):
            patch.setenv("_TYPER_COMPLETE_ARGS", line)
            patch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
            patch.setenv("_RAG_COMPLETE", "complete_fish")
            commands()([], prog_name="rag")
        rows = capsys.readouterr().out.splitlines()
        return [row.split("\t")[0] for row in rows if row]

    return run


def test_vaults_are_offered_wherever_one_is_named(offers):
    for line in ("search x -v ", "ask x --vault wo", "vault remove ", "vault rename w"):
        assert offers(f"rag {line}") == ["work"]


def test_titles_of_notes_are_offered(offers):
    assert offers("rag get Rol") == ["Rolling back"]
    assert offers("rag get 証明") == ["証明書の更新"]


def test_bash_gets_titles_as_they_are_typed(library, program, environment):
    typed = {"COMP_WORDS": "rag get Roll", "COMP_CWORD": "2", "_RAG_COMPLETE": "complete_bash"}
    assert program(env=environment | typed).out.strip() == "Rolling\\ back"


def test_paths_are_offered_once_a_slash_is_typed(offers):
    assert offers("rag get work/run") == ["work/runbooks/Rollback.md"]


def test_the_values_of_options_are_offered(offers):
    assert offers("rag search x --sort m") == ["modified"]
    assert offers("rag search x --format js") == ["json", "jsonl"]
    assert offers("rag ask x --format j") == ["json"]


def test_no_name_that_steers_a_terminal_is_offered():
    assert completing(lambda: ["x\x1b[2J", "x\u202ey", "xavier", "y"])("x") == ["xavier"]
