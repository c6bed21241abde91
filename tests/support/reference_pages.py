"""The two pages of docs/ that are made from the program; `make docs` writes them.

python tests/support/reference_pages.py commands|json
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import cleandoc
from textwrap import fill
from typing import Any, NamedTuple

import typer

from rag.cli.app import app
from rag.support.json_reports import HIDDEN, INLINE, NULLABLE, OPTIONAL, mark_of
from rag.web.openapi import class_named

_COMMANDS_HEAD = """# Commands

Made by `make docs` from the program's own help; a test fails when the two differ.
"""
_EXIT_CODES = (
    "Exit codes: 0 done, at least one result · 1 nothing found, worse than the baseline, or a check"
    " that failed · 2 usage or configuration error · 3 no index, or one that must be rebuilt · 4 a"
    " service did not answer · 5 finished, but some notes or their vectors failed · 75 another"
    " process is indexing."
)


def command_reference() -> str:
    """Return the reference of all commands as Markdown."""
    sections = [_command_section(name, command) for name, command in all_commands()]
    return "\n".join([f"{_COMMANDS_HEAD}\n{fill(_EXIT_CODES, 96)}\n", *sections])


def all_commands() -> Iterator[tuple[str, Any]]:
    """Yield the commands by their names, those of a group as `vault add`."""
    root: Any = typer.main.get_command(app)
    for name, command in sorted(root.commands.items()):
        if hasattr(command, "commands"):
            for inner, nested in sorted(command.commands.items()):
                yield f"{name} {inner}", nested
        else:
            yield name, command


def _command_section(name: str, command: Any) -> str:
    text, _, examples = (command.help or "").partition("\b")
    lines = [f"## rag {name}", "", " ".join(text.split()), ""]
    if examples:
        shown = (line.strip() for line in examples.strip().split("\n") if line)
        lines += ["```sh", *shown, "```", ""]
    if rows := [
        _parameter_row(parameter) for parameter in command.params if parameter.name != "help"
    ]:
        lines += ["| | |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _parameter_row(parameter: Any) -> str:
    """Return the row of a parameter: its names (of an argument its placeholder), and its help."""
    if parameter.param_type_name == "argument":
        return f"| `{parameter.metavar or parameter.name.upper()}` | {parameter.help or ''} |"
    label = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    if parameter.metavar and not parameter.is_flag:
        label += f" {parameter.metavar}".replace("|", "\\|")
    return f"| {label} | {parameter.help or ''} |"


# -- docs/json.md ------------------------------------------------------------

_JSON_HEAD = """# JSON

