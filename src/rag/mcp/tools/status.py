"""The tool `status`: what the index holds, how old it is, and what is wrong with notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag.app.schema import to_json
from rag.mcp.calls import Call
from rag.mcp.library import Library
from rag.mcp.remedies import worded
from rag.mcp.results import ToolResult, as_data, clean_line
from rag.text.messages import plural

if TYPE_CHECKING:
    from rag.app.status import StatusReport

_MOST_PROBLEMS = 20


def run(library: Library, arguments: dict[str, Any], call: Call) -> ToolResult:
    """Return the state of the index.

    :raises IndexUnavailableError: when there is none.
    """
    with library.reader() as workspace:
        report = workspace.status()
    found = to_json(report, worded)
    structured = {
        "index": {name: value for name, value in found["index"].items() if name != "fingerprint"},
        "vaults": found["vaults"],
        "not_indexed": found["not_indexed"],
        "problems": found["problems"][:_MOST_PROBLEMS],
    }
    return ToolResult(_text(report), structured)


def _text(report: StatusReport) -> str:
    age = "not known to be up to date"
    if report.changed is not None:
        age = f"{plural(report.changed, 'note')} changed since" if report.changed else "up to date"
    lines = [
        f"{plural(report.notes, 'note')} in {plural(report.chunks, 'chunk')}",
        f"indexed {report.indexed_at}, {age}",
        _meaning(report),
        f"index {report.path}",
    ]
    lines += [
        f"vault {clean_line(vault.name)}: {plural(vault.notes, 'note')}, {vault.path}"
        for vault in report.vaults
    ]
    lines += [f"vault {clean_line(name)}: not indexed yet" for name in report.not_indexed]
    if report.problems:
        lines.append(f"{plural(len(report.problems), 'note')} could not be read as meant:")
    for one in report.problems[:_MOST_PROBLEMS]:
        why = clean_line("; ".join(one.problems))[:200]
        lines.append(f"  {clean_line(f'{one.vault}/{one.path}')}: {why}")
    if report.changed:
        lines.append("Tell the user to run `rag index`.")
    return as_data("\n".join(lines))


def _meaning(report: StatusReport) -> str:
    made = report.embedded
    if made is None or not made.embedded:
        return "no embeddings: notes are found by words"
    return (
        f"embeddings of {made.embedded:,} of {plural(made.readable, 'chunk')}, {made.space.model}"
    )
