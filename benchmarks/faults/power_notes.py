"""The notes that are indexed, and what a whole index of them holds."""

from __future__ import annotations

import shutil
from pathlib import Path

from faults.power_verdicts import contents, run


def change(vault: Path, turn: int) -> None:
    """Write six notes at first; then change one, write another, and delete a third now and then."""
    notes = range(6) if turn == 0 else (turn % 6, 6 + turn)
    for number in notes:
        text = f"# Note {number}\n\nanchor turn{turn} of {number}\n\n## 見出し\n\nサーバー {turn}\n"
        (vault / f"n{number}.md").write_text(text, "utf-8")
    if turn % 3 == 2:
        (vault / f"n{5 + turn}.md").unlink()


def fresh_contents(room: Path, vault: Path) -> str:
    """Return what an index made just now of the notes holds."""
    fresh = room / f"fresh {vault.parent.name}"
    code, output = run(fresh, "index", "-q", str(vault))
    if code:
        raise RuntimeError(f"rag index: {output}")
    found = contents(fresh)
    shutil.rmtree(fresh)
    return found
