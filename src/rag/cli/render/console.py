"""What is printed: results and data on stdout, messages on stderr.

Nothing that a name, a setting or an error brings along steers the terminal. All that people read
goes through `print_line`, `say`, `print_text` or a console of `rag.cli.render.terminal`, and each
of them makes visible what is not. Rich is imported only by what needs styles.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable
from typing import Any
from zlib import crc32

import typer

from rag.exceptions import RAGError, RunInterruptedError, Standing
from rag.text.messages import escaped_json, visible_lines, without_controls
from rag.text.messages import plural as plural
from rag.text.messages import visible as visible

SCHEMA = 1
clean = without_controls  # what a note or a model says; names are made `visible`
LONGEST_INPUT = 100_000  # characters of stdin that are read; no query may be nearly as long


def to_json_text(value: Any, indent: int | None = None) -> str:
    """Return JSON that shows other scripts as they are, and escapes what steers a terminal."""
    return escaped_json(json.dumps(value, ensure_ascii=False, indent=indent))


def json_line(report: object) -> str:
    """Return a report, or a part of one, as JSON with the schema's version first."""
    from rag.support.json_reports import to_json

    return to_json_text({"schema": SCHEMA, **to_json(report)})


def print_report(report: object) -> None:
    """Print a report, or an error, as the one JSON object of `--json`."""
    sys.stdout.write(json_line(report) + "\n")


def show(report: object, as_json: bool, lines: Iterable[str], nothing: str = "") -> None:
    """Print a report as JSON, or what is for people as lines; where there are none, say `nothing`
    and end with the exit code of a search that found nothing."""
    lines = [*lines] if nothing or not as_json else []
    if as_json:
        print_report(report)
    for line in () if as_json else lines:
        print_line(line)
    if nothing and not lines:
        if not as_json:
            say(nothing)
        raise typer.Exit(1)


def print_line(text: str) -> None:
    """Print a line of data, in which every character is seen."""
    sys.stdout.write(visible(text) + "\n")


def print_text(text: str) -> None:
    """Print lines of a note: without what steers a terminal on one, else as they are."""
    sys.stdout.write((visible_lines(clean(text)) if sys.stdout.isatty() else text) + "\n")


def print_data(text: str, end: str = "") -> None:
    """Print a text for programs: in visible characters on a terminal, else byte for byte; `end` is
    what ends it, a NUL where a line break may be part of it."""
    if sys.stdout.isatty():
        sys.stdout.write(visible_lines(text) + end)
        return
    text += end
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
    sys.stderr.write(visible(text) + "\n")


def say_notice(notice: str, before: str = "") -> None:
    """Print a notice after some words; one on how things are once on a terminal, not each time."""
    # What is to be done may change, such as when a server is asked again.
    if not isinstance(notice, Standing) or is_news(notice.partition(". ")[0]):
        say(before + notice)


def print_error(error: RAGError, as_json: bool) -> None:
    """Print an error: its cause, what lies behind it, what is near, and what to type next."""
    if as_json:
        print_report(error)
        return
    if isinstance(error, RunInterruptedError):
        say("")  # after the ^C that the terminal shows
    say(f"rag: {error}")
    for suggestion in error.suggestions:
        say(f"  {suggestion}")
    if error.hint:
        say(error.hint)


def is_news(text: str) -> bool:
    """Return whether a text is said for the first time since a terminal was opened.

    Numbers in it do not matter. Off a terminal, and where nothing can be remembered, all is news.
    """
    from rag.support.runtime_folder import UntrustedError, folder, open_file

    try:
        terminal = os.fstat(sys.stderr.fileno())
        opened = f"{terminal.st_rdev} {terminal.st_ctime_ns} {re.sub('[0-9]+', '', text)}"
        path = f"{folder()}/{crc32(opened.encode('utf-8', 'replace')):08x}.told"
        if sys.stderr.isatty():
            os.close(open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    except (OSError, ValueError, UntrustedError):
        pass
    return True


def read_stdin() -> str:
    """Return what stands in stdin, as far as a query may go."""
    tolerate_stdin()
    return sys.stdin.read(LONGEST_INPUT).strip() if sys.stdin else ""


def tolerate_stdin() -> None:
    """Read stdin as UTF-8 in any locale, bytes that are none replaced."""
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
