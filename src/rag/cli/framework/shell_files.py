"""Write what shells and `man` read, made from the program:
`python -m rag.cli.framework.shell_files share`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

# Typer writes these scripts for `--install-completion`; it has no public name for them.
from typer._completion_shared import get_completion_script

from rag import __version__
from rag.cli.app import program
from rag.cli.framework.reference import EXIT_CODES, all_commands, help_and_examples, parameters

_ABOUT = "search your Markdown notes and ask them questions"
_DESCRIPTION = """
rag reads folders of Markdown notes, indexes them, searches them by words and, by a small model that
comes with it, by meaning, and answers questions from them with their sources. It needs no server.
The notes are only ever read.
"""
_HELP = (".TP", r"\fB\-\-help\fR, \fB\-h\fR", "Say what rag, or a command, takes.")
_ENVIRONMENT = {
    "RAG_DATA_DIR": "The folder of the index.",
    "RAG_CONFIG": "The file of settings to read in the place of the project's.",
    "RAG_SECTION__NAME": "The setting NAME of SECTION, such as RAG_SEARCH__TOP_K=20.",
    "RAG_WARM": "0: do not hand commands to the process that waits in the background.",
    "QDRANT_API_KEY": "The key of a Qdrant server that the settings name.",
    "NO_COLOR": "Print no colours.",
}
_FILES = {
    "rag.toml, config/rag.toml": "The settings of a project; rag trust says which take your trust.",
    "~/.config/rag/rag.toml": "Your own settings (on macOS in ~/Library/Application Support/rag).",
    "~/.local/share/rag": "The index (on macOS in ~/Library/Application Support/rag).",
}


def shell_files() -> Iterator[tuple[str, str]]:
    """Yield the path of each file below the `share` of an installation, and its text."""
    program()  # mends Typer's script for zsh
    yield "man/man1/rag.1", manual()
    yield "bash-completion/completions/rag", _completion("bash")
    yield "zsh/site-functions/_rag", _completion("zsh")
    yield "fish/vendor_completions.d/rag.fish", _completion("fish")


def _completion(shell: str) -> str:
    script = get_completion_script(prog_name="rag", complete_var="_RAG_COMPLETE", shell=shell)
    return f"{script.strip()}\n"


def manual() -> str:
    """Return the manual page, in the macros of man(7)."""
    # Without hyphens of its own in the names of settings.
    lines = [f'.TH RAG 1 "" "rag {__version__}" "User Commands"', ".nh", ".SH NAME"]
    lines += [rf"rag \- {_ABOUT}", ".SH SYNOPSIS", r"\fBrag\fR \fICOMMAND\fR [\fIOPTION\fR]..."]
    lines += [".SH DESCRIPTION", _escaped(" ".join(_DESCRIPTION.split()))]
    lines += [".SH OPTIONS", *_options(program()), *_HELP, ".SH COMMANDS"]
    for name, command in all_commands():
        lines += _command(name, command)
    lines += [".SH EXIT STATUS", *_list((str(code), text) for code, text in EXIT_CODES.items())]
    lines += [".SH ENVIRONMENT", *_list(_ENVIRONMENT.items()), ".SH FILES", *_list(_FILES.items())]
    return "\n".join(lines) + "\n"


def _command(name: str, command: Any) -> list[str]:
    text, examples = help_and_examples(command)
    lines = [f".SS rag {name}", _escaped(text)]
    if examples:
        lines += [".PP", ".EX", *map(_escaped, examples), ".EE"]
    return lines + _options(command)


def _options(command: Any) -> list[str]:
    lines = []
    for names, value, says in parameters(command):
        label = ", ".join(rf"\fB{_escaped(one)}\fR" for one in names)
        lines += [".TP", label + (rf" \fI{_escaped(value)}\fR" if value else ""), _escaped(says)]
    return lines


def _list(items: Iterable[tuple[str, str]]) -> list[str]:
    return [
        line for name, text in items for line in (".TP", rf"\fB{_escaped(name)}\fR", _escaped(text))
    ]


def _escaped(text: str) -> str:
    """Return a text that roff prints as it is, hyphens such as they are typed."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text


def main(folder: Path) -> None:
    """Write the files below a folder."""
    for path, text in shell_files():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
