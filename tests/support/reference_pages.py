"""The two pages of docs/ that are made from the program; `make docs` writes them.

python tests/support/reference_pages.py commands|json
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import cleandoc
from textwrap import fill
from typing import Any

from rag.cli.framework.lazy_group import COMMANDS, load_command
from rag.support.json_reports import INLINE, NULLABLE, OPTIONAL, mark_of, written_fields
from rag.web.openapi import class_named

_COMMANDS_HEAD = """# Commands

Made by `make docs` from the program's help; a test compares them. `rag COMMAND --help` has
examples. *The filters* are `--vault`, `--tag`, `--from`, `--to` and `--path`.
`rag --install-completion` lets your shell complete all of it. Of an option and its opposite
(`--plan --no-plan`) the last one counts.
"""
_EXIT_CODES = (
    "Exit codes: 0 done, at least one result · 1 nothing found, worse than the baseline, or a check"
    " that failed · 2 usage or configuration error · 3 no index, or one that must be rebuilt · 4 a"
    " service did not answer · 5 finished, but some notes or their vectors failed · 74 the"
    " output cannot be written · 75 another process is indexing · 130 interrupted."
)


_MANY = 2  # commands; an option that several have alike is described once
_NEARLY_ALL = ("--config", "--json", "--quiet")
_FILTERS = ("--vault", "--tag", "--from", "--to", "--path")


def command_reference() -> str:
    """Return the reference of all commands as Markdown."""
    commands = dict(all_commands())
    uses = Counter(_entry(option) for command in commands.values() for option in _options(command))
    shared = [entry for entry, count in uses.items() if count >= _MANY]
    sections = [_command_section(name, command, shared) for name, command in commands.items()]
    head = [f"{_COMMANDS_HEAD}\n{fill(_EXIT_CODES, 96)}\n", "## Options of many commands\n"]
    return "\n".join([*head, *map("- {}".format, sorted(shared)), "", *sections])


def all_commands() -> Iterator[tuple[str, Any]]:
    """Yield the commands by their names, those of a group as `vault add`."""
    for name in sorted(COMMANDS):
        command: Any = load_command(name)
        if hasattr(command, "commands"):
            for inner, nested in sorted(command.commands.items()):
                yield f"{name} {inner}", nested
        else:
            yield name, command


def _command_section(name: str, command: Any, shared: Sequence[str]) -> str:
    text = (command.help or "").partition("\b")[0]
    lines = [f"## rag {name}", "", " ".join(text.partition("\n\n")[0].split()), ""]
    entries = {_entry(option): option for option in _options(command)}
    lines += [f"- {entry}" for entry in entries if entry not in shared]
    common = [
        option.opts[0] if option.opts[0].startswith("-") else option.metavar
        for entry, option in entries.items()
        if entry in shared
    ]
    if {*_FILTERS} <= {*common}:
        common = ["filters", *(name for name in common if name not in _FILTERS)]
    if named := [f"`{name}`" for name in common if name not in _NEARLY_ALL]:
        lines.append(f"- and {', '.join(named).replace('`filters`', 'the filters')}")
    return "\n".join([*lines, ""])


def _options(command: Any) -> list[Any]:
    return [parameter for parameter in command.params if parameter.name != "help"]


def _entry(parameter: Any) -> str:
    """Return the names of a parameter (of an argument its placeholder), and its help."""
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`: {parameter.help or ''}"
    label = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    if parameter.metavar and not parameter.is_flag:
        label += f" {parameter.metavar}"
    return f"{label}: {parameter.help or ''}"


# -- docs/json.md ------------------------------------------------------------

_JSON_HEAD = """# JSON

