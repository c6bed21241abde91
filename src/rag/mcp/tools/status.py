"""The tool `status`: what the index holds, how old it is, and what is wrong with notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag.mcp.library import Library
from rag.mcp.protocol import ArgumentError, Call
from rag.mcp.results import Result, clean_line, listed
from rag.text.messages import brief, plural

if TYPE_CHECKING:
    from rag.app.status import StatusReport
    from rag.mcp.requests import Status

_MOST_PROBLEMS = 20


def run(library: Library, asked: Status, call: Call) -> Result:
    """Return the state of the index, or what its notes have with counts.

    :raises ArgumentError: for `of` without `list`.
    :raises IndexUnavailableError: when there is none.
    """
    if asked.of and not asked.list:
        raise ArgumentError("of goes with list")
    with library.reader() as workspace:
        if not asked.list:
            return _state(workspace.status())
        counts = workspace.count_notes(asked.list, asked.of)
    named = f"{asked.list} of {brief(asked.of)!r}" if asked.of else asked.list
    if not counts:
        return Result(f"The notes have no {named}.")
    mark = "#" if asked.list == "tags" else ""
    blocks = [
        f"{notes:>6,}  {mark}{brief(clean_line(name), 200)}" for name, notes in counts.items()
    ]
    return Result(f"{len(counts):,} {named}, with how many notes have each.", listed(blocks))


def _state(report: StatusReport) -> Result:
    age = "not known to be up to date"
    if report.changed is not None:
        age = f"{plural(report.changed, 'note')} changed since" if report.changed else "up to date"
    lines = [
        f"{plural(report.notes, 'note')} in {plural(report.chunks, 'chunk')}",
        f"indexed {report.indexed_at}, {age}",
        _meaning(report),
        f"index {report.path}",
    ]
    vaults = [
        f"vault {clean_line(vault.name)}: {plural(vault.notes, 'note')}, {vault.path}"
        for vault in report.vaults
    ]
    vaults += [f"vault {clean_line(name)}: not indexed yet" for name in report.not_indexed]
    if report.problems:
        lines.append(f"{plural(len(report.problems), 'note')} could not be read as meant:")
    problems = [
        f"  {clean_line(f'{one.vault}/{one.path}')}: {clean_line('; '.join(one.problems))[:200]}"
        for one in report.problems[:_MOST_PROBLEMS]
    ]
    if more := len(report.problems) - len(problems):
        problems.append(f"  … and {more:,} more")
    data = "\n".join([*lines[:4], listed(vaults), *lines[4:], *problems])
    return Result("", data, meta={"rag/index": report.path})


def _meaning(report: StatusReport) -> str:
    made = report.embedded
    if made is None or not made.embedded:
        return "no embeddings: notes are found by words"
    return (
        f"embeddings of {made.embedded:,} of {plural(made.readable, 'chunk')}, {made.space.model}"
    )
