"""What is printed: results and data on stdout, messages on stderr.

Nothing that a name, a setting or an error brings along steers the terminal. All that people read
goes through `print_line`, `say`, `print_text` or a console of `make_console`, and each of them
makes visible what is not: so does the console even with what was forgotten to be cleaned.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, TextIO

from rag.exceptions import RAGError, RunInterruptedError, Standing
from rag.text.messages import plural as plural
from rag.text.sanitize import escaped_json, visible_lines, without_controls
from rag.text.sanitize import visible as visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

SCHEMA = 1
_NARROW = 20  # characters, which fit any terminal
clean = without_controls  # what a note or a model says; names are made `visible`


def _print_json(data: dict[str, Any]) -> None:
    """Print one JSON object with the schema's version first."""
    sys.stdout.write(to_json_text({"schema": SCHEMA, **data}) + "\n")


def to_json_text(value: Any, indent: int | None = None) -> str:
    """Return JSON that shows other scripts as they are, and escapes what steers a terminal."""
    return escaped_json(json.dumps(value, ensure_ascii=False, indent=indent))


def print_line(text: str, indent: int = 0) -> None:
    """Print a line of data, in which every character is seen.

    :param indent: columns that its further lines begin after, where a terminal is too narrow.
    """
    _write_line(sys.stdout, visible(text), indent)


def print_text(text: str) -> None:
    """Print lines of a note: without what steers a terminal on one, else as they are."""
    sys.stdout.write((visible_lines(clean(text)) if sys.stdout.isatty() else text) + "\n")


def print_file(file: Path, nul: bool = False) -> None:
    """Print a file's name: in visible characters on a terminal, else byte for byte.

    :param nul: end it by the NUL that no name holds, and not by a line break, which one may.
    """
    name, end = str(file), "\0" if nul else "\n"
    if sys.stdout.isatty():
        sys.stdout.write(visible(name) + end)
    else:
        _write_exactly(name + end)


def print_data(text: str) -> None:
    """Print lines for programs: in visible characters on a terminal, else byte for byte."""
    if sys.stdout.isatty():
        sys.stdout.write(visible_lines(text))
    else:
        _write_exactly(text)


def _write_exactly(text: str) -> None:
    """Write a text whose names are the bytes of the disk."""
    if not hasattr(sys.stdout, "buffer"):
        sys.stdout.write(text)
        return
    sys.stdout.flush()
    try:
        # As `os.fsencode` would where names are UTF-8, but in any locale.
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a pair, which front matter can spell, is no byte
        raw = text.encode("utf-8", "replace")
    sys.stdout.buffer.write(raw)


def say(text: str) -> None:
    """Print a message, one line, for the person at the terminal."""
    _write_line(sys.stderr, visible(text))


def say_notice(notice: str, before: str = "") -> None:
    """Print a notice after some words; one on how things are once on a terminal, not each time."""
    if isinstance(notice, Standing):
        from rag.cli.render.session import is_news

        # What is to be done may change, such as when a server is asked again.
        if not is_news(notice.partition(". ")[0]):
            return
    say(before + notice)


def _write_line(stream: TextIO, line: str, indent: int = 0) -> None:
    """Write a line; on a terminal that is too narrow it is broken between words."""
    if len(line) > _NARROW and stream.isatty():
        from rag.cli.render.wrapping import columns_of, wrapped

        line = wrapped(line, columns_of(stream), indent)
    stream.write(line + "\n")


def print_between_words(
    console: Console, text: Text | str, style: str | None = None, indent: int = 0
) -> None:
    """Print a line on a console: broken between words on a terminal, whole off it.

    :param indent: columns that its further lines begin after.
    """
    from rich.text import Text

    whole = Text(text) if isinstance(text, str) else text
    if not console.is_terminal:
        print_whole(console, whole)
        return
    from rag.cli.render.wrapping import wrapped_text

    lines = wrapped_text(whole, console.width, indent)
    console.print(lines, style=style, soft_wrap=True)


def print_whole(console: Console, text: Text) -> None:
    """Print lines off a terminal, as a console does: without styles, no line broken."""
    if "\t" in text.plain:  # it would be blanks
        console.print(text, soft_wrap=True)
        return
    console.file.write(visible_lines(text.plain) + "\n")
    console.file.flush()  # what is said on stderr next comes next


def print_report(report: object) -> None:
    """Print a report, or an error, as the one JSON object of `--json`."""
    from rag.app.schema import to_json

    _print_json(to_json(report))


def print_error(error: RAGError, as_json: bool) -> None:
    """Print an error: its cause, what lies behind it, what is near, and what to type next."""
    if as_json:
        print_report(error)
        return
    suggestions: list[str] = getattr(error, "suggestions", [])
    if isinstance(error, RunInterruptedError):
        say("")  # after the ^C that the terminal shows
    say(f"rag: {error}")
    for suggestion in suggestions:
        say(f"  {suggestion}")
    if error.hint:
        say(error.hint)


def make_console(stderr: bool = False) -> Console:
    """Return a Rich console that prints text as it is, without colour or cuts off a terminal."""
    from rag.cli.render.terminal import SafeConsole

    # Rich takes COLUMNS=0, which some programs set for "unknown", at its word.
    is_unknown = not os.environ.get("COLUMNS", "80").strip("0")
    return SafeConsole(
        stderr=stderr,
        width=get_terminal_size().columns if is_unknown else None,
        highlight=False,
        emoji=False,
        markup=False,
        soft_wrap=False,
    )
