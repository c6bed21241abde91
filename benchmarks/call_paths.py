"""How many functions and modules of the program a command passes through.

    python benchmarks/call_paths.py

Each command runs once, to import what it needs, and once more, counted: every function of `rag`
that is called, and every module that one of them is in. Run it with the interpreters of two
versions to compare them.
"""

import io
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import rag
from measuring import environment
from rag.cli.app import run

SOURCE = str(Path(rag.__file__).parent)
_LONG_AGO = 1_700_000_000
COMMANDS = (
    ("search", "rolling back a bad deploy"),
    ("search", "rolling back a bad deploy", "--json"),
    ("ask", "When do holds expire?"),
    ("get", "Glossary"),
    ("status",),
    ("config",),
    ("doctor",),
    ("index",),  # nothing changed
)
NOTES = {
    "Deploys.md": "# Deploys\n\nRolling back a bad deploy takes one command.\n",
    "Holds.md": "# Holds\n\nHolds expire after seven days.\n",
    "Glossary.md": "# Glossary\n\nA hold keeps a book for a reader.\n",
}


def called(work: Callable[[], Any]) -> set[CodeType]:
    """Return the functions of the program that are called while some work is done."""
    found: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            found.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def _quietly(*arguments: str) -> int:
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return run([*arguments])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.environ.update(environment(home, RAG_EMBEDDING__PROVIDER="auto"))
        (home / "notes").mkdir()
        for name, text in NOTES.items():
            note = home / "notes" / name
            note.write_text(text, "utf-8")
            os.utime(note, (_LONG_AGO, _LONG_AGO))  # one just written is read a second time
        os.chdir(home)
        assert _quietly("index", str(home / "notes")) == 0
        print(f"{'command':44} {'functions':>9} {'modules':>8}")
        for command in COMMANDS:
            assert _quietly(*command) <= (command == ("doctor",)), command  # 1: it found something
            functions = called(lambda command=command: _quietly(*command))  # type: ignore[misc]
            named = {code for code in functions if not code.co_name.startswith("<")}
            modules = {code.co_filename for code in named}
            print(f"{' '.join(command):44} {len(named):9} {len(modules):8}")


if __name__ == "__main__":
    main()
