"""Print the page of JSON fields, made from the types: `python -m rag.app.json_reference`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import cleandoc, getsource, isclass
from types import ModuleType
from typing import Any, NamedTuple

from rag.support.json_reports import HIDDEN, INLINE, NULLABLE, OPTIONAL, mark_of

_HEAD = """# JSON

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
    "chat": "chat.TurnReport chat.SessionsReport chat.FactsReport chat.RememberedReport"
    " chat.ForgottenReport chat.SourcesReport chat.ClearedReport chat.ChatCommandsReport",
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


def reference() -> str:
    """Return the page as Markdown."""
    page = _Page()
    sections = [_HEAD]
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


def class_named(name: str, module: ModuleType) -> type | None:
    """Return a class that a name means in a module, be it imported for type checkers alone."""
    if isclass(named := getattr(module, name, None)):
        return named
    line = rf"from (rag[\w.]*) import (?:\([^)]*|[^(\n]*)\b{name}\b"
    found = re.search(line, getsource(module))
    return getattr(import_module(found[1]), name) if found else None


def _joined(row: _Field) -> str:
    """Return what there is to say of a field."""
    mark = "*optional*" if row.mark == OPTIONAL else ""
    return " ".join(filter(None, [mark, *row.text.split()])).replace("|", "\\|")


if __name__ == "__main__":
    print(reference(), end="")
