"""Links to places in notes, which a terminal opens, or the program that opens links."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

FILE, OBSIDIAN = "file", "obsidian"


def link_to(template: str, file: Path, line: int, heading: str = "") -> str:
    """Return a link to a line of a note, with nothing in it that steers a terminal.

    :param template: `file`; `obsidian`, which opens the note at a heading; empty for `obsidian`
        inside a folder that it keeps, else `file`; or a link of an editor with `{path}`, `{line}`
        and `{col}`.
    :param heading: that of the section.
    """
    path = quote(os.fsencode(file))
    if not template:
        template = OBSIDIAN if _is_obsidian(file) else FILE
    if template == FILE:
        return f"file://{path}"
    if template == OBSIDIAN:
        section = f"%23{quote(heading, safe='')}" if heading else ""
        return f"obsidian://open?path={quote(os.fsencode(file), safe='')}{section}"
    made = template
    for name, value in (("{path}", path), ("{line}", str(line)), ("{col}", "1")):
        made = made.replace(name, value)
    return made


def _is_obsidian(file: Path) -> bool:
    # `Path.is_dir` raises where a folder may not be read.
    return any(os.path.isdir(folder / ".obsidian") for folder in file.parents)  # noqa: PTH112