Made by `make docs` from the types of reports; a test fails when the two differ. Each command prints
one object with `--json`, whose first field is `"schema": 1`; `rag search --format jsonl` prints an
object a line, each a [Result](#result) with the same first field. Fractions have six digits. New
fields may be added to schema 1; none changes its name or its type.

What goes wrong is an object too, of either format, beside its exit code:
`{"schema": 1, "error": {"kind": …, "message": …, "hint": …}}`. `kind` is stable, `hint` names the
command to type, and `suggestions` are names that are near, where there are any.

A field that is not always there is marked: *optional*.
"""
# Which reports each command prints, the usual one first.
_REPORTS = {
    "search": "search.SearchReport",
    "ask": "ask.AnswerReport",
    "chat": "chat.TurnReport chat.SessionsReport chat.CommandReport",
    "get": "notes.NoteReport notes.NotesReport",
    "related": "related.RelatedReport notes.links.LinksReport",
    "plan": "plan.PlanReport",
    "transform": "plan.TransformReport",
    "audit": "audit.AuditReport audit.RecordReport audit.Replay",
    "eval": "evaluate.EvaluationReport",
    "index": "sync.SyncReport sync.SyncCopy",
    "status": "status.StatusReport",
    "doctor": "doctor.DoctorReport",
    "vault": "vaults.VaultsReport vaults.VaultChange",
    "config": "settings.SettingsReport",
    "trust": "settings.TrustReport settings.TrustListReport settings.TrustRemovedReport",
    "init": "setup.SetupReport",
    "warm": "warm_process.WarmReport warm_process.StoppedReport",
    "service": "service.InstallReport service.RemovalReport service.ServiceReport",
    "mcp": "serving.program_start.ClientConfig",
}
_NAMES = {
    **dict.fromkeys(("str", "Path", "date", "Day", "AwareDatetime"), "string"),
    **dict.fromkeys(("int", "float"), "number"),
    "bool": "boolean",
    "None": "null",
    "Any": "anything",
    "RAGError": "error",
}


class _Field(NamedTuple):
    """A field as a row of a table."""

    name: str
    type: str
    mark: str
    text: str


def json_reference() -> str:
    """Return the page of JSON fields as Markdown."""
    page = _Page()
    sections = [_JSON_HEAD]
    for command, reports in _REPORTS.items():
        sections.append(f"## rag {command}\n")
        for report in reports.split():
            module, _, name = report.rpartition(".")
            sections.append(page.section(getattr(import_module(f"rag.app.{module}"), name)))
    sections.append("## Parts\n")
    while page.waiting:
        sections.append(page.section(page.waiting.pop(0), is_part=True))
    return "\n".join(sections)


class _Page:
    """The types that were described, and those that wait for it."""

    def __init__(self) -> None:
        self.known: set[type] = set()
        self.waiting: list[type] = []

    def section(self, kind: type, is_part: bool = False) -> str:
        """Return a type as Markdown."""
        self.known.add(kind)
        text = cleandoc(kind.__doc__ or "").partition(":param ")[0].strip()
        lines = [f"### {kind.__name__}", "", " ".join(text.split()), ""]
        rows = [*self._rows(kind)]
        if hasattr(kind, "to_json"):
            lines += [" ".join(cleandoc(kind.to_json.__doc__ or "").split()), ""]
        elif rows:
            lines += ["| field | type | |", "| --- | --- | --- |"]
            for row in rows:
                lines.append(f"| `{row.name}` | {row.type} | {_joined(row)} |")
            lines.append("")
        return "\n".join(lines)

    def _rows(self, kind: type) -> Iterator[_Field]:
        """Yield the fields of a type, those of inline ones in their place."""
        told = dict(
            re.findall(r":param (\w+): (.*?)(?=\n:|\n\n|\Z)", cleandoc(kind.__doc__ or ""), re.S)
        )
        if not is_dataclass(kind):
            models: Mapping[str, Any] = getattr(kind, "model_fields", {})
            for name in models:
                annotation = _annotations(kind).get(name, "")
                yield _Field(name, self._type(annotation, kind), "", told.get(name, ""))
            return
        for one in fields(kind):
            mark = mark_of(one)
            if mark == HIDDEN:
                continue
            if mark == INLINE:
                inner = next(self._kinds(str(one.type), kind), None)
                is_always = one.default is not None
                for row in self._rows(inner) if inner else ():
                    yield row if is_always else row._replace(mark=OPTIONAL)
                continue
            text = self._type(str(one.type), kind, " or null" if mark == NULLABLE else "")
            yield _Field(one.name, text, mark, told.get(one.name, ""))

    def _type(self, annotation: str, kind: type, more: str = "") -> str:
        """Return a type in words, with links to the types of ours in it."""
        for inner in self._kinds(annotation, kind):
            if inner not in self.known and inner not in self.waiting:
                self.waiting.append(inner)
        ours = {inner.__name__ for inner in self._kinds(annotation, kind)}
        text = annotation
        if literal := re.fullmatch(r"Literal\[(.*)\](.*)", text):
            values = [f"`{value}`" for value in re.findall(r"""["'](\w+)["']""", literal[1])]
            return " or ".join(values) + more
        text = re.sub(r"\b(?:list|Sequence)\[", "list of [", text)
        text = re.sub(r"\b(?:dict|Mapping)\[(?:str|tuple\[[^\]]*\]), ", "object of [", text)
        text = re.sub(r"\btuple\[(\w+), (?:\1|\.\.\.)\]", r"list of \1", text)
        text = text.replace("[", "").replace("]", "").replace(" | ", " or ")
        words = (
            f"[{word}](#{word.lower()})" if word in ours else _NAMES.get(word, word)
            for word in re.split(r"(\W+)", text)
        )
        return "".join(words) + more

    def _kinds(self, annotation: str, kind: type) -> Iterator[type]:
        """Yield the types of ours that an annotation names."""
        module = sys.modules[kind.__module__]
        for word in re.findall(r"\b[A-Z]\w+", annotation):
            named = class_named(word, module)
            if named and named.__module__.startswith("rag.") and word not in _NAMES:
                yield named


def _annotations(kind: type) -> dict[str, str]:
    """Return the annotations of a class, as they are written."""
    own = vars(kind).get("__annotations__", {})
    return {name: text if isinstance(text, str) else text.__name__ for name, text in own.items()}


def _joined(row: _Field) -> str:
    """Return what there is to say of a field."""
    mark = "*optional*" if row.mark == OPTIONAL else ""
    return " ".join(filter(None, [mark, *row.text.split()])).replace("|", "\\|")


if __name__ == "__main__":
    print({"commands": command_reference, "json": json_reference}[sys.argv[1]](), end="")