Made by `make docs` from the types of reports; a test compares them. Each command prints one object
with `--json`, whose first field is `"schema": 1`; `rag search --format jsonl` prints an object a
line, each a [Result](#result). Fractions have six digits. Fields may be added to schema 1; none
changes its name or its type. What goes wrong is an object too, beside its exit code:
`{"schema": 1, "error": {"kind": …, "message": …, "hint": …}}`. `kind` is stable, `hint` names the
command to type, and `suggestions` are names that are near.

A field without a type is a string, `T[]` a list, `{T}` an object of such values; a field with `?`
is left out where there is nothing to say. These mean the same everywhere:

- `vault`, `path`, `title`, `file`: of a note, and where it is on disk; `id`: what `rag get` takes
- `line_start`, `line_end`: lines of the file, from 1
- `created`, `modified`: a day, or a day and a time; empty where it is not known
- `notices`, `problems`: sentences, on what there is to know and what is wrong
- `corrections`, `missing`: words that no note holds, with what was searched for; the others
- `route`, `variants`, `plan`: one of `[routes]`; other wordings; what was understood
- `total`, `elapsed_ms`, `index`: how many; from request to report; the state of the index
"""
_EVERYWHERE = frozenset(re.findall(r"`(\w+)`", _JSON_HEAD.partition("everywhere:")[2]))
# Which reports each command prints, the usual one first.
_REPORTS = {
    "search": "search.SearchReport",
    "ask": "ask.AnswerReport",
    "chat": "chat.TurnReport chat.SessionsReport chat.CommandReport",
    "get": "notes.NoteReport notes.NotesReport",
    "related": "related.RelatedReport notes.LinksReport",
    "plan": "plan.PlanReport",
    "transform": "plan.TransformReport",
    "audit": "plan.AuditReport plan.RecordReport plan.Replay",
    "eval": "evaluate.EvaluationReport",
    "index": "sync.SyncReport sync.SyncCopy",
    "status": "status.StatusReport",
    "tags": "workspace.CountsReport",
    "doctor": "doctor.DoctorReport",
    "vault": "vaults.VaultsReport vaults.VaultChange",
    "config": "settings.SettingsReport",
    "trust": "settings.TrustReport settings.TrustListReport settings.TrustRemovedReport",
    "init": "setup.SetupReport",
    "warm": "program_start.WarmReport program_start.StoppedReport",
    "service": "service.InstallReport service.RemovalReport service.ServiceReport",
    "mcp": "program_start.ClientConfig",
}
_NAMES = {
    **dict.fromkeys(("str", "Path", "date", "Day", "AwareDatetime"), "string"),
    **dict.fromkeys(("int", "float"), "number"),
    "bool": "boolean",
    "None": "null",
    "Any": "anything",
    "RAGError": "error",
}


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
        sections.append(page.section(page.waiting.pop(0)))
    return "\n".join(sections)


_FEW = 5  # fields; a type of so few that say what they are stands where it is used


class _Page:
    """The types that were described, and those that wait for it."""

    def __init__(self) -> None:
        self.described: set[type] = set()
        self.waiting: list[type] = []

    def section(self, kind: type) -> str:
        """Return a type as Markdown: what it is, and a line for each field."""
        self.described.add(kind)
        text = cleandoc(kind.__doc__ or "").partition(":param ")[0]
        if hasattr(kind, "to_json"):
            text += f" {cleandoc(kind.to_json.__doc__ or '')}"
        rows = [] if hasattr(kind, "to_json") else [*self._fields(kind)]
        plain = [row for row in rows if ": " not in row]
        told = [row for row in rows if ": " in row]
        lines = [f"### {kind.__name__}", ""]
        if not rows or (not told and "`" in text):
            lines += [re.split(r"(?<=\.) ", " ".join(text.split()), maxsplit=1)[0], ""]
        lines += [f"- {', '.join(plain)}"] if plain else []
        return "\n".join([*lines, *map("- {}".format, told), *[""] * bool(rows)])

    def _fields(self, kind: type) -> Iterator[str]:
        docs = "\n\n".join(cleandoc(base.__doc__ or "") for base in kind.__mro__)
        texts = dict(re.findall(r":param (\w+): (.*?)(?=\n:|\n\n|\Z)", docs, re.S))
        if not is_dataclass(kind):
            models: Mapping[str, Any] = getattr(kind, "model_fields", {})
            for name in models:
                type_ = self._type(_annotations(kind).get(name, ""), kind)
                yield _line(name, type_, texts.get(name, ""))
            return
        for name, each, mark in written_fields(kind):
            if mark == INLINE:
                whether = "" if each.default is not None else ", where there is one"
                inner = self._type(str(each.type), kind).removesuffix(" or null")
                yield f"all of {inner}{whether}"
            else:
                type_ = self._type(str(each.type), kind, " or null" if mark == NULLABLE else "")
                yield _line(name, type_, texts.get(name, ""), "?" * (mark == OPTIONAL))

    def _type(self, annotation: str, kind: type, more: str = "") -> str:
        """Return a type in words, with links to the types of ours in it."""
        ours, small = set(), {}
        for inner in self._kinds(annotation, kind):
            if members := self._few_fields(inner):
                small[inner.__name__] = members
                continue
            ours.add(inner.__name__)
            if inner not in self.described and inner not in self.waiting:
                self.waiting.append(inner)
        text = annotation
        if literal := re.fullmatch(r"Literal\[(.*)\](.*)", text):
            values = [f"`{value}`" for value in re.findall(r"""["'](\w+)["']""", literal[1])]
            return " or ".join(values) + more
        text = re.sub(r"\btuple\[(\w+), (?:\1|\.\.\.)\]", r"\1()", text)
        text = re.sub(r"\b(?:list|Sequence)\[([^\[\]]*)\]", r"\1()", text)
        for _ in range(2):  # a table may hold tables
            keys = r"(?:str|tuple\[[^\]]*\])"
            text = re.sub(rf"\b(?:dict|Mapping)\[{keys}, ([^\[\]]*)\]", r"{\1}", text)
        text = text.replace(" | ", " or ")
        words = (
            f"[{word}](#{word.lower()})" if word in ours else (_NAMES | small).get(word, word)
            for word in re.split(r"(\W+)", text)
        )
        return "".join(words).replace("()", "[]") + more

    def _few_fields(self, kind: type) -> str:
        """Return a type that needs no section as `{name,other:number}`, "" for any other."""
        if not is_dataclass(kind) or hasattr(kind, "to_json") or len(fields(kind)) > _FEW:
            return ""
        if any(mark_of(each) or [*self._kinds(str(each.type), kind)] for each in fields(kind)):
            return ""
        rows = [row.strip("`") for row in self._fields(kind)]
        return "" if any(": " in row for row in rows) else f"{{{','.join(rows)}}}"

    def _kinds(self, annotation: str, kind: type) -> Iterator[type]:
        """Yield the types of ours that an annotation names."""
        homes = [sys.modules[base.__module__] for base in kind.__mro__[:-1]]
        for word in re.findall(r"\b[A-Z]\w+", annotation):
            named = next(filter(None, (class_named(word, home) for home in homes)), None)
            if named and named.__module__.startswith("rag.") and word not in _NAMES:
                yield named


def _annotations(kind: type) -> dict[str, str]:
    """Return the annotations of a class, as they are written."""
    own = vars(kind).get("__annotations__", {})
    return {name: text if isinstance(text, str) else text.__name__ for name, text in own.items()}


def _first_clause(text: str) -> str:
    """Return the beginning of a text, up to a mark that ends a clause; "" where it says nothing."""
    first = " ".join(text.split()).partition("; ")[0].partition(". ")[0].removesuffix(".")
    if "`" not in first:
        first = re.split(r", |: | \(| where | since | that is ", first, maxsplit=1)[0]
    return first if len(first.split()) > 4 else ""


def _line(name: str, type_: str, text: str, mark: str = "") -> str:
    """Return what there is to say of a field; of a string its type goes without saying."""
    links = re.findall(r"\]\((#\w+)\)", type_)
    type_ = re.sub(r"\[(\w+)\]\(#\w+\)", r"\1", type_).replace(" or ", "|").replace("`", "")
    type_ = type_.removesuffix("|null") if mark else type_
    label = f"`{name}{mark}`" if type_ == "string" else f"`{name}{mark}:{type_}`"
    first = "" if name in _EVERYWHERE else _first_clause(text)
    return f"{f'[{label}]({links[0]})' if links else label}{': ' * bool(first)}{first}"


if __name__ == "__main__":
    print({"commands": command_reference, "json": json_reference}[sys.argv[1]](), end="")
