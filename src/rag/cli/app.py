"""The `rag` command: its commands, and the one place where errors become messages."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
from functools import cache
from itertools import pairwise
from json import JSONDecodeError
from pathlib import Path
from traceback import walk_tb
from typing import Any

import typer

from rag import __version__
from rag.cli.framework.lazy_group import (
    HELP_OPTIONS,
    ClickException,
    LazyGroup,
    NoArgsIsHelpError,
    NoSuchOption,
    prepared,
)
from rag.cli.render.console import print_error, say
from rag.exceptions import REBUILD_INDEX, IndexUnavailableError, RAGError, UsageError
from rag.support.process_exit import INTERRUPTED, LOST_OUTPUT, interrupted

_BARE_CONDITION = re.compile("-(tag|vault|path|title)[:：]")
_SURROGATE = re.compile("[\ud800-\udfff]")

app = typer.Typer(
    name="rag",
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": HELP_OPTIONS},
)


@app.callback()
def root(version: bool = typer.Option(False, help="Print the version.")) -> None:
    """Search your Markdown notes and ask them questions, on this machine.

    \b
    rag index ~/notes                index a folder (again: only what changed)
    rag search "rolling back"        find notes
    rag ask "How do holds expire?"   answer from them, with sources
    rag get "On-call handover"       print a note by title, alias, path or id
    """


@cache
def program() -> Any:
    """Return the commands as Typer makes them of `app`."""
    return prepared(typer.main.get_command(app))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    # One that was closed by whoever started us is replaced.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or sys.stdout
    # Text is UTF-8 whatever the locale says; cron's says ASCII. A character that cannot be
    # printed must not end a run.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    if arguments[:1] == ["help"]:  # as most programs take it
        arguments = [*(word for word in arguments[1:] if not word.startswith("-")), "--help"]
    try:
        if arguments[:1] == ["--version"]:
            sys.stdout.write(f"rag {__version__}\n")
            return 0
        return _run(arguments)
    except OSError as error:  # of printing: all others were printed
        # The reader of our output went away (`rag search … | head`): nothing is wrong.
        is_closed = isinstance(error, BrokenPipeError)
        if not is_closed:
            say(f"rag: the output cannot be written: {error.strerror or error}")
        # Let the interpreter's flush at exit fail no more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0 if is_closed else LOST_OUTPUT


def _run(arguments: list[str]) -> int:
    """Do as `run`, and print what goes wrong but with the output itself."""
    columns = min(100, shutil.get_terminal_size().columns)
    try:
        _check(arguments)
        given = {"prog_name": "rag", "standalone_mode": False, "terminal_width": columns - 2}
        code = int(program()(arguments, **given) or 0)
        sys.stdout.flush()
        return interrupted() if code == INTERRUPTED else code
    except NoArgsIsHelpError as error:
        for line in error.format_message().split("\n"):
            say(line)
        return 2
    except SystemExit as error:  # Typer's, of a broken pipe
        raise BrokenPipeError from error
    except KeyboardInterrupt:
        return interrupted()
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:
            *_, (frame, _) = walk_tb(error.__traceback__)
            module = str(frame.f_globals.get("__name__"))
            if module.startswith(("rag.cli.", "rich.", "typer.")):  # what prints has raised it
                raise
        ours = _as_ours(error)
        if ours is None:
            raise
        formats = {value for name, value in pairwise(arguments) if name == "--format"}
        formats |= {word.removeprefix("--format=") for word in arguments}
        print_error(ours, "--json" in arguments or bool(formats & {"json", "jsonl"}))
        sys.stdout.flush()
        return ours.exit_code


def _as_ours(error: Exception) -> RAGError | None:
    """Return what is told of an error; `None` for one of the program itself."""
    import sqlite3  # only once something went wrong

    if isinstance(error, RAGError):
        return error
    if isinstance(error, ClickException):
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "rag"
        hint = f"See `{command} --help`."
        if isinstance(error, NoSuchOption) and command == "rag":
            hint += " Other options go behind the command: `rag status --json`."
        if isinstance(error, NoSuchOption) and command in ("rag search", "rag ask"):
            hint += f" To leave out notes with a word: `{command} -- words -without`."
        return UsageError(error.format_message(), hint=hint)
    if isinstance(error, (sqlite3.DatabaseError, JSONDecodeError)):
        return IndexUnavailableError("the index is damaged", str(error), hint=REBUILD_INDEX)
    if not isinstance(error, OSError):
        return None
    # A folder that may not be written, a disk that is full: the user's to mend.
    from rag.support.files import strange_kind

    if error.filename and error.errno in (errno.ENOSPC, errno.EDQUOT):
        from rag.support.disk_space import disk_full

        return disk_full(Path(os.fsdecode(error.filename)).parent)
    place = Path(os.fsdecode(error.filename or ""))
    hint = "RAG_DATA_DIR names another folder for the index." if error.filename else ""
    for above in place.parents if isinstance(error, NotADirectoryError) else ():
        if above.is_file():
            return UsageError(f"{above} is a file, not a folder", hint=hint)
    if error.errno in (errno.EISDIR, errno.EINVAL) and (kind := strange_kind(place)):
        return UsageError(f"{place} is {kind}, not a file", hint="Move it away.")
    where = f": {place}" if error.filename else ""
    return UsageError(f"{error.strerror or error}{where}", hint=hint)


def _check(arguments: list[str]) -> None:
    """Refuse what is neither text nor the name of a file that is there, and `-tag:x` outside
    quotes, which would be read as `-t ag:x`."""
    for argument in arguments:
        names = (argument, argument.partition("=")[2])  # `--config=FILE` has one too
        # Python stands a surrogate for each byte of an argument that is no UTF-8.
        if _SURROGATE.search(argument) and not any(map(os.path.lexists, names)):
            hint = "Type it as UTF-8. (Only a file that is there may have another name.)"
            raise UsageError(f"{os.fsencode(argument)!r} is not UTF-8", hint=hint)
    for argument in arguments[: arguments.index("--")] if "--" in arguments else arguments:
        if _BARE_CONDITION.match(argument):
            example = f"rag {arguments[0]} -- words {argument.split()[0]}"
            hint = f"Put `--` before the query: `{example}`."
            raise UsageError(f"{argument} looks like an option", hint=hint)
