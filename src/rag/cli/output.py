"""What is printed: results and data on stdout, messages on stderr."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from rag.exceptions import RAGError
from rag.text.controls import without_controls
from rag.text.wording import plural as plural

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = 1
clean = without_controls


def print_json(data: dict[str, Any]) -> None:
    """Print one JSON object with the schema's version first."""
    sys.stdout.write(json.dumps({"schema": SCHEMA, **data}, ensure_ascii=False) + "\n")


def print_line(text: str) -> None:
    """Print a line of data as it is."""
    sys.stdout.write(text + "\n")


def print_file(file: Path) -> None:
    """Print a file's name, byte for byte as the disk has it, on a line of its own."""
    if hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(os.fsencode(file) + b"\n")
    else:
        print_line(str(file))


def say(text: str) -> None:
    """Print a message for the person at the terminal."""
    sys.stderr.write(clean(text) + "\n")


def print_error(error: RAGError, as_json: bool) -> None:
    """Print an error: its cause, what lies behind it, what is near, and what to type next."""
    suggestions: list[str] = getattr(error, "suggestions", [])
    if as_json:
        body = error_to_dict(error)
        print_json({"error": {**body, **({"suggestions": suggestions} if suggestions else {})}})
        return
    say(f"rag: {error}")
    for suggestion in suggestions:
        say(f"  {suggestion}")
    if error.hint:
        say(error.hint)


def error_to_dict(error: RAGError) -> dict[str, str]:
    """Return an error in the shape of the command line's JSON."""
    return {"kind": error.kind, "message": str(error), "hint": error.hint}


def make_console(stderr: bool = False) -> Console:
    """Return a Rich console that prints text as it is, without colour or cuts off a terminal."""
    from rich.console import Console

    # Rich takes COLUMNS=0, which some programs set for "unknown", at its word.
    is_unknown = not os.environ.get("COLUMNS", "80").strip("0")
    return Console(
        stderr=stderr,
        width=get_terminal_size().columns if is_unknown else None,
        highlight=False,
        emoji=False,
        markup=False,
        soft_wrap=False,
    )


def shortened(text: str, width: int = 80) -> str:
    """Return the beginning of a text that may be long."""
    return text if len(text) <= width else f"{text[: width - 1]}…"
