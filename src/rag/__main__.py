"""`rag`, and `python -m rag`: the warm process runs a command when there is one, else this one.

Nothing is imported here that a handed-over command does not need.
"""

from __future__ import annotations

import os
import sys

from rag import __version__


def main() -> None:
    """Run the command line; exit with the code of the contract."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print(f"rag {__version__}")
        return
    if sys.getfilesystemencoding() != "utf-8":
        _run_in_utf8()
    if _is_server(arguments):
        os._exit(_serve(arguments))
    try:
        from rag.daemon.client import hand_over

        code = hand_over(arguments)
        if code is None:
            code = _run_cold(arguments)
    except KeyboardInterrupt:
        from rag.support.process_exit import interrupted

        code = interrupted()
    os._exit(code)


def _is_server(arguments: list[str]) -> bool:
    """Return whether a client is to be served, which waits: the command line would take longer to
    import than the client to be answered. What is no such command is told there what is wrong."""
    return arguments == ["mcp"] or (len(arguments) == 3 and arguments[:2] == ["mcp", "--config"])


def _serve(arguments: list[str]) -> int:
    from pathlib import Path

    from rag.app.unused_libraries import leave_out_unused
    from rag.mcp.stdio import serve

    leave_out_unused()
    return serve(Path(arguments[2]) if len(arguments) > 2 else None)


def _run_in_utf8() -> None:
    """Restart with names in UTF-8, as notes are, where a locale says otherwise (and Python was
    told to believe it). Else `日本.md` could neither be opened nor printed."""
    if os.environ.get("PYTHONUTF8") == "1" or not sys.executable:  # it has not helped
        return
    environment = {**os.environb, b"PYTHONUTF8": b"1"}
    try:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)
    except OSError:  # then it goes on, and says so when it meets such a name
        return


def _run_cold(arguments: list[str]) -> int:
    from rag.app.unused_libraries import leave_out_unused
    from rag.support import process_exit as leaving

    leave_out_unused()
    leaving.begin()
    from rag.cli.app import run

    code = leaving.finish(run(arguments))
    if arguments[:1] not in (["warm"], ["serve"], ["watch"]) and all(map(os.isatty, range(3))):
        from rag.daemon.control import start_after

        start_after()
    return code


if __name__ == "__main__":
    main()
