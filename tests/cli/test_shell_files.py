"""The manual page and the completions: made from the program, and read by the real shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rag.cli.framework.reference import all_commands, parameters
from rag.cli.framework.shell_files import manual, shell_files

SHARE = Path(__file__).resolve().parents[2] / "share"
FILES = dict(shell_files())
_BASH = """
source "$1"
COMP_WORDS=(rag sea); COMP_CWORD=1
_rag_completion rag
echo "${COMPREPLY[@]}"
"""
# `compadd` and what Typer calls can only be used while zsh completes; here they print.
_ZSH = """
compdef() { : }
_arguments() { print -r -- "$@" }
words=(rag sea); CURRENT=2
fpath=("${1:h}" $fpath)
autoload -Uz _rag
_rag
"""
_FISH = "source $argv[1]; complete --do-complete 'rag sea'"

Do = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def do(tmp_path: Path) -> Do:
    """Run a program that finds this `rag` on its PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    surroundings = {**os.environ, "PATH": path, "HOME": str(tmp_path), "RAG_WARM": "0"}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        if not shutil.which(command[0]):
            pytest.skip(f"{command[0]} is not installed")
        return subprocess.run(
            command, env=surroundings, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )

    return run


@pytest.mark.parametrize("path", FILES)
def test_a_file_is_what_the_program_says(path: str) -> None:
    assert (SHARE / path).read_text("utf-8") == FILES[path], "run `make docs`"


def test_nothing_else_is_installed_beside_them() -> None:
    there = {str(file.relative_to(SHARE)) for file in SHARE.rglob("*") if file.is_file()}
    assert there == set(FILES)


def test_the_manual_names_every_option_of_every_command() -> None:
    page = manual().replace(r"\-", "-")
    for name, command in all_commands():
        section = page.partition(f"\n.SS rag {name}\n")[2].partition("\n.SS ")[0]
        for options, _, says in parameters(command):
            assert all(rf"\fB{option}\fR" in section for option in options)
            assert says.replace("\\", r"\e") in section


def test_the_manual_is_formatted_without_a_warning(do: Do) -> None:
    done = do("groff", "-man", "-ww", "-z", "-Kutf8", "-Tutf8", str(SHARE / "man/man1/rag.1"))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("shell", "script", "path"),
    [
        ("bash", _BASH, "bash-completion/completions/rag"),
        ("zsh", _ZSH, "zsh/site-functions/_rag"),
        ("fish", _FISH, "fish/vendor_completions.d/rag.fish"),
    ],
)
def test_a_shell_completes_the_first_word(do: Do, shell: str, script: str, path: str) -> None:
    file = str(SHARE / path)
    name = [] if shell == "fish" else [shell]
    done = do(shell, *(["-f"] if shell == "zsh" else []), "-c", script, *name, file)
    assert done.stderr == ""
    assert "search" in done.stdout.split("\n")[0].replace(":", " ").replace('"', " ").split()
