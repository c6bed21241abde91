"""The formats of `rag search`: which one its options choose."""

from __future__ import annotations

from rag.cli.framework.query import Output
from rag.exceptions import UsageError

FORMATS = ("text", "table", "json", "jsonl", "csv", "md", "xml", "lines", "paths")
_OF_RENDER = ("jsonl", "csv", "md", "xml", "lines")  # those that `rag.cli.render.formats` writes
_WITHOUT_TEXT = ("table", "lines", "paths")


def chosen_output(
    named: str, *, json: bool, paths: bool, print0: bool, table: bool, quiet: bool
) -> tuple[Output, bool]:
    """Return what is printed, and whether as a table.

    :param named: the format of `--format`; the other options are the older names of some formats.
    :raises UsageError: for a format that does not exist, or two that differ.
    """
    if named not in FORMATS:
        raise UsageError(f"no format {named!r}", hint=f"Use --format {', '.join(FORMATS)}.")
    for given, option, wanted in (
        (json, "--json", "json"),
        (paths, "--paths", "paths"),
        (print0, "--print0", "paths"),
        (table, "--table", "table"),
    ):
        # JSON goes before all others, for a script that adds it.
        if given and named not in ("text", "json", wanted):
            raise UsageError(f"{option} is not --format {named}", hint="Leave one of the two out.")
    as_json = json or named == "json"
    data_format = named if named in _OF_RENDER and not as_json else ""
    out = Output(as_json, paths or named == "paths", print0, quiet, data_format)
    return out, table or named == "table"


def check_body(named: str, full: bool, context: int | None) -> None:
    """Refuse options that ask for more text than is printed.

    :raises UsageError: for both at once, or a format that has no room for them.
    """
    if full and context is not None:
        raise UsageError("--full and --context exclude each other", hint="Leave one out.")
    refused = _WITHOUT_TEXT if full else ("table", "paths") if context is not None else ()
    if named in refused:
        option = "--full" if full else "--context"
        raise UsageError(f"{option} does not go with --format {named}", hint=f"Leave {option} out.")
