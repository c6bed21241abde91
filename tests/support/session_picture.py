"""Draw the session of docs/search.md as it looks on a terminal: docs/images/session.svg.

The commands are run anew, on the sample vaults in a data folder of their own.

    python tests/support/session_picture.py
"""

import io
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs/images/session.svg"
COLUMNS = 92
_SESSION = re.compile(r"```console\n(.*?)```", re.S)
_FONT = re.compile(r"@font-face \{.*?\}\s*", re.S)  # of another server
_LENGTH = re.compile(r'textLength="([\d.]+)"([^>]*)>([^<]*)</text>')
_CELL = 12.2  # units of rich's pictures
_LINK = re.compile(rb"\x1b\]8;[^\x1b]*\x1b\\")


def main() -> None:
    """Run the commands and draw what they print."""
    session = _SESSION.search((ROOT / "docs/search.md").read_text("utf-8"))
    assert session is not None
    commands = [line[2:] for line in session[1].splitlines() if line.startswith("$ rag ")]
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as home:
        run(["rag", "index"], home)  # what is shown finds nothing to do
        for command in commands:
            typed = shlex.split(command, comments=True)
            console.print(Text.assemble(("$ ", "bold green"), (shlex.join(typed), "bold")))
            console.print(Text.from_ansi(run(typed, home)))
            console.print()
    picture = _FONT.sub("", console.export_svg(title="rag", theme=MONOKAI))
    PICTURE.write_text(_LENGTH.sub(_by_cells, picture), "utf-8")


def _by_cells(match: re.Match[str]) -> str:
    """Return the head of a text with its length in cells: rich takes the number of characters,
    into which wide ones are squeezed."""
    cells = cell_len(unescape(match[3]).replace("\xa0", " "))
    return f'textLength="{cells * _CELL:g}"{match[2]}>{match[3]}</text>'


def run(command: list[str], home: str) -> str:
    """Return what a command prints on a terminal, colours included."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("RAG_", "XDG_"))}
    own |= {"HOME": home, "RAG_OLLAMA__ENABLED": "false", "RAG_WARM": "0", "TERM": "xterm-256color"}
    terminal, inside = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env=own | {"COLUMNS": str(COLUMNS), "LINES": "60"},
        stdin=subprocess.DEVNULL,
        stdout=inside,
        stderr=inside,
    )
    os.close(inside)
    printed = bytearray()
    try:
        while part := os.read(terminal, 1 << 16):
            printed += part
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    process.wait()
    text = _LINK.sub(b"", bytes(printed)).decode("utf-8")
    return text.replace(str(ROOT), "…").replace("\r\n", "\n").strip("\n")


if __name__ == "__main__":
    main()
