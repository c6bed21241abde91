"""What is printed: results and data on stdout, messages on stderr, broken between words.

Nothing that a name, a setting or an error brings along steers the terminal. All that people read
goes through `print_line`, `say`, `print_text` or a console of `rag.cli.render.terminal`, and each
of them makes visible what is not. Rich is imported only by what needs styles.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, TextIO
from zlib import crc32

from rag.exceptions import RAGError, RunInterruptedError, Standing
from rag.text.messages import plural as plural
from rag.text.sanitize import escaped_json, visible_lines, without_controls
from rag.text.sanitize import visible as visible

SCHEMA = 1
clean = without_controls  # what a note or a model says; names are made `visible`
_NARROW = 20  # characters, which fit any terminal
_LONGEST_INPUT = 100_000  # characters of stdin that are read; no query may be nearly as long

# -- data, on stdout -----------------------------------------------------------------------


def to_json_text(value: Any, indent: int | None = None) -> str:
    """Return JSON that shows other scripts as they are, and escapes what steers a terminal."""
    return escaped_json(json.dumps(value, ensure_ascii=False, indent=indent))


def print_report(report: object) -> None:
    """Print a report, or an error, as the one JSON object of `--json`."""
    sys.stdout.write(json_line(report) + "\n")


def json_line(report: object) -> str:
    """Return a report, or a part of one, as JSON with the schema's version first."""
    from rag.support.json_reports import to_json

    return to_json_text({"schema": SCHEMA, **to_json(report)})


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
    name = visible(str(file)) if sys.stdout.isatty() else str(file)
    print_data(name + ("\0" if nul else "\n"))


def print_data(text: str) -> None:
    """Print lines for programs: in visible characters on a terminal, else byte for byte."""
    if sys.stdout.isatty():
        sys.stdout.write(visible_lines(text) if "\0" not in text else text)
        return
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


# -- messages, on stderr -------------------------------------------------------------------


def say(text: str) -> None:
    """Print a message, one line, for the person at the terminal."""
    _write_line(sys.stderr, visible(text))


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
    suggestions: list[str] = getattr(error, "suggestions", [])
    if isinstance(error, RunInterruptedError):
        say("")  # after the ^C that the terminal shows
    say(f"rag: {error}")
    for suggestion in suggestions:
        say(f"  {suggestion}")
    if error.hint:
        say(error.hint)


_KEPT = 24 * 3600.0  # seconds that a terminal is known to have been told something
_TOLD = ".told"


def is_news(text: str) -> bool:
    """Return whether a text is said for the first time since a terminal was opened, or today.

    Numbers in it do not matter. Off a terminal, and where nothing can be remembered, all is news.
    """
    from rag.support.runtime_folder import UntrustedError, folder, open_file, open_folder

    try:
        terminal = os.fstat(sys.stderr.fileno())
        if not sys.stderr.isatty():
            return True
        within = open_folder(folder(), make=True)
    except (OSError, ValueError, UntrustedError):
        return True
    opened = f"{terminal.st_rdev} {terminal.st_ctime_ns} {re.sub('[0-9]+', '', text)}"
    name = f"{crc32(opened.encode('utf-8', 'replace')):08x}{_TOLD}"
    try:
        _forget_old(within)
        os.close(open_file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, within))
    except FileExistsError:
        return False
    except OSError:
        return True
    finally:
        os.close(within)
    return True


def _forget_old(within: int) -> None:
    """Remove what was said more than a day ago."""
    for name in os.listdir(within):
        if name.endswith(_TOLD):
            with suppress(OSError):
                age = time.time() - os.stat(name, dir_fd=within, follow_symlinks=False).st_mtime
                if not 0 <= age < _KEPT:
                    os.unlink(name, dir_fd=within)


# -- stdin ---------------------------------------------------------------------------------


def read_stdin() -> str:
    """Return what stands in stdin, as far as a query may go."""
    tolerate_stdin()
    return sys.stdin.read(_LONGEST_INPUT).strip() if sys.stdin else ""


def read_line_of_stdin() -> str:
    """Return the next line of stdin, its beginning if it is far too long; empty at the end."""
    line = part = sys.stdin.readline(_LONGEST_INPUT)
    while len(part) == _LONGEST_INPUT and not part.endswith("\n"):
        part = sys.stdin.readline(_LONGEST_INPUT)
    return line


def tolerate_stdin() -> None:
    """Read stdin as UTF-8 in any locale, bytes that are none replaced."""
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")


# -- lines broken between words ------------------------------------------------------------

# Rich breaks a text of Chinese or Japanese at any character, before a 。 and inside a Latin word
# among them. Here no line begins with such a mark or ends with one such as 「, and words are whole.
_WORD = re.compile(r"[^ ]+ *")
_WIDE = (
    "\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f"
    "\uff01-\uff60\uffe0-\uffe6\U00020000-\U0003fffd"
)
_OPENING, _CLOSING = (
    "（「『【〔《〈［｛(",
    "、。，．・：；？！）」』】〕》〉］｝々ー…ぁぃぅぇぉっゃゅょァィゥェォッャュョ",
)
_UNIT = re.compile(rf"[{_OPENING}]*(?:[^ {_WIDE}]+|[{_WIDE}]?)[{_CLOSING}]* *|.", re.DOTALL)


def wrapped(text: str, columns: int, indent: int = 0) -> str:
    """Return a line as lines that are no wider than a terminal, if words let it.

    A word that is wider by itself stays whole: the terminal breaks it, and a path that is copied
    from there is one.

    :param columns: of the terminal; a character of Chinese or Japanese fills two.
    :param indent: columns that all lines but the first begin after.
    """
    edges = [0, *line_starts(text, columns, indent), len(text)]
    lines = [text[start:end].rstrip(" ") for start, end in pairwise(edges)]
    return text if width(text) <= columns else f"\n{' ' * indent}".join(lines)


def line_starts(text: str, columns: int, indent: int = 0) -> Iterator[int]:
    """Yield where the lines of a text begin that is broken so, but for the first."""
    if width(text) <= columns:
        return
    at = start = used = len(text) - len(text.lstrip(" "))
    for unit in _units(text[start:], columns - indent):
        if at > start and used + width(unit.rstrip(" ")) > columns:
            yield at
            start, used = at, indent
        at, used = at + len(unit), used + width(unit)


def _units(text: str, columns: int) -> Iterator[str]:
    """Yield what is not broken: words, which may be paths, and single wide characters."""
    for word in _WORD.findall(text):
        if word.isascii() or ("/" in word and width(word.rstrip(" ")) <= columns):
            yield word
        else:
            yield from filter(None, _UNIT.findall(word))


def width(text: str) -> int:
    """Return how many columns a text fills."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def _columns_of(stream: TextIO) -> int:
    """Return how wide the terminal of a stream is; 80 where it does not say."""
    if os.environ.get("COLUMNS", "").strip("0"):
        return get_terminal_size().columns
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):  # it is none, or no file
        return 80


def _write_line(stream: TextIO, line: str, indent: int = 0) -> None:
    """Write a line; on a terminal that is too narrow it is broken between words."""
    if len(line) > _NARROW and stream.isatty():
        line = wrapped(line, _columns_of(stream), indent)
    stream.write(line + "\n")
